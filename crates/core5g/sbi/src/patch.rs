//! Changes of resources: merge patch (RFC 7396) and JSON patch (RFC 6902), as far as the service
//! interfaces use them. Bounded in length and depth, so that a stranger cannot make them expensive.

use super::problem::Problem;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Operations of one JSON patch.
pub(crate) const MAX_OPERATIONS: usize = 64;
/// Levels of a path or a merge patch; `serde_json` itself reads 128.
pub(crate) const MAX_DEPTH: usize = 16;
/// What `copy` may put in beside what is there, all operations of a patch together, about in octets of
/// text: a document that is copied into itself is twice as large, and 64 times twice is beyond memory.
const MAX_COPIED: usize = 256 << 10;

/// Merges `patch` into `target`: members that are null go, others are set.
///
/// # Errors
/// 400, when it goes too deep; the target is then half changed.
pub fn merge(target: &mut Value, patch: Value) -> Result<(), Problem> {
    merge_at(target, patch, 0)
}

fn merge_at(target: &mut Value, patch: Value, depth: usize) -> Result<(), Problem> {
    let Value::Object(members) = patch else {
        *target = patch;
        return Ok(());
    };
    if depth == MAX_DEPTH {
        return Err(Problem::new(400, "INVALID_MSG_FORMAT").detail("the patch is too deep"));
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(object) = target else {
        return Ok(());
    };
    for (name, value) in members {
        if value.is_null() {
            object.remove(&name);
        } else {
            merge_at(object.entry(name).or_insert(Value::Null), value, depth + 1)?;
        }
    }
    Ok(())
}

/// One operation of a JSON patch (TS 29.571, `PatchItem`).
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PatchItem {
    /// What to do.
    pub op: PatchOperation,
    /// Where, as a JSON pointer (RFC 6901).
    pub path: String,
    /// From where, for `move` and `copy`.
    #[serde(default)]
    pub from: Option<String>,
    /// What is put there, or expected.
    #[serde(default)]
    pub value: Option<Value>,
}

/// What a JSON patch does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "RFC 6902 lists six")]
pub enum PatchOperation {
    /// Puts a value where none or another was.
    Add,
    /// Takes a value away.
    Remove,
    /// Puts a value where another was.
    Replace,
    /// Takes a value from one place to another.
    Move,
    /// Puts a value of one place at another.
    Copy,
    /// Goes on if the value is as said.
    Test,
}

/// Does all of the operations, or none.
///
/// # Errors
/// 400 for what cannot be, 409 when a test fails or a place does not exist.
pub fn apply(target: &mut Value, items: &[PatchItem]) -> Result<(), Problem> {
    if items.len() > MAX_OPERATIONS {
        let most = format!("more than {MAX_OPERATIONS} operations");
        return Err(Problem::new(400, "INVALID_MSG_FORMAT").detail(most));
    }
    let mut changed = target.clone();
    let mut copies = MAX_COPIED;
    for (number, item) in items.iter().enumerate() {
        apply_one(&mut changed, item, &mut copies).map_err(|problem| {
            problem.invalid(&format!("/{number}{}", item.path), "cannot be applied")
        })?;
    }
    *target = changed;
    Ok(())
}

/// `copies` is what may still be copied.
fn apply_one(target: &mut Value, item: &PatchItem, copies: &mut usize) -> Result<(), Problem> {
    let value = || {
        item.value
            .clone()
            .ok_or_else(|| Problem::new(400, "MANDATORY_IE_MISSING"))
    };
    let from = || {
        item.from
            .as_deref()
            .ok_or_else(|| Problem::new(400, "MANDATORY_IE_MISSING"))
    };
    match item.op {
        PatchOperation::Add => add(target, &item.path, value()?),
        PatchOperation::Remove => remove(target, &item.path).map(drop),
        PatchOperation::Replace => {
            let value = value()?;
            *found(target, &item.path)? = value;
            Ok(())
        }
        PatchOperation::Move => {
            let from = from()?;
            // RFC 6902, 4.4: not into itself.
            if item.path.starts_with(&format!("{from}/")) {
                return Err(Problem::new(400, "INVALID_MSG_FORMAT"));
            }
            let moved = remove(target, from)?;
            add(target, &item.path, moved)
        }
        PatchOperation::Copy => {
            let copied = found(target, from()?)?;
            *copies = less(*copies, copied).ok_or_else(|| {
                let most = format!("more than {MAX_COPIED} octets are copied");
                Problem::new(400, "INVALID_MSG_FORMAT").detail(most)
            })?;
            let copied = copied.clone();
            add(target, &item.path, copied)
        }
        PatchOperation::Test => {
            let value = value()?;
            (*found(target, &item.path)? == value)
                .then_some(())
                .ok_or_else(|| Problem::new(409, "MODIFICATION_NOT_ALLOWED"))
        }
    }
}

/// What is left of a budget behind this value; `None` when it is not enough.
fn less(budget: usize, value: &Value) -> Option<usize> {
    let text = match value {
        Value::String(text) => text.len(),
        _ => 0,
    };
    let budget = budget.checked_sub(text + 1)?;
    match value {
        Value::Array(list) => list.iter().try_fold(budget, less),
        Value::Object(members) => members.iter().try_fold(budget, |budget, (name, value)| {
            less(budget.checked_sub(name.len())?, value)
        }),
        _ => Some(budget),
    }
}

fn found<'a>(target: &'a mut Value, path: &str) -> Result<&'a mut Value, Problem> {
    check_path(path)?;
    target.pointer_mut(path).ok_or_else(no_such_place)
}

