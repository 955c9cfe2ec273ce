//! The values of settings: addresses, ids, durations, numbers.
//!
//! Each function takes the text as written. Its errors fit a file, an environment variable and a flag.

use super::{ConfigError, Poll};
use crate::model::{
    WorkspaceId,
    host::{base_address, is_this_machine},
    yaml::{Node, Value},
};
use croner::{
    Cron,
    errors::CronError,
    parser::{CronParser, Seconds},
};
use std::{
    net::{Ipv4Addr, SocketAddr},
    str::FromStr,
    time::Duration,
};

/// Parses the service's base address, and returns it without a slash at its end.
///
/// `http` is accepted only for this machine, unless `insecure_http` allows it elsewhere (failures row 134).
pub fn parse_service(text: &str, insecure_http: bool) -> Result<String, ConfigError> {
    let address = base_address(text).map_err(|why| {
        let example = "write it like https://kb.example.com";
        ConfigError::new(format!("the service's address {why}"), example)
    })?;
    let is_elsewhere = |rest: &str| !rest.split('/').next().is_some_and(is_this_machine);
    if !insecure_http && address.strip_prefix("http://").is_some_and(is_elsewhere) {
        return Err(ConfigError::new(
            "the service's address is http://, which would send the token unencrypted",
            "use https://, or allow it with --insecure-http",
        ));
    }
    Ok(address)
}

/// Parses a workspace's id.
pub fn parse_workspace(text: &str) -> Result<WorkspaceId, ConfigError> {
    let remedy = "`kbsync workspaces` lists the ids; in a folder without settings, write \
                  `KBSYNC_SERVICE=URL kbsync workspaces`";
    parse_id(text, "workspace", remedy)
}

/// Parses an id of the service.
pub(super) fn parse_id<T: FromStr>(text: &str, of: &str, remedy: &str) -> Result<T, ConfigError> {
    text.parse().map_err(|_| {
        ConfigError::new(
            format!("`{}` is not the id of a {of} (a UUID)", shown(text)),
            remedy,
        )
    })
}

/// Parses an address to listen on. A port alone means that port on this machine.
pub fn parse_listen(text: &str) -> Result<SocketAddr, ConfigError> {
    let text = text.trim();
    let port = text.parse::<u16>();
    let address = port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    address.or_else(|_| text.parse()).map_err(|_| {
        ConfigError::new(
            format!("`{}` is not an address to listen on", shown(text)),
            "write a port (7575), or an address and a port (127.0.0.1:7575)",
        )
    })
}

/// The longest time between two polls.
const LONGEST_POLL: Duration = Duration::from_hours(366 * 24);

/// Parses `5m`, or a cron line of five or six fields.
pub fn parse_poll(text: &str) -> Result<Poll, ConfigError> {
    let text = text.trim();
    if let Ok(period) = humantime::parse_duration(text) {
        if period < Duration::from_secs(1) {
            return Err(ConfigError::new(
                "`poll` is shorter than a second",
                "the service allows 1,440 requests a day: use 1m or longer",
            ));
        }
        if period > LONGEST_POLL {
            return Err(ConfigError::new(
                "`poll` is longer than a year",
                "use a shorter time",
            ));
        }
        return Ok(Poll::Every(period));
    }
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let allowed = |c: char| c.is_ascii_alphanumeric() || "*,-/?#".contains(c);
    if (fields.len() == 5 || fields.len() == 6)
        && fields.iter().all(|field| field.chars().all(allowed))
    {
        let line = fields.join(" ");
        if let Some((field, last)) = too_long_step(&fields) {
            return Err(ConfigError::new(
                format!(
                    "`{field}` in `{}` has a step longer than the field, whose last value is {last}",
                    shown(text)
                ),
                "for longer periods write a duration, such as `70m` or `36h`",
            ));
        }
        return match parse_cron(&line) {
            Ok(pattern) => Ok(Poll::Cron(Box::new(pattern))),
            Err(error) => Err(ConfigError::new(
                format!("`{}` is not a cron line: {error}", shown(text)),
                "write it like `*/10 8-18 * * 1-5`: minute, hour, day, month, day of the week",
            )),
        };
    }
    Err(ConfigError::new(
        format!("`{}` is neither a duration nor a cron line", shown(text)),
        "write `5m`, `1h`, or a cron line such as `*/10 8-18 * * 1-5`",
    ))
}

/// Returns the first field whose step is longer than the field, with the field's last value: `*/70` minutes would be
/// minute 0 of each hour, which nobody means.
fn too_long_step<'f>(fields: &[&'f str]) -> Option<(&'f str, u32)> {
    let lasts = [59, 59, 23, 31, 12, 7];
    let lasts = lasts.iter().skip(lasts.len() - fields.len());
    fields.iter().zip(lasts).find_map(|(field, last)| {
        let mut steps = field.split(',').filter_map(|part| part.split_once('/'));
        let is_longer =
            |(_, step): (&str, &str)| step.parse::<u32>().is_ok_and(|step| step > *last);
        steps.any(is_longer).then_some((*field, *last))
    })
}

/// Parses a cron line of five or six fields.
pub fn parse_cron(line: &str) -> Result<Cron, CronError> {
    CronParser::builder()
        .seconds(Seconds::Optional)
        .dom_and_dow(true)
        .build()
        .parse(line)
}

/// Parses a duration such as `200ms`.
pub(super) fn duration(node: &Node, key: &str) -> Result<Duration, ConfigError> {
    let text = text(node, key)?;
    humantime::parse_duration(text).map_err(|error| {
        ConfigError::new(
            format!("`{key}: {}` is not a duration: {error}", shown(text)),
            "write it like 200ms, 15s, 5m or 0s",
        )
    })
}

/// Parses `true` or `false`.
pub(super) fn boolean(node: &Node, key: &str) -> Result<bool, ConfigError> {
    match text(node, key)? {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(ConfigError::new(
            format!("`{key}: {}` is neither true nor false", shown(other)),
            format!("write `{key}: true` or `{key}: false`"),
        )),
    }
}

/// Parses a whole number within bounds.
pub(super) fn number(node: &Node, key: &str, least: u32, most: u32) -> Result<u32, ConfigError> {
    let text = text(node, key)?;
    text.parse()
        .ok()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| {
            ConfigError::new(
                format!("`{key}: {}` is not a whole number in range", shown(text)),
                format!("write a number from {least} to {most}"),
            )
        })
}

/// Returns a text that is not empty.
pub(super) fn text<'a>(node: &'a Node, key: &str) -> Result<&'a str, ConfigError> {
    match &node.value {
        Value::Text(text, _) if !text.trim().is_empty() && !node.is_null() => Ok(text.trim()),
        Value::Text(..) => Err(ConfigError::new(
            format!("`{key}` is empty"),
            format!("give it a value, or remove the line `{key}:`"),
        )),
        Value::List(_) | Value::Map(_) => Err(ConfigError::new(
            format!("`{key}` must be a single value"),
            format!("write `{key}: VALUE` on one line"),
        )),
    }
}

/// Shortens a user's text for a message, and removes control characters.
fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let short: String = text.chars().take(60).map(plain).collect();
    if short.len() < text.len() {
        short + "…"
    } else {
        short
    }
}
