//! Addresses of e-mail.

use std::net::{Ipv4Addr, Ipv6Addr};

const MAX_LOCAL: usize = 64;

pub(super) fn is_address(text: &str) -> bool {
    text.rsplit_once('@')
        .is_some_and(|(local, domain)| is_local(local) && is_domain(domain))
}

fn is_local(local: &str) -> bool {
    if local.is_empty() || local.len() > MAX_LOCAL || !local.is_ascii() {
        return false;
    }
    let inside = local
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match inside {
        Some(inside) => is_quoted(inside),
        None => local.split('.').all(|atom| {
            !atom.is_empty()
                && atom
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c))
        }),
    }
}

fn is_quoted(inside: &str) -> bool {
    let mut bytes = inside.bytes();
    while let Some(byte) = bytes.next() {
        let sound = match byte {
            b'\\' => bytes
                .next()
                .is_some_and(|escaped| escaped.is_ascii_graphic()),
            b'"' => false,
            b' ' | b'\t' => true,
            other => other.is_ascii_graphic(),
        };
        if !sound {
            return false;
        }
    }
    true
}

fn is_domain(domain: &str) -> bool {
    let literal = domain
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let Some(literal) = literal else {
        return super::is_hostname(domain);
    };
    match literal.split_at_checked(5) {
        Some((tag, address)) if tag.eq_ignore_ascii_case("IPv6:") => {
            address.parse::<Ipv6Addr>().is_ok()
        }
        _ => literal.parse::<Ipv4Addr>().is_ok(),
    }
}
