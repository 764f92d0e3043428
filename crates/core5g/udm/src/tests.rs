//! The service interfaces through the router, and the store through a restart.

use super::Udm;
use super::store::{Keeping, Store};
use corewire_core5g_aka::{
    Autn, Protection, Rand, RoutingIndicator, ServingNetwork, SqnWindow, Suci, Supi, Usim,
    UsimRefusal,
};
use corewire_core5g_runtime::durable::Watch;
use corewire_core5g_sbi::Router;
use corewire_core5g_sbi::asking::{self, Answered};
use corewire_core5g_subscribers::SubscriberFile;
use corewire_store::faulty::{Disk, Fault, NO_SPACE, When};
use corewire_store::file_system::{FileSystem, OsFileSystem};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

const ONE: &str = "imsi-001010000000001";
const NETWORK: &str = "5G:mnc001.mcc001.3gppnetwork.org";

fn udm_of(text: &str, folder: Option<&Path>) -> Router<Udm> {
    udm_on(Arc::new(OsFileSystem), text, folder)
}

fn udm_on(file_system: Arc<dyn FileSystem>, text: &str, folder: Option<&Path>) -> Router<Udm> {
    let file = SubscriberFile::parse(text).unwrap();
    let keys = file.home_network_keys();
    let udm = Udm {
        store: Store::open(
            file,
            folder.map(|folder| Keeping {
                file_system,
                folder,
                options: corewire_store::Options::default(),
                watch: Watch::of_test(),
            }),
        )
        .unwrap(),
        keys,
        api_root: "http://udm".to_owned(),
        runtime: None,
    };
    udm.router()
}

fn udm() -> Router<Udm> {
    udm_of(&SubscriberFile::example(), None)
}

fn ask(router: &Router<Udm>, method: &str, path: &str, body: &serde_json::Value) -> Answered {
    let media_type = match method {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    };
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    asking::ask(router, method, path, &[("content-type", media_type)], &body)
}

fn get(router: &Router<Udm>, path: &str) -> Answered {
    ask(router, "GET", path, &json!(null))
}

fn vector(router: &Router<Udm>, identity: &str, more: serde_json::Value) -> Answered {
    let mut body = json!({"servingNetworkName": NETWORK, "ausfInstanceId": "ausf-1"});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let path = format!("/nudm-ueau/v1/{identity}/security-information/generate-auth-data");
    ask(router, "POST", &path, &body)
}

fn usim() -> Usim {
    let file = SubscriberFile::parse(&SubscriberFile::example()).unwrap();
    Usim::new(file.nth(0).unwrap().1, SqnWindow::default())
}

fn challenge(said: &Answered) -> (Rand, Autn, String) {
    let json = said.json();
    let av = &json["authenticationVector"];
    let text = |name: &str| av[name].as_str().unwrap().to_owned();
    (
        text("rand").parse().unwrap(),
        text("autn").parse().unwrap(),
        text("xresStar"),
    )
}

#[test]
fn a_usim_answers_its_vector_and_takes_none_twice() {
    let router = udm();
    let mut usim = usim();
    let network: ServingNetwork = NETWORK.parse().unwrap();
    for _ in 0..3 {
        let said = vector(&router, ONE, json!({}));
        assert_eq!(said.status, 200);
        assert_eq!(said.json()["supi"], ONE);
        let (rand, autn, xres) = challenge(&said);
        let answer = usim.answer(&rand, &autn, &network).unwrap();
        assert_eq!(answer.res_star.to_hex(), xres);
        let again = usim.answer(&rand, &autn, &network);
        assert!(matches!(again, Err(UsimRefusal::Synch(_))));
    }
}

