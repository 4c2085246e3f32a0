//! Addresses of schemas: RFC 3986, as far as references inside one document need it.

#[cfg(test)]
mod tests;

use std::net::Ipv6Addr;

/// The parts of a URI reference, as they are written.
#[derive(Clone, Copy, Default)]
struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
    fragment: Option<&'a str>,
}

/// Whether a text is a URI.
pub(crate) fn is_uri(text: &str) -> bool {
    parse(text).is_some_and(|parts| parts.scheme.is_some())
}

/// Whether a text is a URI, or a reference relative to one.
pub(crate) fn is_reference(text: &str) -> bool {
    parse(text).is_some()
}

/// What `reference` means inside a document at `base`, without its fragment. `None` if it is no reference.
pub(crate) fn resolve(base: &str, reference: &str) -> Option<String> {
    let base = parse(base)?;
    let given = parse(reference)?;
    let mut target = given;
    let mut path = given.path.to_owned();
    if given.scheme.is_none() {
        target.scheme = base.scheme;
        if given.authority.is_none() {
            target.authority = base.authority;
            if given.path.is_empty() {
                path = base.path.to_owned();
                target.query = given.query.or(base.query);
            } else if !given.path.starts_with('/') {
                path = match base.path.rsplit_once('/') {
                    Some((folder, _)) => format!("{folder}/{}", given.path),
                    None if base.authority.is_some() => format!("/{}", given.path),
                    None => given.path.to_owned(),
                };
            }
        }
    }
    let mut address = String::new();
    if let Some(scheme) = target.scheme {
        address.push_str(&scheme.to_ascii_lowercase());
        address.push(':');
    }
    if let Some(authority) = target.authority {
        address.push_str("//");
        let host = authority.rfind('@').map_or(0, |at| at + 1);
        let (user, host) = authority.split_at_checked(host)?;
        push_normal(&mut address, user);
        push_normal(&mut address, &host.to_ascii_lowercase());
    }
    let mut normal = String::new();
    push_normal(&mut normal, &path);
    if target.scheme.is_some() && (target.authority.is_some() || normal.starts_with('/')) {
        normal = without_dots(&normal);
    }
    address.push_str(&normal);
    if let Some(query) = target.query {
        address.push('?');
        push_normal(&mut address, query);
    }
    Some(address)
}

/// The text that percent-encodings in a fragment stand for. `None` if it is not UTF-8.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let encoded = (*first == b'%').then(|| hex_pair(after)).flatten();
        if let Some(byte) = encoded {
            bytes.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

fn hex_pair(bytes: &[u8]) -> Option<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pair = digit(bytes.first()?)? * 16 + digit(bytes.get(1)?)?;
    u8::try_from(pair).ok()
}

/// Percent-encodings in upper case, and none where none is needed, so that equal addresses are equal texts.
fn push_normal(address: &mut String, part: &str) {
    let mut rest = part;
    while let Some(at) = rest.find('%') {
        let (before, after) = rest.split_at(at);
        address.push_str(before);
        let Some(byte) = hex_pair(after.as_bytes().get(1..).unwrap_or_default()) else {
            break;
        };
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if plain {
            address.push(char::from(byte));
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
        rest = after.get(3..).unwrap_or_default();
    }
    address.push_str(rest);
}

/// A path without "." and "..", RFC 3986, 5.2.4.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut steps = path.split('/').peekable();
    while let Some(step) = steps.next() {
        let last = steps.peek().is_none();
        match step {
            "." => {}
            ".." => {
                if kept.len() > 1 {
                    kept.pop();
                }
            }
            step => {
                kept.push(step);
                continue;
            }
        }
        if last {
            kept.push("");
        }
    }
    kept.join("/")
}

fn parse(text: &str) -> Option<Parts<'_>> {
    let mut parts = Parts::default();
    let mut rest = text;
    if let Some((before, after)) = rest.split_once('#') {
        parts.fragment = Some(all_of(after, "/?:@")?);
        rest = before;
    }
    if let Some((before, after)) = rest.split_once('?') {
        parts.query = Some(all_of(after, "/?:@")?);
        rest = before;
    }
    let first_step = rest.split('/').next().unwrap_or_default();
    if let Some((scheme, _)) = first_step.split_once(':') {
        // A first step with a colon that is no scheme is not allowed.
        let mut characters = scheme.chars();
        let sound = characters.next()?.is_ascii_alphabetic()
            && characters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        if !sound {
            return None;
        }
        parts.scheme = Some(scheme);
        rest = rest.get(scheme.len() + 1..)?;
    }
    if let Some(after) = rest.strip_prefix("//") {
        let end = after.find('/').unwrap_or(after.len());
        let (authority, path) = after.split_at(end);
        parts.authority = Some(sound_authority(authority)?);
        rest = path;
    }
    parts.path = all_of(rest, "/:@")?;
    Some(parts)
}

/// The text, if it has only unreserved characters, delimiters, percent-encodings and `more`.
fn all_of<'a>(text: &'a str, more: &str) -> Option<&'a str> {
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let plain = character.is_ascii_alphanumeric()
            || "-._~!$&'()*+,;=".contains(character)
            || more.contains(character);
        let length = if plain {
            1
        } else if character == '%' {
            hex_pair(rest.as_bytes().get(1..).unwrap_or_default())?;
            3
        } else {
            return None;
        };
        rest = rest.get(length..)?;
    }
    Some(text)
}

fn sound_authority(authority: &str) -> Option<&str> {
    let host = match authority.split_once('@') {
        Some((user, host)) => {
            all_of(user, ":")?;
            host
        }
        None => authority,
    };
    let port = match host.strip_prefix('[') {
        Some(literal) => {
            let (inside, after) = literal.split_once(']')?;
            if !is_address_literal(inside) {
                return None;
            }
            after
        }
        None => {
            let end = host.find(':').unwrap_or(host.len());
            let (name, after) = host.split_at(end);
            all_of(name, "")?;
            after
        }
    };
    let digits = match port.strip_prefix(':') {
        Some(digits) => digits,
        None if port.is_empty() => "",
        None => return None,
    };
    digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then_some(authority)
}

fn is_address_literal(inside: &str) -> bool {
    let Some(future) = inside.strip_prefix(['v', 'V']) else {
        return inside.parse::<Ipv6Addr>().is_ok();
    };
    future.split_once('.').is_some_and(|(version, name)| {
        !version.is_empty()
            && version.bytes().all(|b| b.is_ascii_hexdigit())
            && !name.is_empty()
            && !name.contains('%')
            && all_of(name, ":").is_some()
    })
}