fn add(target: &mut Value, path: &str, value: Value) -> Result<(), Problem> {
    check_path(path)?;
    let Some((parent, name)) = path.rsplit_once('/') else {
        *target = value;
        return Ok(());
    };
    let name = name.replace("~1", "/").replace("~0", "~");
    match target.pointer_mut(parent).ok_or_else(no_such_place)? {
        Value::Object(object) => {
            object.insert(name, value);
        }
        Value::Array(list) if name == "-" => list.push(value),
        Value::Array(list) => {
            let at = index(&name).filter(|at| *at <= list.len());
            list.insert(at.ok_or_else(no_such_place)?, value);
        }
        _ => return Err(no_such_place()),
    }
    Ok(())
}

fn remove(target: &mut Value, path: &str) -> Result<Value, Problem> {
    check_path(path)?;
    let Some((parent, name)) = path.rsplit_once('/') else {
        return Err(Problem::new(400, "INVALID_MSG_FORMAT"));
    };
    let name = name.replace("~1", "/").replace("~0", "~");
    let removed = match target.pointer_mut(parent).ok_or_else(no_such_place)? {
        Value::Object(object) => object.remove(&name),
        Value::Array(list) => index(&name)
            .filter(|at| *at < list.len())
            .map(|at| list.remove(at)),
        _ => None,
    };
    removed.ok_or_else(no_such_place)
}

/// RFC 6901, 4: digits without a leading zero.
fn index(name: &str) -> Option<usize> {
    let plain = name.bytes().all(|octet| octet.is_ascii_digit());
    let leading = name.len() > 1 && name.starts_with('0');
    (plain && !leading).then(|| name.parse().ok()).flatten()
}

fn check_path(path: &str) -> Result<(), Problem> {
    let good = path.is_empty() || path.starts_with('/');
    if good && path.bytes().filter(|octet| *octet == b'/').count() <= MAX_DEPTH {
        return Ok(());
    }
    Err(Problem::new(400, "INVALID_MSG_FORMAT").detail("a path is no JSON pointer of this depth"))
}