#[test]
fn a_usim_that_is_ahead_is_caught_up_with() {
    let router = udm();
    let ahead = corewire_core5g_aka::Sqn::new(5_000_000 << 5).unwrap();
    let file = SubscriberFile::parse(&SubscriberFile::example()).unwrap();
    let mut usim = Usim::new(file.nth(0).unwrap().1, SqnWindow::after(ahead));
    let network: ServingNetwork = NETWORK.parse().unwrap();
    let (rand, autn, _) = challenge(&vector(&router, ONE, json!({})));
    let Err(UsimRefusal::Synch(auts)) = usim.answer(&rand, &autn, &network) else {
        panic!("an old number is taken");
    };
    let info =
        |auts: String| json!({"resynchronizationInfo": {"rand": rand.to_hex(), "auts": auts}});
    let forged = vector(&router, ONE, info("00".repeat(14)));
    assert_eq!(
        (forged.status, forged.cause().as_str()),
        (403, "AUTHENTICATION_REJECTED")
    );
    let said = vector(&router, ONE, info(auts.to_hex()));
    let (rand, autn, _) = challenge(&said);
    assert!(usim.answer(&rand, &autn, &network).is_ok());
    // Others are where they were.
    let other = vector(&router, "imsi-001010000000002", json!({}));
    assert_eq!(other.status, 200);
}

#[test]
fn a_usim_that_is_far_behind_is_followed() {
    let file = SubscriberFile::parse(&SubscriberFile::example()).unwrap();
    let text = SubscriberFile::example().replace(
        "slices =",
        // SEQ is 3 * 2^28: no USIM that begins anew takes that.
        "sqn = \"000600000000\"\nslices =",
    );
    let router = udm_of(&text, None);
    let network: ServingNetwork = NETWORK.parse().unwrap();
    let mut usim = Usim::new(file.nth(0).unwrap().1, SqnWindow::default());
    let (rand, autn, _) = challenge(&vector(&router, ONE, json!({})));
    let Err(UsimRefusal::Synch(auts)) = usim.answer(&rand, &autn, &network) else {
        panic!("2^28 and more at once");
    };
    let info = json!({"resynchronizationInfo": {"rand": rand.to_hex(), "auts": auts.to_hex()}});
    let said = vector(&router, ONE, info);
    let (rand, autn, _) = challenge(&said);
    assert!(usim.answer(&rand, &autn, &network).is_ok());
    let (rand, autn, _) = challenge(&vector(&router, ONE, json!({})));
    assert!(usim.answer(&rand, &autn, &network).is_ok(), "and so on");
}

#[test]
fn sucis_are_deconcealed() {
    let router = udm();
    let file = SubscriberFile::parse(&SubscriberFile::example()).unwrap();
    let supi: Supi = ONE.parse().unwrap();
    let indicator: RoutingIndicator = "0".parse().unwrap();
    let suci = Suci::conceal(&supi, 2, indicator, Protection::Null).unwrap();
    let said = vector(&router, &suci.to_string(), json!({}));
    assert_eq!(
        (said.status, said.json()["supi"].as_str()),
        (200, Some(ONE))
    );
    let _keys = file.home_network_keys();
    // TS 33.501, C.4.3 and C.4.4: good ones, of a subscriber who is not here.
    let profile_a = "suci-0-274-012-0-1-27-b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457dcb02352410cddd9e730ef3fa87";
    let said = vector(&router, profile_a, json!({}));
    assert_eq!(said.status, 403, "{}", said.text());
    assert_eq!(said.cause(), "INVALID_HN_PUBLIC_KEY_IDENTIFIER");
    let scheme = "suci-0-001-01-0-9-1-00";
    let said = vector(&router, scheme, json!({}));
    assert!(matches!(said.status, 403 | 501), "{}", said.text());
}

