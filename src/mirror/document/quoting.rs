//! Writes a text as a value of YAML.
//!
//! A text is written on one line, and so that every reader reads the same text. Readers of YAML 1.1 (PyYAML, Ruby,
//! Jekyll) take `no`, `1_000`, `2024-01-01` or `12:30` for something else than a text. A text that could be mistaken is
//! put into double quotes, with the escapes of JSON.

use super::block::Style;
use std::fmt::Write as _;

/// Words that some reader takes for a boolean, null or a number.
const RESERVED: [&str; 12] = [
    "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity",
];

/// Writes a text, in its old style if that style can represent the text.
pub(super) fn write_text(text: &str, style: Option<Style>) -> String {
    match style {
        Some(Style::Double) => double_quoted(text),
        Some(Style::Single) if text.chars().all(shows) => format!("'{}'", text.replace('\'', "''")),
        Some(Style::Single | Style::Plain | Style::Block) | None => {
            if is_plain(text) {
                text.to_owned()
            } else {
                double_quoted(text)
            }
        }
    }
}

/// Returns whether a text needs no quotes under YAML 1.1 and 1.2.
pub(super) fn is_plain(text: &str) -> bool {
    let starts_well = text
        .chars()
        .next()
        .is_some_and(|c| c.is_alphanumeric() || c == '(');
    starts_well
        && !text.ends_with(char::is_whitespace)
        // A colon or a number sign is harmless in some positions; quoting always is simpler.
        && !text.contains([':', '#'])
        && text.chars().all(shows)
        && !RESERVED.contains(&text.to_lowercase().as_str())
        && !looks_like_a_number(text)
}

/// Numbers and dates in all their forms: a digit first, and nothing that only a word has.
fn looks_like_a_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_hexdigit() || "xXoOtTzZ_.,+- ".contains(c))
}

/// Returns whether a character can be written unescaped: every reader keeps it, and a person can see it.
fn shows(c: char) -> bool {
    match c {
        // Line breaks of YAML 1.1, the byte order mark, and characters that reorder or hide the text around them.
        '\u{85}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{feff}'
        | '\u{fffe}'
        | '\u{ffff}'
        | '\u{61c}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' => false,
        _ => !c.is_control(),
    }
}

fn double_quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if shows(c) => quoted.push(c),
            _ => {
                // All characters that need an escape are below U+10000, so four digits suffice.
                let _written = write!(quoted, "\\u{:04X}", u32::from(c));
            }
        }
    }
    quoted.push('"');
    quoted
}
