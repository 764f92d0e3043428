//! Resources: methods, queries and HTTP's own statuses, whatever carries them.

use super::super::service::append;
use super::super::{Bench, operations as op};
use corewire_message::{Caller, Code, Headers, Request, Response};

async fn ask(bench: &Bench, entries: &[(&str, &str)], body: &'static str) -> Response {
    let mut headers = Headers::new();
    for (name, value) in entries {
        append(&mut headers, name, value.as_bytes());
    }
    let request = Request::new(op::RESOURCE)
        .with_headers(headers)
        .with_body(body.to_owned());
    let answer = bench.client.call(request).await;
    answer.unwrap_or_else(|error| error.into_response().expect("an answer"))
}

/// The method and the query that were asked for are those that the service sees.
pub async fn a_resource_is_asked_by_every_method(bench: &Bench) {
    for (method, body) in [("GET", ""), ("PUT", "p"), ("PATCH", "q"), ("DELETE", "")] {
        let asked = [("corewire-method", method), ("corewire-query", "a=1&b=%20")];
        let answer = ask(bench, &asked, body).await;
        assert!(answer.status.is_ok());
        assert_eq!(answer.headers.get_str("x-method"), Some(method));
        assert_eq!(answer.headers.get_str("x-query"), Some("a=1&b=%20"));
        assert_eq!(&answer.body.into_bytes()[..], body.as_bytes());
    }
    let answer = ask(bench, &[], "post").await;
    assert_eq!(answer.headers.get_str("x-method"), Some(""));
}

/// An answer may say more precisely than its code what became of the resource.
pub async fn an_answer_names_its_http_status(bench: &Bench) {
    for (status, code, body) in [
        ("201", Code::Ok, "made"),
        ("204", Code::Ok, ""),
        ("304", Code::FailedPrecondition, ""),
        ("307", Code::FailedPrecondition, ""),
        ("403", Code::PermissionDenied, "{}"),
        ("405", Code::Unimplemented, "{}"),
        ("410", Code::NotFound, "{}"),
    ] {
        let number = code.number().to_string();
        let asked = [("x-http-status", status), ("x-code", &number[..])];
        let answer = ask(bench, &asked, body).await;
        assert_eq!(answer.status.code(), code, "{status}");
        // What the code says by itself need not be said.
        let named = answer.headers.get_str("corewire-http-status");
        assert!(named == Some(status) || (status, named) == ("403", None));
        let location = answer.headers.get_str("location");
        assert_eq!(location, Some("/conformance/v1/resources/one"));
        assert_eq!(&answer.body.into_bytes()[..], body.as_bytes());
    }
}