#[test]
fn failures_are_answered_with_their_cause() {
    let text =
        SubscriberFile::example().replace("slices =", "serving-networks = [\"001-01\"]\nslices =");
    let router = udm_of(&text, None);
    for (identity, more, status, cause) in [
        ("imsi-999990000000001", json!({}), 404, "USER_NOT_FOUND"),
        ("imsi-00101", json!({}), 404, "USER_NOT_FOUND"),
        ("nonsense", json!({}), 404, "USER_NOT_FOUND"),
        (
            "suci-0-999-99-0-0-0-0000000001",
            json!({}),
            404,
            "USER_NOT_FOUND",
        ),
        (
            ONE,
            json!({"servingNetworkName": "5G:mnc002.mcc001.3gppnetwork.org"}),
            403,
            "SERVING_NETWORK_NOT_AUTHORIZED",
        ),
        (
            ONE,
            json!({"servingNetworkName": "x"}),
            400,
            "MANDATORY_IE_INCORRECT",
        ),
        (
            ONE,
            json!({"ausfInstanceId": 1}),
            400,
            "MANDATORY_IE_INCORRECT",
        ),
        (
            ONE,
            json!({"resynchronizationInfo": {"rand": "", "auts": ""}}),
            400,
            "MANDATORY_IE_INCORRECT",
        ),
    ] {
        let said = vector(&router, identity, more);
        assert_eq!(
            (said.status, said.cause().as_str()),
            (status, cause),
            "{identity}"
        );
    }
    let path = format!("/nudm-ueau/v1/{ONE}/security-information/generate-auth-data");
    assert_eq!(
        ask(&router, "POST", &path, &json!({})).cause(),
        "MANDATORY_IE_MISSING"
    );
    assert_eq!(get(&router, &path).status, 405);
}

#[test]
fn an_amf_registers_changes_and_purges() {
    let router = udm();
    let path = format!("/nudm-uecm/v1/{ONE}/registrations/amf-3gpp-access");
    let guami = json!({"plmnId": {"mcc": "001", "mnc": "01"}, "amfId": "020040"});
    let registration = json!({
        "amfInstanceId": "amf-1", "deregCallbackUri": "http://amf/cb", "guami": guami,
        "ratType": "NR", "unknownMember": [1],
    });
    assert_eq!(get(&router, &path).cause(), "CONTEXT_NOT_FOUND");
    let made = ask(&router, "PUT", &path, &registration);
    assert_eq!(made.status, 201);
    assert_eq!(made.header("location"), Some(&*format!("http://udm{path}")));
    assert_eq!(ask(&router, "PUT", &path, &registration).status, 200);
    assert_eq!(get(&router, &path).json()["amfInstanceId"], "amf-1");
    let other = json!({"guami": {"plmnId": {"mcc": "001", "mnc": "01"}, "amfId": "020041"}});
    assert_eq!(
        ask(&router, "PATCH", &path, &other).cause(),
        "INVALID_GUAMI"
    );
    let pei = json!({"guami": guami, "pei": "imeisv-1110000000000000"});
    assert_eq!(ask(&router, "PATCH", &path, &pei).status, 204);
    assert_eq!(get(&router, &path).json()["pei"], "imeisv-1110000000000000");
    let purge = json!({"guami": guami, "purgeFlag": true});
    assert_eq!(ask(&router, "PATCH", &path, &purge).status, 204);
    assert_eq!(get(&router, &path).status, 404);
}

#[test]
fn sessions_are_registered_and_seen() {
    let router = udm();
    let all = format!("/nudm-uecm/v1/{ONE}/registrations/smf-registrations");
    let path = format!("{all}/5");
    let registration = json!({
        "smfInstanceId": "smf-1", "pduSessionId": 5, "singleNssai": {"sst": 1},
        "plmnId": {"mcc": "001", "mnc": "01"}, "dnn": "internet",
    });
    assert_eq!(ask(&router, "PUT", &path, &registration).status, 201);
    assert_eq!(ask(&router, "PUT", &path, &registration).status, 200);
    assert_eq!(
        ask(&router, "PUT", &format!("{all}/6"), &registration).status,
        400
    );
    assert_eq!(
        ask(&router, "PUT", &format!("{all}/16"), &registration).status,
        400
    );
    assert_eq!(
        get(&router, &all).json()["smfRegistrationList"][0]["pduSessionId"],
        5
    );
    let known = get(
        &router,
        &format!("/nudm-sdm/v2/{ONE}/ue-context-in-smf-data"),
    );
    assert_eq!(known.json()["pduSessions"]["5"]["smfInstanceId"], "smf-1");
    assert_eq!(ask(&router, "DELETE", &path, &json!(null)).status, 204);
    assert_eq!(
        ask(&router, "DELETE", &path, &json!(null)).cause(),
        "CONTEXT_NOT_FOUND"
    );
}