fn no_such_place() -> Problem {
    Problem::new(409, "MODIFICATION_NOT_ALLOWED")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn patched(target: &Value, patch: Value) -> Result<Value, u16> {
        let items: Vec<PatchItem> = serde_json::from_value(patch).unwrap();
        let mut changed = target.clone();
        match apply(&mut changed, &items) {
            Ok(()) => Ok(changed),
            Err(problem) => {
                assert_eq!(&changed, target, "all or nothing");
                Err(problem.status())
            }
        }
    }

    #[test]
    fn the_heartbeat_of_a_real_network_function() {
        let profile = json!({"nfStatus": "SUSPENDED", "load": 7, "x": 1});
        let patch = json!([
            {"op": "replace", "path": "/nfStatus", "value": "REGISTERED"},
            {"op": "replace", "path": "/load", "value": 0}
        ]);
        assert_eq!(
            patched(&profile, patch),
            Ok(json!({"nfStatus": "REGISTERED", "load": 0, "x": 1}))
        );
    }

    #[test]
    fn the_examples_of_rfc_6902() {
        for (target, patch, result) in [
            (
                json!({"foo": "bar"}),
                json!([{"op": "add", "path": "/baz", "value": "qux"}]),
                Ok(json!({"baz": "qux", "foo": "bar"})),
            ),
            (
                json!({"foo": ["bar", "baz"]}),
                json!([{"op": "add", "path": "/foo/1", "value": "qux"}]),
                Ok(json!({"foo": ["bar", "qux", "baz"]})),
            ),
            (
                json!({"baz": "qux", "foo": "bar"}),
                json!([{"op": "remove", "path": "/baz"}]),
                Ok(json!({"foo": "bar"})),
            ),
            (
                json!({"foo": ["bar", "qux", "baz"]}),
                json!([{"op": "remove", "path": "/foo/1"}]),
                Ok(json!({"foo": ["bar", "baz"]})),
            ),
            (
                json!({"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}}),
                json!([{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}]),
                Ok(json!({"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}})),
            ),
            (
                json!({"baz": "qux"}),
                json!([{"op": "test", "path": "/baz", "value": "bar"}]),
                Err(409),
            ),
            (
                json!({"foo": "bar"}),
                json!([{"op": "add", "path": "/baz/bat", "value": "qux"}]),
                Err(409),
            ),
            (
                json!({"/": 9, "~1": 10}),
                json!([{"op": "test", "path": "/~01", "value": 10}]),
                Ok(json!({"/": 9, "~1": 10})),
            ),
            (
                json!({"foo": ["bar"]}),
                json!([{"op": "add", "path": "/foo/-", "value": ["abc"]}]),
                Ok(json!({"foo": ["bar", ["abc"]]})),
            ),
            (
                json!({"a": 1}),
                json!([{"op": "copy", "from": "/a", "path": "/b"}]),
                Ok(json!({"a": 1, "b": 1})),
            ),
            (
                json!({"a": {"b": 1}}),
                json!([{"op": "move", "from": "/a", "path": "/a/b"}]),
                Err(400),
            ),
            (
                json!([1]),
                json!([{"op": "add", "path": "/01", "value": 2}]),
                Err(409),
            ),
            (
                json!({}),
                json!([{"op": "replace", "path": "x", "value": 2}]),
                Err(400),
            ),
            (json!({}), json!([{"op": "add", "path": "/x"}]), Err(400)),
        ] {
            assert_eq!(patched(&target, patch.clone()), result, "{patch}");
        }
    }

    #[test]
    fn the_examples_of_rfc_7396() {
        for (target, patch, result) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": "b"}),
                json!({"b": "c"}),
                json!({"a": "b", "b": "c"}),
            ),
            (
                json!({"a": "b", "b": "c"}),
                json!({"a": null}),
                json!({"b": "c"}),
            ),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (
                json!({"e": null}),
                json!({"a": 1}),
                json!({"e": null, "a": 1}),
            ),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
        ] {
            let mut merged = target.clone();
            merge(&mut merged, patch.clone()).unwrap();
            assert_eq!(merged, result, "{target} {patch}");
        }
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let mut deep = json!(1);
        for _ in 0..=MAX_DEPTH {
            deep = json!({ "a": deep });
        }
        assert!(merge(&mut json!({}), deep).is_err());
        let one = json!({"op": "add", "path": "/a", "value": 1});
        assert_eq!(
            patched(&json!({}), json!(vec![one; MAX_OPERATIONS + 1])),
            Err(400)
        );
        let path = "/a".repeat(MAX_DEPTH + 1);
        assert_eq!(
            patched(&json!({}), json!([{"op": "remove", "path": path}])),
            Err(400)
        );
    }

    #[test]
    fn a_document_that_is_copied_into_itself_does_not_grow_without_end() {
        // Twice as large with each: seventeen of them are a million members before anybody looks.
        let copies = |number: usize| -> Value {
            let one = |number| json!({"op": "copy", "from": "", "path": format!("/{number}")});
            (0..number).map(one).collect()
        };
        let target = json!({"a": [1, 2, 3], "text": "x".repeat(100)});
        assert!(patched(&target, copies(3)).is_ok());
        assert_eq!(patched(&target, copies(17)), Err(400));
        // A long text counts as much as many members.
        let long = json!({"text": "x".repeat(MAX_COPIED)});
        assert_eq!(patched(&long, copies(1)), Err(400));
    }
}
