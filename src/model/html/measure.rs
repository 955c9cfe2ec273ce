//! Measures the visible content of a text, so that kbsync notices content that the service dropped.
//!
//! A service may serialise the same page differently (`&uuml;` for `ü`, `<strong>` for `<b>`, other white space);
//! nothing is lost then.

use super::{Kind, tokens};
use std::{borrow::Cow, collections::BTreeMap};

/// The longest character reference, in bytes between `&` and `;`.
const LONGEST_REFERENCE: usize = 32;

/// Resolves character references: numbers, and the common names. Any other name becomes U+FFFD, which counts as one
/// character, too.
pub fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((character, length)) = reference(rest) {
            plain.push(character);
            rest = &rest[length..];
        } else {
            plain.push('&');
            rest = &rest[1..];
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Returns whether two texts are the same page, apart from the service's serialisation: white space, the case of names,
/// quotes and the order of attributes. Character references are compared as written.
pub fn is_same_markup(one: &str, other: &str) -> bool {
    one == other || normalised(one) == normalised(other)
}

/// Returns the parts of a text in a normal form.
fn normalised(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut words = String::new();
    for token in tokens(text) {
        let part = match token.kind {
            Kind::Text => {
                push_collapsed(&mut words, token.source);
                continue;
            }
            Kind::RawText | Kind::Comment | Kind::Unfinished => token.source.to_owned(),
            Kind::Open(name) | Kind::SelfClosing(name) => {
                let mut attributes: Vec<_> = token
                    .attributes()
                    .map(|attribute| (attribute.name.to_lowercase(), attribute.value.to_owned()))
                    .collect();
                attributes.sort();
                format!("<{} {attributes:?}>", name.lower())
            }
            Kind::Close(name) => format!("</{}>", name.lower()),
        };
        parts.extend([words.trim_end().to_owned(), part]);
        words.clear();
    }
    parts.push(words.trim_end().to_owned());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Describes the content that a text lost in its new form; `None`: nothing visible is lost.
pub fn shrank(before: &str, after: &str) -> Option<String> {
    let lost_text = characters(before).saturating_sub(characters(after));
    let kept = kinds(after);
    let lost: Vec<_> = kinds(before)
        .into_iter()
        .filter_map(|(name, count)| {
            let lost = count.saturating_sub(kept.get(&name).copied().unwrap_or(0));
            (lost > 0).then(|| match lost {
                1 => format!("<{name}>"),
                lost => format!("{lost} × <{name}>"),
            })
        })
        .collect();
    let text = match lost_text {
        0 => None,
        1 => Some("1 character of visible text".to_owned()),
        lost => Some(format!("{lost} characters of visible text")),
    };
    let parts: Vec<_> = text.into_iter().chain(lost).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Counts the characters that a reader sees, without white space.
fn characters(text: &str) -> usize {
    let mut count = 0;
    let mut hidden = false;
    for token in tokens(text) {
        match token.kind {
            Kind::RawText if hidden => {}
            Kind::Text | Kind::RawText => {
                let text = decoded(token.source);
                count += text.chars().filter(|char| !char.is_whitespace()).count();
            }
            // Among the elements with raw content, only a text area is visible.
            Kind::Open(name) | Kind::SelfClosing(name) | Kind::Close(name) => {
                hidden = !name.is("textarea");
            }
            Kind::Comment | Kind::Unfinished => {}
        }
    }
    count
}

/// Counts elements by name, in lower case; elements that look alike share a name.
fn kinds(text: &str) -> BTreeMap<Cow<'_, str>, usize> {
    let mut counts = BTreeMap::new();
    for token in tokens(text) {
        if let Kind::Open(name) | Kind::SelfClosing(name) = token.kind {
            let name = name.lower();
            let kind = match &*name {
                "b" => "strong".into(),
                "i" => "em".into(),
                "s" | "strike" => "del".into(),
                _ => name,
            };
            *counts.entry(kind).or_insert(0) += 1;
        }
    }
    counts
}

fn push_collapsed(words: &mut String, text: &str) {
    for character in text.chars() {
        if !character.is_whitespace() {
            words.push(character);
        } else if !words.is_empty() && !words.ends_with(' ') {
            words.push(' ');
        }
    }
}

/// Parses the character reference at the start of a text: the character and the reference's length.
fn reference(text: &str) -> Option<(char, usize)> {
    let end = text
        .bytes()
        .take(LONGEST_REFERENCE + 2)
        .position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let character = if let Some(number) = name.strip_prefix('#') {
        let number = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        char::from_u32(number.ok()?).unwrap_or(char::REPLACEMENT_CHARACTER)
    } else {
        match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            "nbsp" => '\u{a0}',
            _ if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                char::REPLACEMENT_CHARACTER
            }
            _ => return None,
        }
    };
    Some((character, end + 1))
}
