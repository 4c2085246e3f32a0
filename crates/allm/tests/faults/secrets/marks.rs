//! The secrets, none of which looks like one, and their encoded forms.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

pub(crate) const KEY: &str = "mark/key+0001=end";
pub(crate) const CALL_KEY: &str = "mark/call?key>0002";
pub(crate) const HEADER: &str = "mark/header 0003~x";
pub(crate) const CALL_HEADER: &str = "mark/call-header:0004";
pub(crate) const TOKEN: &str = "mark.token.0005";
pub(crate) const HOST: &str = "mark-host-0006";
pub(crate) const ORGANIZATION: &str = "mark-organization-0007";
pub(crate) const PROJECT: &str = "mark_project_0008";
pub(crate) const QUERY: &str = "mark-query-0009";

const MARKS: [&str; 9] = [
    KEY,
    CALL_KEY,
    HEADER,
    CALL_HEADER,
    TOKEN,
    HOST,
    ORGANIZATION,
    PROJECT,
    QUERY,
];

fn url_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// What stands in every base64 text that holds this one, by where it begins.
fn in_base64(text: &str) -> Vec<String> {
    let mut cores = Vec::new();
    for place in 0..3_usize {
        let mut bytes = vec![0; place];
        bytes.extend_from_slice(text.as_bytes());
        let range = (place * 8).div_ceil(6)..bytes.len() * 8 / 6;
        cores.push(STANDARD_NO_PAD.encode(&bytes)[range.clone()].to_owned());
        cores.push(URL_SAFE_NO_PAD.encode(&bytes)[range].to_owned());
    }
    cores
}

/// Whose key a call is sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Configured,
    /// The call's own, with a header of its own.
    OfTheCall,
}

impl Key {
    fn sends(self, mark: &str) -> bool {
        match self {
            Self::Configured => mark != CALL_KEY && mark != CALL_HEADER,
            Self::OfTheCall => mark != KEY,
        }
    }
}

/// Everything that a server can say of what it was sent, in one text.
pub(crate) fn all(key: Key) -> String {
    let mut said = String::from("no: ");
    for mark in MARKS.into_iter().filter(|mark| key.sends(mark)) {
        let basic = STANDARD_NO_PAD.encode(format!("user:{mark}"));
        let safe = URL_SAFE_NO_PAD.encode(format!("{mark}:"));
        let upper = hex(mark).to_uppercase();
        let (url, hex) = (url_encoded(mark), hex(mark));
        let lower = url.to_lowercase();
        said.push_str(&format!(
            "<{mark}> {url} {lower} Basic {basic} {safe} {hex} {upper} Bearer {mark}; "
        ));
    }
    said
}

/// Every form of a mark.
fn forms(mark: &str) -> Vec<String> {
    let mut forms = in_base64(mark);
    forms.extend([
        mark.to_owned(),
        url_encoded(mark),
        url_encoded(mark).to_lowercase(),
        hex(mark),
        hex(mark).to_uppercase(),
        // As it stands in JSON and in `Debug`.
        mark.replace('/', "\\/"),
        mark.escape_debug().to_string(),
    ]);
    forms.sort();
    forms.dedup();
    forms
}

/// The marks that a text holds, in whatever form.
pub(crate) fn found(text: &str) -> Vec<&'static str> {
    static FORMS: LazyLock<Vec<(&str, Vec<String>)>> =
        LazyLock::new(|| MARKS.iter().map(|mark| (*mark, forms(mark))).collect());
    let is_held = |(_, forms): &&(&str, Vec<String>)| forms.iter().any(|form| text.contains(form));
    FORMS
        .iter()
        .filter(is_held)
        .map(|(mark, _)| *mark)
        .collect()
}

#[test]
fn every_form_is_found() {
    for key in [Key::Configured, Key::OfTheCall] {
        let said = all(key);
        let sent: Vec<&str> = MARKS.into_iter().filter(|mark| key.sends(mark)).collect();
        assert_eq!(found(&said), sent);
        for word in said.split_whitespace().filter(|word| word.len() > 30) {
            assert_ne!(found(word), [""; 0], "{word}");
        }
    }
}
