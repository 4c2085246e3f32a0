use super::{is_reference, is_uri, percent_decoded, resolve};

/// The examples of RFC 3986, 5.4, and some more.
#[test]
fn references_are_resolved() {
    let examples = [
        ("g:h", "g:h"),
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../../../g", "http://a/g"),
        ("./g/.", "http://a/b/c/g/"),
        ("g/../h", "http://a/b/c/h"),
        ("HTTP://A/%7e%2f", "http://a/~%2F"),
    ];
    for (reference, address) in examples {
        assert_eq!(
            resolve("http://a/b/c/d;p?q", reference).as_deref(),
            Some(address),
            "{reference}"
        );
    }
    assert_eq!(resolve("urn:a:b", "").as_deref(), Some("urn:a:b"));
    assert_eq!(resolve("http://a", "b").as_deref(), Some("http://a/b"));
    assert_eq!(resolve("http://a", "b c"), None);
}

#[test]
fn texts_that_are_no_references() {
    for text in [
        "a b",
        "%",
        "%4",
        "a:b c",
        "1a:b",
        ":",
        "a#b#c",
        "é",
        "<a>",
        "http://[::1",
        "http://a:b",
    ] {
        assert!(!is_reference(text), "{text}");
    }
    for text in [
        "",
        "#",
        "a",
        "/a:b",
        "http://u:p@[::1]:80/a?b#c",
        "urn:a",
        "//[v1.x]/",
    ] {
        assert!(is_reference(text), "{text}");
    }
    assert!(is_uri("a:") && !is_uri("a") && !is_uri("#a"));
}

#[test]
fn percent_encodings_are_decoded() {
    assert_eq!(percent_decoded("a%20%C3%A9%").as_deref(), Some("a é%"));
    assert_eq!(percent_decoded("%FF"), None);
}
