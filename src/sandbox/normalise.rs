//! Rewrites texts as a service may before it stores them: each habit of [`Normalise`] in its simplest form.
//!
//! A second pass changes nothing.

use super::options::Normalise;

/// Rewrites a string.
pub(super) fn tidy(normalise: Normalise, text: String) -> String {
    if normalise.trim {
        text.trim().to_owned()
    } else {
        text
    }
}

/// Rewrites the text of an article.
pub(super) fn clean(normalise: Normalise, text: String) -> String {
    let mut text = tidy(normalise, text);
    if normalise.sanitise {
        for element in ["script", "style", "iframe"] {
            text = without_element(&text, element);
        }
        text = without_event_attributes(&text)
            .replace("<b>", "<strong>")
            .replace("</b>", "</strong>");
    }
    if normalise.one_line {
        text = one_line(&text);
    }
    text
}

fn without_element(text: &str, name: &str) -> String {
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(&open) {
        kept.push_str(&rest[..start]);
        rest = rest[start..]
            .find(&close)
            .map_or("", |end| &rest[start + end + close.len()..]);
    }
    kept + rest
}

/// Drops ` on…="…"` inside tags.
fn without_event_attributes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(" on") {
        let inside_tag = text_before_is_open(&kept, &rest[..start]);
        let after = &rest[start + 3..];
        let name = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        let value = after[name..].strip_prefix("=\"");
        match value.and_then(|value| value.split_once('"')) {
            Some((_, behind)) if inside_tag && name > 0 => {
                kept.push_str(&rest[..start]);
                rest = behind;
            }
            Some(_) | None => {
                kept.push_str(&rest[..start + 3]);
                rest = after;
            }
        }
    }
    kept + rest
}

/// Returns whether the text so far ends inside a tag.
fn text_before_is_open(kept: &str, more: &str) -> bool {
    let opened = more
        .rfind('<')
        .map(|at| kept.len() + at)
        .or(kept.rfind('<'));
    let closed = more
        .rfind('>')
        .map(|at| kept.len() + at)
        .or(kept.rfind('>'));
    opened > closed
}

fn one_line(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for (number, part) in text.split('>').enumerate() {
        if number > 0 {
            kept.push('>');
        }
        let bare = part.trim_start();
        kept.push_str(
            if number > 0 && (bare.is_empty() || bare.starts_with('<')) {
                bare
            } else {
                part
            },
        );
    }
    kept
}
