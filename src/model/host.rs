//! Hosts in addresses and `Host` headers. `core::net` has only address types, no sockets.

use core::net::{IpAddr, Ipv6Addr};

/// Returns the host of `host[:port]`, an IPv6 address without its brackets; `None`: the host or the port is malformed.
pub fn host_of(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            (host, after)
        }
        None => match authority.find(':') {
            Some(colon) => authority.split_at(colon),
            None => (authority, ""),
        },
    };
    let port_is_good = match port.strip_prefix(':') {
        Some(digits) => {
            digits.chars().all(|c| c.is_ascii_digit())
                && digits.parse::<u16>().is_ok_and(|port| port > 0)
        }
        None => port.is_empty(),
    };
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let host_is_good =
        !host.is_empty() && (host.parse::<IpAddr>().is_ok() || host.chars().all(named));
    (host_is_good && port_is_good).then_some(host)
}

/// Returns whether a host is this machine. Names below `localhost` never leave it (RFC 6761, section 6.3).
pub fn is_this_machine(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
