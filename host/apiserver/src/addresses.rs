//! What is wrong with IP addresses and CIDRs (apimachinery `util/validation/ip.go`, with strict validation).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const NO_IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const NO_CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
const MAPPED_IP: &str = "must not be an IPv4-mapped IPv6 address";
const MAPPED_CIDR: &str = "must not have an IPv4-mapped IPv6 address";

/// What is wrong with an IP address; it need not be in its shortest form.
pub fn ip(text: &str) -> Vec<String> {
    let why = match (parse(text), text.parse::<IpAddr>()) {
        (None, _) => NO_IP,
        (Some(_), Err(_)) => "must not have leading 0s",
        (_, Ok(address)) if is_mapped(address) => MAPPED_IP,
        _ => return Vec::new(),
    };
    vec![why.to_owned()]
}

/// What is wrong with an IP address that must be in its shortest form.
pub fn canonical_ip(text: &str) -> Vec<String> {
    let wrong = ip(text);
    match parse(text) {
        Some(address) if wrong.is_empty() && address.to_string() != text => {
            vec![format!("must be in canonical form (\"{address}\")")]
        }
        _ => wrong,
    }
}

/// What is wrong with a range of addresses; its address need not be in its shortest form.
pub fn cidr(text: &str) -> Vec<String> {
    let Some((address, bits)) = parse_cidr(text) else {
        return vec![NO_CIDR.to_owned()];
    };
    let (written, length) = text.split_once('/').unwrap_or((text, ""));
    let is_strict =
        written.parse::<IpAddr>().is_ok() && (length == "0" || !length.starts_with('0'));
    let why = if !is_strict {
        "must not have leading 0s in IP or prefix length"
    } else if is_mapped(address) {
        MAPPED_CIDR
    } else if masked(address, bits) != address {
        "must not have bits set beyond the prefix length"
    } else {
        return Vec::new();
    };
    vec![why.to_owned()]
}

/// What is wrong with a range of addresses that must be in its shortest form.
pub fn canonical_cidr(text: &str) -> Vec<String> {
    let wrong = cidr(text);
    match parse_cidr(text) {
        Some((address, bits)) if wrong.is_empty() && format!("{address}/{bits}") != text => {
            vec![format!("must be in canonical form (\"{address}/{bits}\")")]
        }
        _ => wrong,
    }
}

/// What is wrong with the address of an endpoint (`ValidateEndpointIP`).
pub fn endpoint(text: &str) -> Vec<String> {
    let Some(address) = parse(text) else {
        return vec!["must be a valid IP address".to_owned()];
    };
    let (is_local, is_local_group) = match address {
        IpAddr::V4(four) => {
            let [first, second, third, _] = four.octets();
            (four.is_link_local(), (first, second, third) == (224, 0, 0))
        }
        IpAddr::V6(six) => {
            let [first, ..] = six.segments();
            (first & 0xffc0 == 0xfe80, first & 0xff0f == 0xff02)
        }
    };
    let why = if address.is_unspecified() {
        return vec![format!("may not be unspecified ({text})")];
    } else if address.is_loopback() {
        "may not be in the loopback range (127.0.0.0/8, ::1/128)"
    } else if is_local {
        "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
    } else if is_local_group {
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
    } else {
        return Vec::new();
    };
    vec![why.to_owned()]
}

/// Whether there is an IPv6 address; an IPv4 address that is written as one does not count.
pub fn is_v6(text: &str) -> bool {
    parse(text).is_some_and(|address| address.is_ipv6())
}

/// Whether these are addresses of both families (`IsDualStackIPStrings`).
pub fn are_dual_stack<'a>(texts: impl Iterator<Item = &'a str>) -> bool {
    both_families(texts.map(parse))
}

/// Whether these are ranges of both families (`IsDualStackCIDRStrings`).
pub fn are_dual_stack_cidrs<'a>(texts: impl Iterator<Item = &'a str>) -> bool {
    both_families(texts.map(|text| Some(parse_cidr(text)?.0)))
}

/// Whether two texts are the same range.
pub fn is_same_cidr(one: &str, other: &str) -> bool {
    match (parse_cidr(one), parse_cidr(other)) {
        (Some((one, bits)), Some((other, length))) => {
            bits == length && masked(one, bits) == masked(other, bits)
        }
        _ => one == other,
    }
}

