//! Measures the visible content of a text, so that kbsync notices content that the service dropped.
//!
//! A service may serialise the same page differently (`&uuml;` for `ü`, `<strong>` for `<b>`, other white space);
//! nothing is lost then.

use super::{Kind, tokens};
use std::{borrow::Cow, collections::BTreeMap};

/// The longest character reference, in bytes between `&` and `;`.
const LONGEST_REFERENCE: usize = 32;

/// Counts the elements of a text by name, in lower case.
pub fn elements(text: &str) -> BTreeMap<Cow<'_, str>, usize> {
    let mut counts = BTreeMap::new();
    for token in tokens(text) {
        if let Kind::Open(name) | Kind::SelfClosing(name) = token.kind {
            *counts.entry(name.lower()).or_insert(0) += 1;
        }
    }
    counts
}

/// Returns the text that a reader sees: no markup, white space collapsed, a space between blocks.
///
/// Character references are resolved as in [`decoded`].
pub fn visible_text(text: &str) -> String {
    let mut visible = String::with_capacity(text.len() / 2);
    let mut hidden = false;
    for token in tokens(text) {
        match token.kind {
            Kind::Text => push_collapsed(&mut visible, &decoded(token.source)),
            Kind::RawText if !hidden => push_collapsed(&mut visible, &decoded(token.source)),
            Kind::Open(name) | Kind::SelfClosing(name) | Kind::Close(name) => {
                // Among the elements with raw content, only a text area is visible.
                hidden = !name.is("textarea");
                if !INLINE.contains(&&*name.lower()) {
                    push_collapsed(&mut visible, " ");
                }
            }
            Kind::RawText | Kind::Comment | Kind::Unfinished => {}
        }
    }
    visible.truncate(visible.trim_end().len());
    visible
}

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
    let characters = |text| {
        let visible = visible_text(text);
        visible.chars().filter(|char| !char.is_whitespace()).count()
    };
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

/// Counts elements; elements that look alike share a name.
fn kinds(text: &str) -> BTreeMap<Cow<'_, str>, usize> {
    let mut counts = BTreeMap::new();
    for (name, count) in elements(text) {
        let kind = match &*name {
            "b" => "strong".into(),
            "i" => "em".into(),
            "s" | "strike" => "del".into(),
            _ => name,
        };
        *counts.entry(kind).or_insert(0) += count;
    }
    counts
}

fn push_collapsed(visible: &mut String, text: &str) {
    for character in text.chars() {
        if !character.is_whitespace() {
            visible.push(character);
        } else if !visible.is_empty() && !visible.ends_with(' ') {
            visible.push(' ');
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

/// The elements within a line of text: the text on both sides of a tag may be one word.
const INLINE: [&str; 31] = [
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img",
    "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
    "time", "tt", "u", "var", "wbr",
];