#[test]
fn data_of_a_subscription_is_told() {
    let router = udm();
    let am = get(&router, &format!("/nudm-sdm/v2/{ONE}/am-data")).json();
    assert_eq!(am["nssai"]["defaultSingleNssais"], json!([{"sst": 1}]));
    assert_eq!(am["subscribedUeAmbr"]["uplink"], "1 Gbps");
    let select = get(&router, &format!("/nudm-sdm/v2/{ONE}/smf-select-data")).json();
    assert_eq!(
        select["subscribedSnssaiInfos"]["1"]["dnnInfos"][0]["dnn"],
        "internet"
    );
    let query = "single-nssai=%7B%22sst%22%3A1%7D&dnn=internet";
    let sm = get(&router, &format!("/nudm-sdm/v2/{ONE}/sm-data?{query}")).json();
    assert_eq!(
        sm[0]["dnnConfigurations"]["internet"]["5gQosProfile"]["5qi"],
        9
    );
    let none = get(&router, &format!("/nudm-sdm/v2/{ONE}/sm-data?dnn=ims"));
    assert_eq!(none.cause(), "DATA_NOT_FOUND");
    let unknown = get(&router, "/nudm-sdm/v2/imsi-999990000000001/am-data");
    assert_eq!(
        (unknown.status, unknown.cause().as_str()),
        (404, "USER_NOT_FOUND")
    );
    let subscription = json!({
        "nfInstanceId": "amf-1", "callbackReference": "http://amf/sdm", "monitoredResourceUris": [],
    });
    let path = format!("/nudm-sdm/v2/{ONE}/sdm-subscriptions");
    let made = ask(&router, "POST", &path, &subscription);
    assert_eq!(made.status, 201);
    assert_eq!(
        made.header("location"),
        Some(&*format!("http://udm{path}/1"))
    );
    assert_eq!(
        ask(&router, "POST", &path, &subscription).json()["subscriptionId"],
        "1"
    );
    assert_eq!(
        ask(&router, "DELETE", &format!("{path}/1"), &json!(null)).status,
        204
    );
    assert_eq!(
        ask(&router, "DELETE", &format!("{path}/1"), &json!(null)).status,
        404
    );
}

#[test]
fn what_was_learned_outlives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("/nudm-uecm/v1/{ONE}/registrations/amf-3gpp-access");
    let registration = json!({
        "amfInstanceId": "amf-1", "deregCallbackUri": "http://amf/cb", "ratType": "NR",
        "guami": {"plmnId": {"mcc": "001", "mnc": "01"}, "amfId": "020040"},
    });
    let added = json!({
        "supi": "imsi-999990000000001", "k": "465b5ce8b199b49faa5f0a2ee238a6bc",
        "opc": "e8ed289deba952e4283b54e88e6183ca",
    });
    let mut usim = usim();
    let network: ServingNetwork = NETWORK.parse().unwrap();
    for round in 0..3 {
        let router = udm_of(&SubscriberFile::example(), Some(folder.path()));
        let registered = get(&router, &path).status;
        assert_eq!(registered, if round == 0 { 404 } else { 200 });
        let known = vector(&router, "imsi-999990000000001", json!({})).status;
        assert_eq!(known, if round == 0 { 404 } else { 200 });
        // Sequence numbers go on: a USIM takes each.
        let (rand, autn, _) = challenge(&vector(&router, ONE, json!({})));
        assert!(usim.answer(&rand, &autn, &network).is_ok(), "round {round}");
        ask(&router, "PUT", &path, &registration);
        let made = ask(&router, "POST", corewire_core5g_subscribers::ADDED, &added);
        assert_eq!(made.status, 201);
    }
    let router = udm_of(&SubscriberFile::example(), Some(folder.path()));
    let all = get(&router, corewire_core5g_subscribers::ADDED);
    assert_eq!(all.json().as_array().unwrap().len(), 2);
    assert!(!all.text().contains("465b"), "no keys are told");
    let one = format!(
        "{}/imsi-999990000000001",
        corewire_core5g_subscribers::ADDED
    );
    assert_eq!(ask(&router, "DELETE", &one, &json!(null)).status, 204);
    assert_eq!(ask(&router, "DELETE", &one, &json!(null)).status, 404);
    assert_eq!(
        vector(&router, "imsi-999990000000001", json!({})).status,
        404
    );
}

