//! A USIM, this AUSF and the real UDM behind it, without a transport between them.

use super::authentications::Ausf;
use super::contexts::{Authentication, Contexts, LIFETIME, MAX_CONTEXTS};
use super::home::HomeNetwork;
use corewire_core5g_aka::{ServingNetwork, SqnWindow, Usim};
use corewire_core5g_sbi::asking::{self, Answered};
use corewire_core5g_sbi::model::udm::{
    AuthEvent, AuthenticationInfoRequest, AuthenticationInfoResult,
};
use corewire_core5g_sbi::{Problem, Router};
use corewire_core5g_subscribers::SubscriberFile;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ONE: &str = "imsi-001010000000001";
const NETWORK: &str = "5G:mnc001.mcc001.3gppnetwork.org";

struct Home {
    udm: corewire_core5g_udm::Udm,
    told: Arc<Mutex<Vec<(String, bool)>>>,
}

impl HomeNetwork for Home {
    async fn vector(
        &self,
        identity: &str,
        asked: &AuthenticationInfoRequest,
    ) -> Result<AuthenticationInfoResult, Problem> {
        self.udm.vector(identity, asked)
    }

    async fn locate(&self, place: &Value) -> Result<(), Problem> {
        let supi = place["supi"].as_str().unwrap().to_owned();
        self.told.lock().unwrap().push((supi, true));
        Ok(())
    }

    fn tell(&self, supi: &str, event: AuthEvent) {
        self.told
            .lock()
            .unwrap()
            .push((supi.to_owned(), event.success));
    }
}

type Told = Arc<Mutex<Vec<(String, bool)>>>;

fn ausf() -> (Router<Ausf<Home>>, Told) {
    let told = Told::default();
    let ausf = Ausf {
        home: Home {
            udm: corewire_core5g_udm::Udm::of_example(),
            told: Arc::clone(&told),
        },
        contexts: Contexts::default(),
        instance: "ausf-1".to_owned(),
        api_root: "http://ausf".to_owned(),
    };
    (ausf.router(), told)
}

fn ask(router: &Router<Ausf<Home>>, method: &str, path: &str, body: &Value) -> Answered {
    let json = [("content-type", "application/json")];
    asking::ask(router, method, path, &json, &body.to_string())
}

fn begin(router: &Router<Ausf<Home>>) -> Answered {
    let body = json!({"supiOrSuci": ONE, "servingNetworkName": NETWORK});
    ask(router, "POST", "/nausf-auth/v1/ue-authentications", &body)
}

fn usim() -> Usim {
    let file = SubscriberFile::parse(&SubscriberFile::example()).unwrap();
    Usim::new(file.nth(0).unwrap().1, SqnWindow::default())
}

/// RES* to a challenge, and the K_SEAF that the UE has then.
fn answer(usim: &mut Usim, challenge: &Value) -> (String, String) {
    let network: ServingNetwork = NETWORK.parse().unwrap();
    let rand = challenge["rand"].as_str().unwrap().parse().unwrap();
    let autn = challenge["autn"].as_str().unwrap().parse().unwrap();
    let answer = usim.answer(&rand, &autn, &network).unwrap();
    let hxres: corewire_core5g_aka::HxresStar =
        challenge["hxresStar"].as_str().unwrap().parse().unwrap();
    assert!(hxres.accepts(&rand, &answer.res_star));
    (
        answer.res_star.to_hex(),
        answer.kausf.kseaf(&network).to_hex(),
    )
}

#[test]
fn a_ue_is_authenticated_and_both_ends_have_the_key() {
    let (router, told) = ausf();
    let begun = begin(&router);
    assert_eq!(begun.status, 201);
    let context = begun.json();
    assert!(
        begun
            .header("location")
            .unwrap()
            .starts_with("http://ausf/nausf-auth/v1/")
    );
    let href = context["_links"]["5g-aka"]["href"].as_str().unwrap();
    let path = href.strip_prefix("http://ausf").unwrap();
    let (res_star, kseaf) = answer(&mut usim(), &context["5gAuthData"]);
    // What is no answer does not count as one.
    for (broken, cause) in [
        (json!({"resStar": "12"}), "MANDATORY_IE_INCORRECT"),
        (json!({}), "MANDATORY_IE_MISSING"),
    ] {
        let refused = ask(&router, "PUT", path, &broken);
        assert_eq!((refused.status, refused.cause().as_str()), (400, cause));
    }
    let done = ask(&router, "PUT", path, &json!({"resStar": res_star}));
    assert_eq!(
        done.json(),
        json!({"authResult": "AUTHENTICATION_SUCCESS", "supi": ONE, "kseaf": kseaf})
    );
    assert_eq!(told.lock().unwrap()[..], [(ONE.to_owned(), true)]);
    // An answer counts once.
    let again = ask(&router, "PUT", path, &json!({"resStar": res_star}));
    assert_eq!(
        (again.status, again.cause().as_str()),
        (404, "CONTEXT_NOT_FOUND")
    );
}

