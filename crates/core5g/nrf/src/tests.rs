//! What real network functions send, answered; and what no friend would send.

use super::Nrf;
use super::cache::{Cache, MAX_CACHED_OCTETS};
use super::clients::Clients;
use super::issuer::Issuer;
use super::mirror::Mirror;
use super::notifications::Notifier;
use super::profile_store::ProfileStore;
use super::subscribed::Subscriptions;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use corewire::Peer;
use corewire_control::{Plane, PlaneOptions};
use corewire_core5g_sbi::Router;
use corewire_core5g_sbi::asking::{self, Answered};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Requests of Open5GS's AUSF, AMF, UDM and SMF from their start to their end, as they came over HTTP/2.
const RECORDING: &str = include_str!("tests/recording.txt");

fn nrf_into(mirror: Mirror) -> Router<Nrf> {
    let nrf = Nrf {
        book: Mutex::new(ProfileStore::default()),
        telling: Mutex::default(),
        cache: Cache::default(),
        subscriptions: Subscriptions::default(),
        notifier: Notifier::through(None),
        mirror,
        issuer: Issuer::new("nrf-1", None, 3600).unwrap(),
        clients: Clients::with_secret(None),
        api_root: "http://nrf".to_owned(),
        clock: Instant::now,
    };
    nrf.router()
}

fn nrf() -> Router<Nrf> {
    nrf_into(Mirror::into(None))
}

fn ask(router: &Router<Nrf>, method: &str, path: &str, body: &Value) -> Answered {
    let media_type = match method {
        "PATCH" => "application/json-patch+json",
        _ => "application/json",
    };
    asking::ask(
        router,
        method,
        path,
        &[("content-type", media_type)],
        &body.to_string(),
    )
}

fn get(router: &Router<Nrf>, path: &str) -> Answered {
    asking::ask(router, "GET", path, &[], "")
}

fn udm(id: &str, more: Value) -> Value {
    let mut profile = json!({
        "nfInstanceId": id, "nfType": "UDM", "nfStatus": "REGISTERED", "heartBeatTimer": 10,
        "ipv4Addresses": ["127.0.0.12"], "custom": {"kept": true},
        "nfServices": [
            {"serviceInstanceId": "a", "serviceName": "nudm-ueau", "scheme": "http",
             "versions": [{"apiVersionInUri": "v1", "apiFullVersion": "1.0.0"}],
             "nfServiceStatus": "REGISTERED", "ipEndPoints": [{"ipv4Address": "127.0.0.12", "port": 7777}],
             "allowedNfTypes": ["AUSF"]},
            {"serviceInstanceId": "b", "serviceName": "nudm-sdm", "scheme": "http",
             "versions": [{"apiVersionInUri": "v2", "apiFullVersion": "2.0.0"}],
             "nfServiceStatus": "REGISTERED", "ipEndPoints": [{"ipv4Address": "127.0.0.12", "port": 7777}]}
        ]
    });
    profile
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    profile
}

fn register(router: &Router<Nrf>, id: &str, more: Value) -> Answered {
    ask(
        router,
        "PUT",
        &format!("/nnrf-nfm/v1/nf-instances/{id}"),
        &udm(id, more),
    )
}

fn discover(router: &Router<Nrf>, query: &str) -> Value {
    let path = format!("/nnrf-disc/v1/nf-instances?requester-nf-type=AUSF&{query}");
    let said = get(router, &path);
    assert_eq!(said.status, 200, "{}", said.text());
    said.json()
}

/// Ids found, in their order.
fn ids(router: &Router<Nrf>, query: &str) -> Vec<String> {
    let found = discover(router, query);
    let list = found["nfInstances"].as_array().unwrap();
    list.iter()
        .map(|one| one["nfInstanceId"].as_str().unwrap().to_owned())
        .collect()
}

