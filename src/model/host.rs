//! Addresses of a service, and hosts in addresses and `Host` headers. `core::net` has only address types, no sockets.

use core::net::{IpAddr, Ipv6Addr};

/// Checks the base address of a service, `https://host[:port][/path]`. Returns it without a slash at its end, or says
/// what is wrong with it.
///
/// The accepted form is narrow on purpose: it must mean the same host to every other parser of addresses.
pub fn base_address(text: &str) -> Result<String, &'static str> {
    let text = text.trim().trim_end_matches('/');
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let scheme = scheme.to_ascii_lowercase();
    if scheme != "https" && scheme != "http" {
        return Err("does not begin with https:// or http://");
    }
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if authority.contains('@') {
        return Err("holds a user name or a password");
    }
    if host_of(authority).is_none() {
        return Err("has no usable host name");
    }
    let clean = |c: char| c.is_ascii_alphanumeric() || "-._~/%".contains(c);
    if !path.chars().all(clean) {
        return Err("holds a query or characters that do not belong there");
    }
    let authority = authority.to_ascii_lowercase();
    Ok(format!("{scheme}://{authority}{path}"))
}

/// Returns the host of `host[:port]`, an IPv6 address without its brackets; `None`: the host or the port is malformed.
fn host_of(authority: &str) -> Option<&str> {
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

/// Returns whether `host[:port]` is this machine. A name below `localhost` does not count: a resolver may ask the
/// network.
pub fn is_this_machine(authority: &str) -> bool {
    let host = host_of(authority).unwrap_or_default().to_ascii_lowercase();
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
