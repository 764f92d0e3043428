//! A strict enough reader of markup: every element closed in order, every `<` and `&` meant.

/// HTML elements that have no end.
const VOID: [&str; 3] = ["meta", "br", "input"];

/// Panics unless `document` is well formed as HTML in the way in which the report writes it.
pub(super) fn check_html(document: &str) {
    let body = document
        .strip_prefix("<!DOCTYPE html>")
        .expect("the document type");
    check(body, &VOID);
}

/// Panics unless `document` is a well-formed XML document.
pub(super) fn check_xml(document: &str) {
    let (declaration, body) = document.split_once("?>").expect("an XML declaration");
    assert!(declaration.starts_with("<?xml"));
    check(body, &[]);
}

fn check(document: &str, void: &[&str]) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = document;
    while let Some((text, after)) = rest.split_once('<') {
        check_text(text);
        let (tag, after) = after.split_once('>').expect("a tag ends");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "before {:.80}", rest);
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes in <{tag}>");
        check_text(tag);
        let name = tag
            .split([' ', '/', '\n'])
            .next()
            .expect("split gives at least one");
        assert!(
            !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric()),
            "<{tag}> is no tag"
        );
        if tag.ends_with('/') || void.contains(&name) {
            continue;
        }
        open.push(name);
        if name == "script" || name == "style" {
            let end = rest.find(&format!("</{name}>")).expect("it ends");
            rest = &rest[end..];
        }
    }
    check_text(rest);
    assert!(open.is_empty(), "never closed: {open:?}");
}

/// Every `&` begins a character reference, and no `>` is left over.
fn check_text(text: &str) {
    assert!(!text.contains('>'), "a stray > in {text:.80}");
    for after in text.split('&').skip(1) {
        let name = after.split(';').next().unwrap_or_default();
        assert!(
            ["amp", "lt", "gt", "quot", "#39"].contains(&name),
            "&{name:.20} is no reference"
        );
    }
}

#[test]
fn the_check_finds_what_is_wrong() {
    for wrong in [
        "<!DOCTYPE html><p><b></p></b>",
        "<!DOCTYPE html><p>a & b</p>",
        "<!DOCTYPE html><p>",
        "<!DOCTYPE html><p title=\"a\"b\">x</p>",
    ] {
        let found = std::panic::catch_unwind(|| check_html(wrong));
        assert!(found.is_err(), "{wrong}");
    }
    check_html("<!DOCTYPE html><p>a &amp; b<br></p>");
}
