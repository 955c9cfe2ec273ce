//! Fields that a service may write in more than one way: `1`, `"1"` or `true`. For fields with `default`.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::value::RawValue;

/// Reads a flag; `None` if the value is absent, `null` or no flag.
pub(super) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    Ok(json(from)?.and_then(as_flag))
}

/// Reads a number without its fraction; `None` if the value is absent or `null`, and 0 if it is no number.
pub(super) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    Ok(json(from)?.map(as_number))
}

/// Reads a text; `None` if the value is absent or no text.
pub(super) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(json(from)?.and_then(|json| serde_json::from_str(json).ok()))
}

/// Reads a text that may be `null`, which is not the same as absent.
#[expect(
    clippy::option_option,
    reason = "absent, null and a text are three cases"
)]
pub(super) fn given<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// Reads an object, alone or as the only entry of an array.
pub(super) fn one<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    if json.starts_with('[') {
        serde_json::from_str(json).map(|[one]: [T; 1]| one)
    } else {
        serde_json::from_str(json)
    }
}

/// Returns a value that is written as JSON as a flag.
pub(super) fn as_flag(json: &str) -> Option<bool> {
    match json.trim_matches('"') {
        "true" => Some(true),
        "false" | "" => Some(false),
        number => number.parse().ok().map(|number: i64| number != 0),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a figure without its fraction is meant, and the cast saturates"
)]
fn as_number(json: &str) -> i64 {
    let float = || serde_json::from_str(json).unwrap_or(0.0_f64) as i64;
    let number = json.trim_matches('"').trim();
    number.parse().unwrap_or_else(|_| float())
}

/// Takes a value as it is written. An array or an object is not taken apart, however large it is.
fn json<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de str>, D::Error> {
    Ok(Option::<&RawValue>::deserialize(from)?.map(RawValue::get))
}
