//! Methods and paths against the table.

use super::*;
use corewire::{Code, Headers};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

struct Nf;

impl Nf {
    async fn read(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let query = exchange.query()?;
        Ok(Reply::ok(&(exchange.param("supi"), query.one("a"))))
    }

    async fn list(self: Arc<Self>, _exchange: Exchange) -> Result<Reply, Problem> {
        Ok(Reply::ok(&"list"))
    }

    async fn write(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let value: Vec<u32> = exchange.json()?;
        Ok(Reply::created(exchange.path(), &value))
    }
}

fn router() -> Router<Nf> {
    Router::new(Arc::new(Nf))
        .get("/nudm-sdm/v2/shared-data", Nf::list)
        .get("/nudm-sdm/v2/{supi}", Nf::read)
        .put("/nudm-sdm/v2/{supi}", Nf::write)
        .post("/nudm-sdm/v2/{supi}/ack", Nf::write)
}

fn ask(path: &str, headers: &[(&str, &str)], body: &'static str) -> Response {
    let mut all = Headers::new();
    for (name, value) in headers {
        all.append(name, value).unwrap();
    }
    let request = Request::new(Operation::parse(path).unwrap())
        .with_headers(all)
        .with_body(body.to_owned());
    let router = router();
    let answer = pin!(router.answer(request));
    match answer.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(response) => response,
        Poll::Pending => panic!("nothing to wait for"),
    }
}

fn text(response: Response) -> String {
    String::from_utf8(response.body.into_bytes().to_vec()).unwrap()
}

const GET: (&str, &str) = ("corewire-method", "GET");
const PUT: (&str, &str) = ("corewire-method", "PUT");

#[test]
fn the_first_template_that_fits_answers() {
    assert_eq!(text(ask("nudm-sdm/v2/shared-data", &[GET], "")), "\"list\"");
    let found = ask(
        "nudm-sdm/v2/nai-a%40b",
        &[GET, ("corewire-query", "a=%201")],
        "",
    );
    assert_eq!(text(found), r#"["nai-a@b"," 1"]"#);
}

#[test]
fn what_is_wrong_with_a_request_is_said_by_its_cause() {
    let json = ("content-type", "application/json");
    for (path, headers, body, status, cause) in [
        (
            "nudm-sdm/v2/a/b",
            &[GET][..],
            "",
            "404",
            "RESOURCE_URI_STRUCTURE_NOT_FOUND",
        ),
        (
            "nudm-sdm/v1/a",
            &[GET],
            "",
            "404",
            "RESOURCE_URI_STRUCTURE_NOT_FOUND",
        ),
        ("nudm-sdm/v2/%zz", &[GET], "", "400", "INVALID_MSG_FORMAT"),
        (
            "nudm-sdm/v2/a",
            &[GET, ("corewire-query", "%f")],
            "",
            "400",
            "INVALID_QUERY_PARAM",
        ),
        ("nudm-sdm/v2/a", &[], "[]", "405", "METHOD_NOT_ALLOWED"),
        (
            "nudm-sdm/v2/a",
            &[PUT, ("content-type", "text/plain")],
            "[]",
            "415",
            "UNSUPPORTED_MEDIA_TYPE",
        ),
        (
            "nudm-sdm/v2/a",
            &[PUT, json],
            "[",
            "400",
            "INVALID_MSG_FORMAT",
        ),
        (
            "nudm-sdm/v2/a",
            &[PUT, json],
            "[\"x\"]",
            "400",
            "MANDATORY_IE_INCORRECT",
        ),
    ] {
        let answer = ask(path, headers, body);
        let allow = answer.headers.get_str("allow").map(str::to_owned);
        let said = text(answer);
        let expected = format!("\"status\":{status},");
        assert!(said.contains(&expected), "{path} {said}");
        assert!(
            said.contains(&format!("\"cause\":\"{cause}\"")),
            "{path} {said}"
        );
        assert_eq!(allow.as_deref(), (status == "405").then_some("GET, PUT"));
    }
}

#[test]
fn a_resource_is_made() {
    let answer = ask("nudm-sdm/v2/a", &[PUT], "[1]");
    assert_eq!(answer.status.code(), Code::Ok);
    assert_eq!(answer.headers.get_str("corewire-http-status"), Some("201"));
    assert_eq!(answer.headers.get_str("location"), Some("/nudm-sdm/v2/a"));
}
