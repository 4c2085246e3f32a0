//! Addresses that are not of the public network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is of this machine, of a network of its own, or of no host at all.
pub(super) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_4(address),
        IpAddr::V6(address) => is_private_6(address),
    }
}

fn is_private_4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        // This network; shared by carriers; protocol assignments; benchmarks; reserved.
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19))
        || a >= 240
}

fn is_private_6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    // An address of the other version, written as one of this.
    let inner = address
        .to_ipv4_mapped()
        .or_else(|| match address.segments() {
            // Translation to the other version; the last two say to where.
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(joined(high, low)),
            // 6to4.
            [0x2002, high, low, ..] => Some(joined(high, low)),
            _ => None,
        });
    inner.is_some_and(is_private_4)
        || address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        // Compatible with version 4, long given up; unique local; link local; site local; documentation.
        || matches!(address.segments(), [0, 0, 0, 0, 0, 0, ..])
        || a & 0xfe00 == 0xfc00
        || a & 0xffc0 == 0xfe80
        || a & 0xffc0 == 0xfec0
        || (a == 0x2001 && b == 0x0db8)
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_are_private() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "ff02::1",
            "::127.0.0.1",
        ] {
            assert!(
                is_private(private.parse().expect("an address")),
                "{private}"
            );
        }
        for public in [
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
        ] {
            assert!(!is_private(public.parse().expect("an address")), "{public}");
        }
    }
}
