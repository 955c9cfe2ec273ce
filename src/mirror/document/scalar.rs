//! Writes a text as YAML: on one line, and so that every reader reads the same text.
//!
//! Readers of YAML 1.1 (PyYAML, Ruby, Jekyll) take `no`, `1_000`, `2024-01-01` or `12:30` for something
//! else than a text. What is not plainly a text is put into double quotes, with escapes that JSON has too.

use super::block::Style;
use std::fmt::Write as _;

/// Words that some reader takes for a truth value, nothing, or a number.
const RESERVED: [&str; 12] = [
    "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity",
];

/// Writes a text, in the style that it had where that can hold it.
pub(super) fn write_text(text: &str, style: Option<Style>) -> String {
    match style {
        Some(Style::Double) => double_quoted(text),
        Some(Style::Single) if single_quotable(text) => format!("'{}'", text.replace('\'', "''")),
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
        // A colon or a number sign is harmless in places; which ones is not worth knowing.
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

/// Returns whether a character can stand in a file as it is: every reader keeps it, and a person can see it.
fn shows(c: char) -> bool {
    match c {
        // Line breaks of YAML 1.1, the byte order mark, and what turns or hides the text around it.
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

fn single_quotable(text: &str) -> bool {
    text.chars().all(shows)
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
                // All that do not show are below U+10000, so four digits do.
                let _written = write!(quoted, "\\u{:04X}", u32::from(c));
            }
        }
    }
    quoted.push('"');
    quoted
}
