//! `format`, which drafts 4, 6 and 7 check.

mod mail;
mod template;
mod time;

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::draft::Draft;
use crate::pattern::Pattern;
use crate::uri;

/// A format that is checked. Those of international names are not: they would need large tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Date,
    DateTime,
    Time,
    Email,
    /// Of drafts 4 and 6, where a label may have hyphens anywhere inside.
    PlainHostname,
    Hostname,
    Ipv4,
    Ipv6,
    Uri,
    UriReference,
    UriTemplate,
    Regex,
    JsonPointer,
    RelativeJsonPointer,
}

impl Format {
    /// The format of this name, if `draft` checks it.
    pub(crate) fn named(name: &str, draft: Draft) -> Option<Format> {
        let (since, format) = match name {
            "date" => (Draft::Four, Format::Date),
            "date-time" => (Draft::Four, Format::DateTime),
            "time" => (Draft::Four, Format::Time),
            "email" => (Draft::Four, Format::Email),
            "hostname" if draft < Draft::Seven => (Draft::Four, Format::PlainHostname),
            "hostname" => (Draft::Four, Format::Hostname),
            "ipv4" => (Draft::Four, Format::Ipv4),
            "ipv6" => (Draft::Four, Format::Ipv6),
            "uri" => (Draft::Four, Format::Uri),
            "regex" => (Draft::Four, Format::Regex),
            "uri-reference" => (Draft::Six, Format::UriReference),
            "uri-template" => (Draft::Six, Format::UriTemplate),
            "json-pointer" => (Draft::Six, Format::JsonPointer),
            "relative-json-pointer" => (Draft::Seven, Format::RelativeJsonPointer),
            _ => return None,
        };
        (draft >= since).then_some(format)
    }

    /// "a date"
    pub(crate) fn phrase(self) -> &'static str {
        match self {
            Format::Date => "a date such as 2025-01-31",
            Format::DateTime => "a date and time such as 2025-01-31T09:30:00Z",
            Format::Time => "a time such as 09:30:00Z",
            Format::Email => "an e-mail address",
            Format::PlainHostname | Format::Hostname => "a host name",
            Format::Ipv4 => "an IPv4 address",
            Format::Ipv6 => "an IPv6 address",
            Format::Uri => "a URI",
            Format::UriReference => "a URI reference",
            Format::UriTemplate => "a URI template",
            Format::Regex => "a regular expression",
            Format::JsonPointer => "a JSON Pointer",
            Format::RelativeJsonPointer => "a relative JSON Pointer",
        }
    }

    pub(crate) fn accepts(self, text: &str) -> bool {
        match self {
            Format::Date => time::is_date(text),
            Format::DateTime => time::is_date_time(text),
            Format::Time => time::is_time(text),
            Format::Email => mail::is_address(text),
            Format::PlainHostname => is_plain_hostname(text),
            Format::Hostname => is_hostname(text),
            Format::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
            Format::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            Format::Uri => uri::is_uri(text),
            Format::UriReference => uri::is_reference(text),
            Format::UriTemplate => template::is_template(text),
            Format::Regex => Pattern::new(text).is_ok(),
            Format::JsonPointer => is_pointer(text),
            Format::RelativeJsonPointer => is_relative_pointer(text),
        }
    }
}

fn is_plain_hostname(text: &str) -> bool {
    text.len() <= 253
        && text.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        })
}

/// As above, where two hyphens in the third place announce an encoding: only "xn--" is known.
fn is_hostname(text: &str) -> bool {
    is_plain_hostname(text)
        && text
            .split('.')
            .all(|label| label.get(2..4) != Some("--") || label.starts_with("xn"))
}

fn is_pointer(text: &str) -> bool {
    let escapes_are_sound = text
        .split('~')
        .skip(1)
        .all(|after| after.starts_with(['0', '1']));
    (text.is_empty() || text.starts_with('/')) && escapes_are_sound
}

fn is_relative_pointer(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - rest.len();
    let sound = digits == 1 || digits > 1 && !text.starts_with('0');
    sound && (rest == "#" || is_pointer(rest))
}
