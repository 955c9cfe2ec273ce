//! A service that rewrites what it is sent before it stores it: each habit in its simplest form.
//!
//! A second pass changes nothing.

use axum::body::Bytes;
use serde_json::Value;

/// How the service rewrites what it is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent habits that tests combine"
)]
pub(crate) struct Normalise {
    /// White space at both ends of every string is dropped.
    pub(crate) trim: bool,
    /// `script`, `style` and `iframe` elements and `on…` attributes leave the text; `<b>` becomes `<strong>`.
    pub(crate) sanitise: bool,
    /// White space between tags leaves the text: one endless line, as web editors write it.
    pub(crate) one_line: bool,
    /// Slugs are stored in lower case.
    pub(crate) lowercase_slug: bool,
    /// An empty string is stored as null where null is allowed.
    pub(crate) empty_as_null: bool,
}

impl Normalise {
    /// Every habit.
    pub(crate) const ALL: Self = Self {
        trim: true,
        sanitise: true,
        one_line: true,
        lowercase_slug: true,
        empty_as_null: true,
    };

    /// Rewrites the body of a request, if it is a JSON object.
    pub(super) fn rewrite(self, body: Bytes) -> Bytes {
        let Ok(Value::Object(mut fields)) = serde_json::from_slice(&body) else {
            return body;
        };
        for (name, value) in &mut fields {
            if let Value::String(text) = value {
                *value = self.field(name, text);
            }
        }
        Value::Object(fields).to_string().into()
    }

    fn field(self, name: &str, text: &str) -> Value {
        let text = if self.trim { text.trim() } else { text };
        match name {
            "text" => Value::from(self.clean(text)),
            "slug" if self.lowercase_slug => Value::from(text.to_lowercase()),
            // A null is refused just as an empty string where neither is allowed.
            _ if self.empty_as_null && text.is_empty() => Value::Null,
            _ => Value::from(text),
        }
    }

    /// Rewrites the text of an article.
    fn clean(self, text: &str) -> String {
        let mut text = text.to_owned();
        if self.sanitise {
            for element in ["script", "style", "iframe"] {
                text = without_element(&text, element);
            }
            text = without_event_attributes(&text)
                .replace("<b>", "<strong>")
                .replace("</b>", "</strong>");
        }
        if self.one_line {
            text = one_line(&text);
        }
        text
    }
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