#[test]
fn a_wrong_answer_or_none_is_a_failure_without_keys() {
    for said in [
        json!({"resStar": "00".repeat(16)}),
        json!({"resStar": null}),
    ] {
        let (router, told) = ausf();
        let context = begin(&router).json();
        let href = context["_links"]["5g-aka"]["href"].as_str().unwrap();
        let path = href.strip_prefix("http://ausf").unwrap();
        let done = ask(&router, "PUT", path, &said);
        assert_eq!(done.status, 200);
        assert_eq!(done.json(), json!({"authResult": "AUTHENTICATION_FAILURE"}));
        assert_eq!(told.lock().unwrap()[..], [(ONE.to_owned(), false)]);
    }
}

#[test]
fn who_cannot_be_authenticated_is_told_why() {
    let (router, _) = ausf();
    for (body, status, cause) in [
        (
            json!({"supiOrSuci": "imsi-999990000000001", "servingNetworkName": NETWORK}),
            404,
            "USER_NOT_FOUND",
        ),
        (
            json!({"supiOrSuci": ONE, "servingNetworkName": "somewhere"}),
            403,
            "SERVING_NETWORK_NOT_AUTHORIZED",
        ),
        (
            json!({"supiOrSuci": ONE, "servingNetworkName": NETWORK,
                "resynchronizationInfo": {"rand": "00".repeat(16), "auts": "00".repeat(14)}}),
            403,
            "AUTHENTICATION_REJECTED",
        ),
        (
            json!({"servingNetworkName": NETWORK}),
            400,
            "MANDATORY_IE_MISSING",
        ),
    ] {
        let said = ask(&router, "POST", "/nausf-auth/v1/ue-authentications", &body);
        assert_eq!((said.status, said.cause().as_str()), (status, cause));
    }
    let path = "/nausf-auth/v1/ue-authentications/nobody/5g-aka-confirmation";
    assert_eq!(
        ask(&router, "PUT", path, &json!({})).cause(),
        "CONTEXT_NOT_FOUND"
    );
    assert_eq!(ask(&router, "DELETE", path, &json!({})).status, 404);
    let gone = ask(
        &router,
        "POST",
        "/nausf-auth/v1/ue-authentications/deregister",
        &json!({"supi": ONE}),
    );
    assert_eq!(gone.status, 204);
}

#[test]
fn source_3_authenticates_in_two_steps() {
    let (router, told) = ausf();
    let path = "/source3/v1/nausf-ueauthentication/authenticate";
    let begun = ask(
        &router,
        "POST",
        path,
        &json!({"supiOrSuci": ONE, "servingNetworkName": NETWORK}),
    );
    assert_eq!(begun.status, 200);
    let context = begun.json();
    let (res_star, kseaf) = answer(&mut usim(), &context["5gAuthData"]);
    let body = json!({"authCtxId": context["authCtxId"], "resStar": res_star});
    assert_eq!(ask(&router, "POST", path, &body).json()["kseaf"], kseaf);
    let path = "/source3/v1/nausf-ueauthentication/location-update";
    let before = told.lock().unwrap().len();
    assert_eq!(
        ask(&router, "POST", path, &json!({"supi": ONE})).status,
        200
    );
    // The home network is told.
    assert_eq!(told.lock().unwrap()[before..], [(ONE.to_owned(), true)]);
}

#[test]
fn authentications_end_by_number_and_time() {
    let contexts = Contexts::default();
    let network: ServingNetwork = NETWORK.parse().unwrap();
    let one = || Authentication {
        supi: ONE.parse().unwrap(),
        expected: corewire_core5g_aka::XresStar::new([0; 16]),
        kausf: corewire_core5g_aka::Kausf::new([0; 32]),
        network,
    };
    let begin = Instant::now();
    for number in 0..=MAX_CONTEXTS {
        contexts.begin(begin, number.to_string(), one());
    }
    assert_eq!(contexts.len(), MAX_CONTEXTS);
    assert!(contexts.take("0").is_none() && contexts.take("1").is_some());
    contexts.begin(
        begin + LIFETIME - Duration::from_millis(1),
        "late".into(),
        one(),
    );
    contexts.begin(begin + LIFETIME, "later".into(), one());
    assert_eq!(contexts.len(), 2);
    contexts.forget(&ONE.parse().unwrap());
    assert_eq!(contexts.len(), 0);
}
