//! JSON of a bounded length, and the place of what is wrong in it.

use super::place::pointer_at;
use super::problem::Problem;
use serde::de::DeserializeOwned;

/// Octets of a JSON body that are read; TS 29.501 leaves it to the implementation.
pub(crate) const MAX_JSON: usize = 1 << 20;

/// Reads JSON of a bounded length; the error names the place.
///
/// # Errors
/// 413 or 400.
pub(super) fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    if body.len() > MAX_JSON {
        let most = format!("JSON of more than {MAX_JSON} octets");
        return Err(Problem::new(413, "PAYLOAD_TOO_LARGE").detail(most));
    }
    serde_json::from_slice(body).map_err(|error| unreadable(&error, body))
}

fn unreadable(error: &serde_json::Error, body: &[u8]) -> Problem {
    let sentence = error.to_string();
    if !error.is_data() {
        return Problem::new(400, "INVALID_MSG_FORMAT").detail(sentence);
    }
    let place = pointer_at(body, error.line(), error.column());
    // serde names the member in this one case; it is what the caller has to add.
    let missing = sentence
        .strip_prefix("missing field `")
        .and_then(|rest| rest.split_once('`'));
    match missing {
        Some((name, _)) => Problem::mandatory_missing(&format!("{place}/{name}")),
        None => Problem::mandatory_incorrect(&place, sentence.clone()).detail(sentence),
    }
}