/// The range without the bits beyond its prefix, and its length.
pub fn parse_cidr(text: &str) -> Option<(IpAddr, u32)> {
    let (address, length) = text.split_once('/')?;
    // An IPv4 address that is written as IPv6 has a prefix of 128 bits.
    let address = address.parse().ok().or_else(|| parse(address))?;
    let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let bits: u32 = length.parse().ok().filter(|_| is_number)?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    (bits <= most).then_some((address, bits))
}

/// `ParseIPSloppy`: parts of an IPv4 address may begin with zeros, and an IPv4 address that is written as
/// IPv6 is IPv4.
pub fn parse(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(match address {
            IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
            IpAddr::V4(_) => address,
        });
    }
    let mut parts = Vec::new();
    for part in text.split('.') {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let digits = part.trim_start_matches('0');
        let number = if digits.is_empty() { "0" } else { digits };
        parts.push(number.parse::<u8>().ok().filter(|_| is_number)?);
    }
    let octets: [u8; 4] = parts.try_into().ok()?;
    Some(IpAddr::V4(Ipv4Addr::from(octets)))
}

fn both_families(addresses: impl Iterator<Item = Option<IpAddr>>) -> bool {
    let (mut has_four, mut has_six) = (false, false);
    for address in addresses {
        match address {
            Some(IpAddr::V4(_)) => has_four = true,
            Some(IpAddr::V6(_)) => has_six = true,
            None => return false,
        }
    }
    has_four && has_six
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(six) if six.to_ipv4_mapped().is_some())
}

fn masked(address: IpAddr, bits: u32) -> IpAddr {
    match address {
        IpAddr::V4(four) => {
            let mask = u32::MAX.checked_shl(32 - bits.min(32)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from(u32::from(four) & mask))
        }
        IpAddr::V6(six) => {
            let mask = u128::MAX.checked_shl(128 - bits.min(128)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from(u128::from(six) & mask))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Judge = fn(&str) -> Vec<String>;

    #[test]
    fn addresses_and_ranges_are_judged_as_in_go() {
        let zeros = "must not have leading 0s in IP or prefix length";
        let beyond = "must not have bits set beyond the prefix length";
        let cases: [(Judge, &str, &[&str]); 24] = [
            (ip, "192.0.2.7", &[]),
            (ip, "FE80:0::abc", &[]),
            (ip, "192.0.2.007", &["must not have leading 0s"]),
            (ip, "::ffff:1.2.3.4", &[MAPPED_IP]),
            (ip, "192.0.2", &[NO_IP]),
            (ip, "192.0.2.256", &[NO_IP]),
            (ip, "", &[NO_IP]),
            (canonical_ip, "::1", &[]),
            (
                canonical_ip,
                "0::1",
                &["must be in canonical form (\"::1\")"],
            ),
            (cidr, "10.0.0.0/8", &[]),
            (cidr, "2001:0db8::/64", &[]),
            (cidr, "0.0.0.0/0", &[]),
            (cidr, "10.0.0.0/08", &[zeros]),
            (cidr, "010.0.0.0/8", &[zeros]),
            (cidr, "10.0.0.1/8", &[beyond]),
            (cidr, "::ffff:10.0.0.0/104", &[MAPPED_CIDR]),
            (cidr, "10.0.0.0/33", &[NO_CIDR]),
            (cidr, "10.0.0.0", &[NO_CIDR]),
            (
                canonical_cidr,
                "2001:0db8::/64",
                &["must be in canonical form (\"2001:db8::/64\")"],
            ),
            (endpoint, "10.1.1.1", &[]),
            (endpoint, "0.0.0.0", &["may not be unspecified (0.0.0.0)"]),
            (
                endpoint,
                "169.254.1.1",
                &["may not be in the link-local range (169.254.0.0/16, fe80::/10)"],
            ),
            (
                endpoint,
                "224.0.0.5",
                &["may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"],
            ),
            (endpoint, "999.1.1.1", &["must be a valid IP address"]),
        ];
        for (judge, text, wrong) in cases {
            assert_eq!(judge(text), wrong, "{text:?}");
        }
    }

    #[test]
    fn a_pair_has_addresses_of_both_families() {
        for (texts, are_dual) in [
            (["10.0.0.1", "::1"], true),
            (["10.0.0.1", "10.0.0.2"], false),
            (["::1", "::2"], false),
            (["10.0.0.1", "x"], false),
        ] {
            assert_eq!(are_dual_stack(texts.into_iter()), are_dual, "{texts:?}");
        }
        let ranges = ["10.0.0.0/8", "fd00::/8"];
        assert!(are_dual_stack_cidrs(ranges.into_iter()));
        assert!(is_same_cidr("10.0.0.0/8", "10.0.0.0/08"));
    }
}