struct Recorded {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

fn recording() -> Vec<Recorded> {
    let mut all: Vec<Recorded> = Vec::new();
    for line in RECORDING.lines() {
        if line.contains(" ('127.0.0.1', ") {
            all.push(Recorded {
                method: String::new(),
                path: String::new(),
                headers: Vec::new(),
                body: String::new(),
            });
        } else if let (Some(field), Some(last)) = (line.strip_prefix("  "), all.last_mut()) {
            // A name may begin with a colon.
            let (name, value) = field.split_at(field[1..].find(": ").unwrap() + 1);
            let value = value[2..].to_owned();
            match name {
                ":method" => last.method = value,
                ":path" => last.path = value,
                ":scheme" | ":authority" | "content-length" => {}
                name if name.starts_with("3gpp-sbi-max") => {}
                name => last.headers.push((name.to_owned(), value)),
            }
        } else if let (Some(last), true) = (all.last_mut(), line.starts_with(['{', '['])) {
            last.body = line.to_owned();
        }
    }
    all
}

#[test]
fn everything_that_was_recorded_is_answered_as_its_sender_expects() {
    let router = nrf();
    let requests = recording();
    assert_eq!(requests.len(), RECORDING.matches(":method:").count());
    assert!(requests.len() > 30);
    let mut most = 0;
    for request in &requests {
        let headers: Vec<(&str, &str)> = request
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let said = asking::ask(
            &router,
            &request.method,
            &request.path,
            &headers,
            &request.body,
        );
        let expected = match request.method.as_str() {
            "PUT" | "POST" => 201,
            "GET" => 200,
            _ => 204,
        };
        assert_eq!(
            said.status,
            expected,
            "{} {}: {}",
            request.method,
            request.path,
            said.text()
        );
        if request.method == "PUT" {
            assert_eq!(said.header("location"), Some(&*request.path));
            // They say that they take changes alone.
            assert_eq!(said.json()["nfProfileChangesInd"], true);
            assert!(said.json()["heartBeatTimer"].is_u64());
        }
        let listed = get(&router, "/nnrf-nfm/v1/nf-instances").json();
        most = most.max(listed["_links"]["item"].as_array().unwrap().len());
        if most == 4 {
            // All four are there: each finds what it looks for, by list although they sent maps.
            let udm = discover(&router, "target-nf-type=UDM&service-names=nudm-ueau");
            if let [one] = &udm["nfInstances"].as_array().unwrap()[..] {
                let services = one["nfServices"].as_array().unwrap();
                assert_eq!(services.len(), 1);
                assert_eq!(services[0]["serviceName"], "nudm-ueau");
                assert_eq!(services[0]["ipEndPoints"][0]["port"], 7777);
            }
        }
    }
    assert_eq!(most, 4, "AUSF, AMF, UDM and SMF");
    let left = get(&router, "/nnrf-nfm/v1/nf-instances").json();
    assert_eq!(left["_links"]["item"], json!([]), "all have left");
}

#[test]
fn a_profile_is_made_replaced_read_and_ended() {
    let router = nrf();
    let made = register(&router, "00000000-0000-4000-8000-0000000000d1", json!({}));
    assert_eq!(made.status, 201);
    assert_eq!(
        made.json()["custom"],
        json!({"kept": true}),
        "members that are not known stay"
    );
    assert_eq!(
        register(&router, "00000000-0000-4000-8000-0000000000d1", json!({})).status,
        200
    );
    assert_eq!(
        register(
            &router,
            "00000000-0000-4000-8000-0000000000d1",
            json!({"load": 5})
        )
        .status,
        200
    );
    let path = "/nnrf-nfm/v1/nf-instances/00000000-0000-4000-8000-0000000000d1";
    let read = get(&router, path);
    assert_eq!(read.json()["load"], 5);
    let tag = read.header("etag").unwrap().to_owned();
    let change = json!([{"op": "replace", "path": "/load", "value": 6}]).to_string();
    let patch = |tag: &str| {
        let headers = [
            ("content-type", "application/json-patch+json"),
            ("if-match", tag),
        ];
        asking::ask(&router, "PATCH", path, &headers, &change)
    };
    assert_eq!(patch("\"other\"").cause(), "PRECONDITION_FAILED");
    assert_eq!(patch(&tag).status, 204);
    assert_eq!(patch(&tag).status, 412, "it has another tag now");
    assert_eq!(get(&router, path).json()["load"], 6);
    assert_eq!(ask(&router, "DELETE", path, &json!(null)).status, 204);
    for method in ["DELETE", "PATCH"] {
        assert_eq!(
            ask(&router, method, path, &json!([])).status,
            404,
            "{method}"
        );
    }
}

#[test]
fn what_is_wrong_with_a_profile_is_said() {
    let router = nrf();
    for (more, cause) in [
        (json!({"nfInstanceId": "other"}), "MANDATORY_IE_INCORRECT"),
        (json!({"nfType": ""}), "MANDATORY_IE_INCORRECT"),
        (json!({"nfStatus": 1}), "MANDATORY_IE_INCORRECT"),
        (
            json!({"nfServices": [{"serviceName": "x"}]}),
            "MANDATORY_IE_MISSING",
        ),
        (json!({"custom": "x".repeat(300_000)}), "PAYLOAD_TOO_LARGE"),
    ] {
        assert_eq!(
            register(&router, "00000000-0000-4000-8000-0000000000d1", more).cause(),
            cause
        );
    }
    let path = "/nnrf-nfm/v1/nf-instances/00000000-0000-4000-8000-0000000000d1";
    assert_eq!(
        ask(&router, "PUT", path, &json!({"nfType": "UDM"})).cause(),
        "MANDATORY_IE_MISSING"
    );
    assert_eq!(
        ask(&router, "PUT", path, &json!([])).cause(),
        "MANDATORY_IE_INCORRECT"
    );
    register(&router, "00000000-0000-4000-8000-0000000000d1", json!({}));
    let away = json!([{"op": "remove", "path": "/nfType"}]);
    assert_eq!(
        ask(&router, "PATCH", path, &away).cause(),
        "MANDATORY_IE_MISSING"
    );
    let other = json!([{"op": "replace", "path": "/nfInstanceId", "value": "00000000-0000-4000-8000-0000000000d2"}]);
    assert_eq!(ask(&router, "PATCH", path, &other).status, 400);
    assert_eq!(
        get(&router, path).json()["nfType"],
        "UDM",
        "refused changes change nothing"
    );
}

#[test]
fn who_is_silent_is_gone() {
    let mut book = ProfileStore::default();
    let begin = Instant::now();
    book.register(
        begin,
        "00000000-0000-4000-8000-0000000000d1",
        udm(
            "00000000-0000-4000-8000-0000000000d1",
            json!({"heartBeatTimer": 2}),
        ),
    )
    .unwrap();
    book.register(
        begin,
        "00000000-0000-4000-8000-0000000000d2",
        udm(
            "00000000-0000-4000-8000-0000000000d2",
            json!({"heartBeatTimer": 2}),
        ),
    )
    .unwrap();
    let heard = begin + Duration::from_millis(2900);
    book.handle_timeout(heard);
    book.patch(heard, "00000000-0000-4000-8000-0000000000d2", &[], None)
        .unwrap();
    book.handle_timeout(begin + Duration::from_secs(3));
    assert!(
        book.find("00000000-0000-4000-8000-0000000000d1").is_err()
            && book.find("00000000-0000-4000-8000-0000000000d2").is_ok()
    );
    book.handle_timeout(heard + Duration::from_millis(2999));
    assert!(book.find("00000000-0000-4000-8000-0000000000d2").is_ok());
    book.handle_timeout(heard + Duration::from_secs(3));
    assert_eq!(book.len(), 0);
    // A shorter lease counts at once.
    book.register(
        begin,
        "00000000-0000-4000-8000-0000000000d1",
        udm(
            "00000000-0000-4000-8000-0000000000d1",
            json!({"heartBeatTimer": 3600}),
        ),
    )
    .unwrap();
    book.register(
        begin,
        "00000000-0000-4000-8000-0000000000d1",
        udm(
            "00000000-0000-4000-8000-0000000000d1",
            json!({"heartBeatTimer": 1}),
        ),
    )
    .unwrap();
    book.handle_timeout(begin + Duration::from_millis(1500));
    assert_eq!(book.len(), 0);
}

#[test]
fn discovery_narrows_by_what_the_query_says() {
    let router = nrf();
    let range = |start: &str, end: &str| json!({"supiRanges": [{"start": start, "end": end}], "routingIndicators": ["0"]});
    register(
        &router,
        "00000000-0000-4000-8000-0000000000d1",
        json!({"priority": 2, "udmInfo": range("001010000000000", "001010000000099")}),
    );
    register(
        &router,
        "00000000-0000-4000-8000-0000000000d2",
        json!({
            "priority": 1, "plmnList": [{"mcc": "001", "mnc": "01"}], "locality": "here",
            "sNssais": [{"sst": 1, "sd": "0a0b0c"}], "nfSetIdList": ["set1"],
        }),
    );
    register(
        &router,
        "00000000-0000-4000-8000-0000000000d3",
        json!({"nfStatus": "SUSPENDED"}),
    );
    register(
        &router,
        "00000000-0000-4000-8000-0000000000d4",
        json!({"allowedNfTypes": ["AMF"], "priority": 9}),
    );
    for (query, found) in [
        (
            "target-nf-type=UDM",
            &[
                "00000000-0000-4000-8000-0000000000d2",
                "00000000-0000-4000-8000-0000000000d1",
            ][..],
        ),
        ("target-nf-type=SMF", &[]),
        (
            "target-nf-type=UDM&limit=1",
            &["00000000-0000-4000-8000-0000000000d2"],
        ),
        (
            "target-nf-type=UDM&target-nf-instance-id=00000000-0000-4000-8000-0000000000d1",
            &["00000000-0000-4000-8000-0000000000d1"],
        ),
        (
            "target-nf-type=UDM&target-nf-set-id=set1",
            &["00000000-0000-4000-8000-0000000000d2"],
        ),
        (
            "target-nf-type=UDM&service-names=nudm-ueau,nudm-x",
            &[
                "00000000-0000-4000-8000-0000000000d2",
                "00000000-0000-4000-8000-0000000000d1",
            ],
        ),
        ("target-nf-type=UDM&service-names=nudm-x", &[]),
        (
            "target-nf-type=UDM&supi=imsi-001010000000099",
            &[
                "00000000-0000-4000-8000-0000000000d2",
                "00000000-0000-4000-8000-0000000000d1",
            ],
        ),
        (
            "target-nf-type=UDM&supi=imsi-001010000000100",
            &["00000000-0000-4000-8000-0000000000d2"],
        ),
        (
            "target-nf-type=UDM&routing-indicator=1",
            &["00000000-0000-4000-8000-0000000000d2"],
        ),
        (
            "target-nf-type=UDM&target-plmn-list=%5B%7B%22mcc%22%3A%22001%22%2C%22mnc%22%3A%2202%22%7D%5D",
            &["00000000-0000-4000-8000-0000000000d1"],
        ),
        (
            "target-nf-type=UDM&snssais=%5B%7B%22sst%22%3A1%2C%22sd%22%3A%220A0B0C%22%7D%5D",
            &[
                "00000000-0000-4000-8000-0000000000d2",
                "00000000-0000-4000-8000-0000000000d1",
            ],
        ),
        (
            "target-nf-type=UDM&snssais=%5B%7B%22sst%22%3A2%7D%5D",
            &["00000000-0000-4000-8000-0000000000d1"],
        ),
        (
            "target-nf-type=UDM&unheard-of=1",
            &[
                "00000000-0000-4000-8000-0000000000d2",
                "00000000-0000-4000-8000-0000000000d1",
            ],
        ),
    ] {
        assert_eq!(ids(&router, query), found, "{query}");
    }
    let of_amf = get(
        &router,
        "/nnrf-disc/v1/nf-instances?requester-nf-type=AMF&target-nf-type=UDM&service-names=nudm-ueau",
    );
    assert_eq!(
        of_amf.json()["nfInstances"],
        json!([]),
        "nudm-ueau is for the AUSF"
    );
    let told = discover(
        &router,
        "target-nf-type=UDM&target-nf-instance-id=00000000-0000-4000-8000-0000000000d1&service-names=nudm-ueau",
    );
    let one = &told["nfInstances"][0];
    assert_eq!(one["nfServices"].as_array().unwrap().len(), 1);
    assert_eq!(one["nfServices"][0].get("allowedNfTypes"), None);
    assert_eq!(one["custom"], json!({"kept": true}));
    for (query, cause) in [
        ("target-nf-type=UDM", "MANDATORY_QUERY_PARAM_MISSING"),
        ("requester-nf-type=AUSF", "MANDATORY_QUERY_PARAM_MISSING"),
        (
            "requester-nf-type=AUSF&target-nf-type=UDM&limit=x",
            "OPTIONAL_QUERY_PARAM_INCORRECT",
        ),
        (
            "requester-nf-type=AUSF&target-nf-type=UDM&guami=x",
            "OPTIONAL_QUERY_PARAM_INCORRECT",
        ),
    ] {
        let said = get(&router, &format!("/nnrf-disc/v1/nf-instances?{query}"));
        assert_eq!(
            (said.status, said.cause().as_str()),
            (400, cause),
            "{query}"
        );
    }
}

#[test]
fn amfs_and_smfs_are_found_by_what_they_serve() {
    let router = nrf();
    let guami = json!({"plmnId": {"mcc": "001", "mnc": "01"}, "amfId": "020040"});
    register(
        &router,
        "00000000-0000-4000-8000-0000000000a1",
        json!({"nfType": "AMF", "amfInfo": {
        "amfSetId": "001", "amfRegionId": "02", "guamiList": [guami]}}),
    );
    register(
        &router,
        "00000000-0000-4000-8000-000000000051",
        json!({"nfType": "SMF", "smfInfo": {"sNssaiSmfInfoList": [
        {"sNssai": {"sst": 1}, "dnnSmfInfoList": [{"dnn": "internet"}]}]}}),
    );
    let quoted = corewire_core5g_sbi::percent::encode(&guami.to_string()).into_owned();
    assert_eq!(
        ids(&router, &format!("target-nf-type=AMF&guami={quoted}")),
        ["00000000-0000-4000-8000-0000000000a1"]
    );
    let other = quoted.replace("020040", "020041");
    assert!(ids(&router, &format!("target-nf-type=AMF&guami={other}")).is_empty());
    assert_eq!(
        ids(
            &router,
            "target-nf-type=AMF&amf-set-id=001&amf-region-id=02"
        ),
        ["00000000-0000-4000-8000-0000000000a1"]
    );
    assert!(ids(&router, "target-nf-type=AMF&amf-set-id=002").is_empty());
    let slice = "snssais=%5B%7B%22sst%22%3A1%7D%5D";
    assert_eq!(
        ids(&router, &format!("target-nf-type=SMF&dnn=internet&{slice}")),
        ["00000000-0000-4000-8000-000000000051"]
    );
    assert!(ids(&router, &format!("target-nf-type=SMF&dnn=ims&{slice}")).is_empty());
}

#[test]
fn answers_are_kept_until_somebody_changes() {
    let router = nrf();
    register(&router, "00000000-0000-4000-8000-0000000000d1", json!({}));
    let path = "/nnrf-disc/v1/nf-instances?requester-nf-type=AUSF&target-nf-type=UDM";
    let first = get(&router, path);
    assert_eq!(first.header("cache-control"), Some("max-age=30"));
    let tag = first.header("etag").unwrap().to_owned();
    let again = || asking::ask(&router, "GET", path, &[("if-none-match", &tag)], "");
    let same = again();
    assert_eq!((same.status, same.body.len()), (304, 0));
    assert_eq!(same.header("etag"), Some(&*tag));
    // A heartbeat changes nothing, a new load does.
    let beat = json!([{"op": "replace", "path": "/nfStatus", "value": "REGISTERED"}]);
    let instance = "/nnrf-nfm/v1/nf-instances/00000000-0000-4000-8000-0000000000d1";
    assert_eq!(ask(&router, "PATCH", instance, &beat).status, 204);
    assert_eq!(again().status, 304);
    let load = json!([{"op": "add", "path": "/load", "value": 7}]);
    assert_eq!(ask(&router, "PATCH", instance, &load).status, 204);
    let changed = again();
    assert_eq!(changed.status, 200);
    assert_eq!(changed.json()["nfInstances"][0]["load"], 7);
    // Queries that nobody repeats do not fill the memory; this is for the limit, not for the time.
    for number in 0..3000 {
        discover(&router, &format!("target-nf-type=UDM&x={number}"));
    }
}

#[test]
fn subscriptions_are_made_renewed_ended_and_bounded() {
    let router = nrf();
    let body = json!({
        "nfStatusNotificationUri": "http://127.0.0.5:7777/nnrf-nfm/v1/nf-status-notify",
        "reqNfInstanceId": "00000000-0000-4000-8000-00000000000e", "subscrCond": {"serviceName": "nudm-ueau"},
        "reqNotifEvents": ["NF_REGISTERED"],
    });
    let made = ask(&router, "POST", "/nnrf-nfm/v1/subscriptions", &body);
    assert_eq!(made.status, 201);
    let id = made.json()["subscriptionId"].as_str().unwrap().to_owned();
    let path = format!("/nnrf-nfm/v1/subscriptions/{id}");
    assert_eq!(made.header("location"), Some(&*format!("http://nrf{path}")));
    let renew =
        json!([{"op": "replace", "path": "/validityTime", "value": "2999-01-01T00:00:00Z"}]);
    let renewed = ask(&router, "PATCH", &path, &renew);
    assert!(renewed.json()["validityTime"].as_str().unwrap() < "2999");
    let nrf = router.state();
    let told = |more: Value| {
        let id = if more.get("x").is_some() {
            "00000000-0000-4000-8000-00000000000e"
        } else {
            "00000000-0000-4000-8000-0000000000d1"
        };
        let (profile, _) = nrf
            .book()
            .register(Instant::now(), id, udm(id, more))
            .unwrap();
        let event = nrf.book().poll().unwrap();
        (nrf.subscriptions.of(&event).len(), profile)
    };
    assert_eq!(told(json!({})).0, 1, "who is new");
    assert_eq!(told(json!({"load": 1})).0, 0, "a load alone");
    assert_eq!(told(json!({"load": 1, "fqdn": "x"})).0, 0, "another event");
    assert_eq!(told(json!({"x": 1})).0, 0, "of itself");
    nrf.subscriptions
        .handle_timeout(Instant::now() + Duration::from_secs(25 * 3600));
    assert_eq!(
        ask(&router, "DELETE", &path, &json!(null)).cause(),
        "SUBSCRIPTION_NOT_FOUND"
    );
    for member in ["guamiList", "nfInstanceIdList", "unheardOf"] {
        let mut other = body.clone();
        other["subscrCond"] = json!({"nfType": "UDM", member: []});
        let refused = ask(&router, "POST", "/nnrf-nfm/v1/subscriptions", &other);
        assert_eq!(refused.status, 501, "{member}");
    }
    for bad in ["ftp://x", ""] {
        let said = ask(
            &router,
            "POST",
            "/nnrf-nfm/v1/subscriptions",
            &json!({"nfStatusNotificationUri": bad}),
        );
        assert_eq!(said.status, 400);
    }
    for _ in 0..super::subscribed::MAX_SUBSCRIPTIONS {
        ask(&router, "POST", "/nnrf-nfm/v1/subscriptions", &body);
    }
    let full = ask(&router, "POST", "/nnrf-nfm/v1/subscriptions", &body);
    assert_eq!(full.cause(), "INSUFFICIENT_RESOURCES");
}

#[test]
fn one_query_asked_in_many_ways_does_not_fill_the_memory() {
    let router = nrf();
    let long = "x".repeat(200 << 10);
    for number in 0..10 {
        register(
            &router,
            &format!("00000000-0000-4000-8000-{number:012}"),
            json!({"custom": long}),
        );
    }
    for number in 0..100 {
        let query = format!("target-nf-type=UDM&unheard-of={number}");
        assert_eq!(ids(&router, &query).len(), 10);
        let octets = router.state().cache.octets();
        assert!((1..=MAX_CACHED_OCTETS).contains(&octets), "{octets}");
    }
}

#[test]
fn rejects_ids_of_instances_that_are_no_uuid() {
    let router = nrf();
    for id in [
        "notauuid",
        "00000000-0000-4000-8000-0000000000d",
        "00000000-0000-4000-8000-0000000000dg",
        "000000000-000-4000-8000-0000000000d1",
        "00000000000040008000000000000000d1",
        "00000000-0000-4000-8000-0000000000d1-",
    ] {
        let refused = register(&router, id, json!({}));
        assert_eq!(refused.status, 400, "{id}");
        assert!(refused.text().contains("MANDATORY_IE_INCORRECT"), "{id}");
    }
}

#[test]
fn an_instance_is_the_same_in_whichever_case_its_id_is_written() {
    let router = nrf();
    assert_eq!(
        register(&router, "00000000-0000-4000-8000-000000000a0b", json!({})).status,
        201
    );
    let again = ask(
        &router,
        "PUT",
        "/nnrf-nfm/v1/nf-instances/00000000-0000-4000-8000-000000000A0B",
        &udm("00000000-0000-4000-8000-000000000a0b", json!({})),
    );
    assert_eq!(again.status, 200);
    assert_eq!(
        ids(&router, "target-nf-type=UDM"),
        ["00000000-0000-4000-8000-000000000a0b"]
    );
    let heartbeat = json!([{"op": "replace", "path": "/nfStatus", "value": "REGISTERED"}]);
    let path = "/nnrf-nfm/v1/nf-instances/00000000-0000-4000-8000-000000000A0b";
    assert_eq!(ask(&router, "PATCH", path, &heartbeat).status, 204);
    assert_eq!(ask(&router, "DELETE", path, &json!(null)).status, 204);
    assert!(ids(&router, "target-nf-type=UDM").is_empty());
}

#[test]
fn tokens_are_signed_for_who_may_have_them() {
    let router = nrf();
    register(&router, "00000000-0000-4000-8000-0000000000d1", json!({}));
    register(
        &router,
        "00000000-0000-4000-8000-0000000000a1",
        json!({"nfType": "AUSF", "nfServices": []}),
    );
    register(
        &router,
        "00000000-0000-4000-8000-0000000000f1",
        json!({"nfType": "NEF", "nfServices": []}),
    );
    let of_all = json!([{"serviceInstanceId": "a", "serviceName": "nsmf-x", "scheme": "http",
                         "versions": [], "nfServiceStatus": "REGISTERED"}]);
    register(
        &router,
        "00000000-0000-4000-8000-000000000051",
        json!({"nfType": "SMF", "allowedNfTypes": ["AMF"], "nfServices": of_all}),
    );
    let form = |text: &str| {
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        asking::ask(&router, "POST", "/oauth2/token", &headers, text)
    };
    let good = "grant_type=client_credentials&nfInstanceId=00000000-0000-4000-8000-0000000000a1&nfType=AUSF&targetNfType=UDM&scope=nudm-ueau";
    let said = form(good);
    assert_eq!(said.status, 200, "{}", said.text());
    assert_eq!(said.header("cache-control"), Some("no-store"));
    let token = said.json()["access_token"].as_str().unwrap().to_owned();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let claims = BASE64.decode(signed.split_once('.').unwrap().1).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    assert_eq!(
        (&claims["sub"], &claims["aud"]),
        (
            &json!("00000000-0000-4000-8000-0000000000a1"),
            &json!("UDM")
        )
    );
    // Whoever has the public half can check it.
    let keys = get(&router, "/oauth2/jwks").json();
    let coordinate = |name: &str| {
        BASE64
            .decode(keys["keys"][0][name].as_str().unwrap())
            .unwrap()
    };
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    let key = aws_lc_rs::signature::UnparsedPublicKey::new(
        &aws_lc_rs::signature::ECDSA_P256_SHA256_FIXED,
        point,
    );
    let signature = BASE64.decode(signature).unwrap();
    key.verify(signed.as_bytes(), &signature).unwrap();
    assert!(key.verify(b"other", &signature).is_err());
    for (text, error) in [
        (
            good.replace("client_credentials", "password"),
            "unsupported_grant_type",
        ),
        (good.replace("&scope=nudm-ueau", ""), "invalid_request"),
        (good.replace("&targetNfType=UDM", ""), "invalid_request"),
        (
            good.replace("00000000-0000-4000-8000-0000000000a1", "nobody"),
            "invalid_client",
        ),
        (good.replace("nfType=AUSF", "nfType=AMF"), "invalid_client"),
        (
            good.replace("nudm-ueau", "nudm-ueau+nudm-x"),
            "invalid_scope",
        ),
        (
            good.replace(
                "00000000-0000-4000-8000-0000000000a1",
                "00000000-0000-4000-8000-0000000000f1",
            )
            .replace("nfType=AUSF", "nfType=NEF"),
            "unauthorized_client",
        ),
        // The service is for all, its network function for AMFs.
        (
            good.replace("targetNfType=UDM", "targetNfType=SMF")
                .replace("nudm-ueau", "nsmf-x"),
            "unauthorized_client",
        ),
        ("%".to_owned(), "invalid_request"),
    ] {
        let said = form(&text);
        assert_eq!(
            (said.status, said.json()["error"].as_str()),
            (400, Some(error)),
            "{text}"
        );
    }
}

#[test]
fn what_registers_is_in_the_mesh_under_the_names_of_its_services() {
    let plane = Plane::start(PlaneOptions::default()).unwrap();
    let router = nrf_into(Mirror::into(Some(plane.registry())));
    let registry = plane.registry();
    register(&router, "00000000-0000-4000-8000-0000000000d1", json!({}));
    assert!(
        registry
            .heartbeat("00000000-0000-4000-8000-0000000000d1.a")
            .is_ok()
            && registry
                .heartbeat("00000000-0000-4000-8000-0000000000d1.b")
                .is_ok()
    );
    register(
        &router,
        "00000000-0000-4000-8000-0000000000d1",
        json!({"nfServices": []}),
    );
    assert!(
        registry
            .heartbeat("00000000-0000-4000-8000-0000000000d1.a")
            .is_err()
    );
    register(&router, "00000000-0000-4000-8000-0000000000d1", json!({}));
    let suspended = json!([{"op": "replace", "path": "/nfStatus", "value": "SUSPENDED"}]);
    ask(
        &router,
        "PATCH",
        "/nnrf-nfm/v1/nf-instances/00000000-0000-4000-8000-0000000000d1",
        &suspended,
    );
    assert!(
        registry
            .heartbeat("00000000-0000-4000-8000-0000000000d1.a")
            .is_err(),
        "who is suspended gets no calls"
    );
    register(&router, "00000000-0000-4000-8000-0000000000d1", json!({}));
    ask(
        &router,
        "DELETE",
        "/nnrf-nfm/v1/nf-instances/00000000-0000-4000-8000-0000000000d1",
        &json!(null),
    );
    assert!(
        registry
            .heartbeat("00000000-0000-4000-8000-0000000000d1.b")
            .is_err()
    );
}

#[test]
fn source_3_registers_and_discovers_as_at_consul() {
    let router = nrf();
    let body = json!({"ID": "00000000-0000-4000-8000-0000000003f1", "Name": "amf", "Address": "127.0.0.1", "Port": 7001, "Tags": ["x"]});
    assert_eq!(
        ask(&router, "PUT", "/v1/agent/service/register", &body).status,
        200
    );
    assert_eq!(
        ask(&router, "PUT", "/v1/agent/service/register", &body).status,
        200
    );
    let all = get(&router, "/v1/agent/services").json();
    assert_eq!(
        all["00000000-0000-4000-8000-0000000003f1"]["Service"],
        "amf"
    );
    assert_eq!(
        (
            &all["00000000-0000-4000-8000-0000000003f1"]["Address"],
            &all["00000000-0000-4000-8000-0000000003f1"]["Port"]
        ),
        (&json!("127.0.0.1"), &json!(7001))
    );
    assert_eq!(
        ids(&router, "target-nf-type=AMF"),
        ["00000000-0000-4000-8000-0000000003f1"],
        "and by 3GPP's way"
    );
    assert_eq!(
        ask(
            &router,
            "PUT",
            "/v1/agent/service/deregister/00000000-0000-4000-8000-0000000003f1",
            &json!(null)
        )
        .status,
        200
    );
    assert_eq!(get(&router, "/v1/agent/services").json(), json!({}));
    assert_eq!(
        ask(
            &router,
            "PUT",
            "/v1/agent/service/register",
            &json!({"ID": "x"})
        )
        .status,
        400
    );
}

#[test]
fn who_has_a_certificate_for_one_network_function_is_no_other() {
    let pem = include_str!("../../sbi/src/holder/named.pem");
    let lines = pem.lines().filter(|line| !line.starts_with('-'));
    let der = base64::engine::general_purpose::STANDARD.decode(lines.collect::<String>());
    let peer = Peer::new("a", "http2").with_certificate(Some(der.unwrap().into()));
    let own = "4947a69a-f61b-4bc1-b9da-47c9c5d14b64";
    let router = nrf();
    let path = |id: &str| format!("/nnrf-nfm/v1/nf-instances/{id}");
    let as_peer = |method: &str, path: &str, media_type: &str, body: &str| {
        let headers = [("content-type", media_type)];
        asking::ask_as(&router, Some(&peer), method, path, &headers, body).status
    };
    let register = |id: &str, nf_type: &str| {
        let profile = json!({"nfInstanceId": id, "nfType": nf_type, "nfStatus": "REGISTERED"});
        as_peer("PUT", &path(id), "application/json", &profile.to_string())
    };
    let form = |id: &str| {
        let form = format!(
            "grant_type=client_credentials&nfInstanceId={id}&targetNfType=UDM&scope=nudm-sdm"
        );
        as_peer(
            "POST",
            "/oauth2/token",
            "application/x-www-form-urlencoded",
            &form,
        )
    };
    let patch = |id: &str, items: Value| {
        let media_type = "application/json-patch+json";
        as_peer("PATCH", &path(id), media_type, &items.to_string())
    };
    let nobody = |id: &str, nf_type: &str| {
        let profile = json!({"nfInstanceId": id, "nfType": nf_type, "nfStatus": "REGISTERED"});
        ask(&router, "PUT", &path(id), &profile).status
    };
    let other = "4947a69a-f61b-4bc1-b9da-47c9c5d14b65";
    // It registers as what it is, and as nothing else.
    assert_eq!(register(own, "UDM"), 403);
    assert_eq!(register(other, "AMF"), 403);
    assert_eq!(register(own, "AMF"), 201);
    assert_eq!(register(own, "SMF"), 200);
    let load = json!([{"op": "replace", "path": "/nfStatus", "value": "REGISTERED"}]);
    assert_eq!(patch(own, load.clone()), 204);
    for path in ["", "/nfType"] {
        let items = json!([{"op": "replace", "path": path, "value": "UDM"}]);
        assert_eq!(patch(own, items), 403);
    }
    // Nor does it change others, or ask for their tokens, or register beside 3GPP's interface.
    ask(
        &router,
        "PUT",
        &path("00000000-0000-4000-8000-000000000dd1"),
        &udm("00000000-0000-4000-8000-000000000dd1", json!({})),
    );
    assert_eq!(nobody(other, "AMF"), 201);
    assert_eq!(patch(other, load), 403);
    assert_eq!(as_peer("DELETE", &path(other), "", ""), 403);
    assert_eq!((form(own), form(other)), (200, 400));
    let service = json!({"Name": "udm", "ID": own}).to_string();
    let agent = "/v1/agent/service/register";
    assert_eq!(as_peer("PUT", agent, "application/json", &service), 403);
    let gone = format!("/v1/agent/service/deregister/{other}");
    assert_eq!(as_peer("PUT", &gone, "", ""), 403);
    // Registered as another type by somebody without a certificate, it has no tokens as that.
    assert_eq!(nobody(own, "UDM"), 200);
    assert_eq!(form(own), 400);
    assert_eq!(as_peer("DELETE", &path(own), "", ""), 204);
}