#[test]
fn source_3_keeps_a_context() {
    let router = udm();
    let say = |operation: &str, body: serde_json::Value| {
        ask(&router, "POST", &format!("/source3/v1/{operation}"), &body)
    };
    let first = say(
        "nudm-uecm/update-initial-attach-init",
        json!({"supi": ONE, "enodeb": 1}),
    );
    assert_eq!(first.json(), json!({"supi": ONE, "enodeb": 1}));
    let second = say(
        "nudm-uecm/set-crypt",
        json!({"supi": ONE, "nas": {"enc": 2}, "enodeb": null}),
    );
    assert_eq!(second.json(), json!({"supi": ONE, "nas": {"enc": 2}}));
    let long = say(
        "nudm-uecm/set-auth",
        json!({"supi": ONE, "x": "y".repeat(20_000)}),
    );
    assert_eq!(long.status, 413);
    let auth = say(
        "nudm-ueauthentication/get-auth-info",
        json!({"supiOrSuci": ONE, "servingNetworkName": NETWORK, "ausfInstanceId": "a"}),
    );
    assert_eq!(auth.json()["authType"], "5G_AKA");
    assert_eq!(
        say("nudm-uecm/handle-detach", json!({"supi": ONE})).status,
        200
    );
    assert_eq!(
        say("nudm-uecm/handle-detach", json!({"supi": ONE})).status,
        404
    );
    assert_eq!(say("nudm-uecm/unknown", json!({"supi": ONE})).status, 404);
}

#[test]
fn refuses_changes_and_numbers_when_the_disk_is_full_and_gives_none_twice() {
    let disk = Disk::new();
    let on = |disk: &Disk| {
        let text = SubscriberFile::example();
        udm_on(Arc::new(disk.clone()), &text, Some(Path::new("/store")))
    };
    let router = on(&disk);
    let amf = format!("/nudm-uecm/v1/{ONE}/registrations/amf-3gpp-access");
    let registration = |amf: &str| {
        json!({
            "amfInstanceId": amf, "deregCallbackUri": "http://amf/dereg", "ratType": "NR",
            "guami": {"plmnId": {"mcc": "001", "mnc": "01"}, "amfId": "cafe00"},
        })
    };
    assert_eq!(ask(&router, "PUT", &amf, &registration("one")).status, 201);
    disk.set_fault(Some((When::From(0), Fault::Error(NO_SPACE))));
    for said in [
        ask(&router, "PUT", &amf, &registration("two")),
        vector(&router, "imsi-001010000000002", json!({})),
        ask(
            &router,
            "POST",
            corewire_core5g_subscribers::ADDED,
            &json!({
                "supi": "imsi-001019999999999", "k": "465b5ce8b199b49faa5f0a2ee238a6bc",
                "opc": "e8ed289deba952e4283b54e88e6183ca", "slices": [{"sst": 1, "dnns": ["internet"]}],
            }),
        ),
    ] {
        assert_eq!(
            (said.status, said.cause().as_str()),
            (507, "INSUFFICIENT_RESOURCES")
        );
    }
    assert_eq!(get(&router, &amf).json()["amfInstanceId"], "one");
    let subscribers = get(&router, corewire_core5g_subscribers::ADDED);
    assert!(!subscribers.text().contains("imsi-001019999999999"));
    let again = on(&disk.after_kill());
    assert_eq!(get(&again, &amf).json()["amfInstanceId"], "one");
}
