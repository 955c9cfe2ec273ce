//! The envelope of a listing: whether the listing is complete, and where it continues. Pure.
//!
//! The service's documentation does not show the envelope's shape (`docs/api.md`, A4.5), so every shape of that fact is
//! accepted. An unknown shape is an error that names the keys: it is never taken for an empty or a complete listing.

use super::{
    answer::{LONGEST_MESSAGE, shown},
    splitter_types::{Envelope, Path, Step},
    wire::as_flag,
};
use crate::model::WorkspaceId;
use serde_json::{Map, Value};

/// The paths at which a listing may have its articles.
pub(super) const LISTING: &[Path] = &[
    path(&[Step::Key("articles")]),
    path(&[Step::Key("data")]),
    path(&[Step::Key("base"), Step::Key("articles")]),
    path(&[Step::Key("base"), Step::Any, Step::Key("articles")]),
    path(&[Step::Key("data"), Step::Key("data")]),
    path(&[Step::Key("articles"), Step::Key("data")]),
    path(&[Step::Key("data"), Step::Key("articles")]),
    Path {
        steps: &[Step::Key("categories"), Step::Any, Step::Key("articles")],
        owned: true,
    },
];

/// The index of `categories[].articles` in [`LISTING`].
const BY_CATEGORY: usize = 7;

/// The paths at which a category's answer has its articles (A4.3).
pub(super) const CATEGORY: &[Path] = &[
    path(&[Step::Key("category"), Step::Key("articles")]),
    path(&[Step::Key("category"), Step::Any, Step::Key("articles")]),
];

const fn path(steps: &'static [Step]) -> Path {
    Path {
        steps,
        owned: false,
    }
}

/// Keys that announce more pages in an unknown way, unless they are empty.
const MORE: [&str; 10] = [
    "has_more",
    "has_more_pages",
    "hasMore",
    "hasMorePages",
    "next_cursor",
    "nextCursor",
    "next_page",
    "nextPage",
    "nextPageUrl",
    "next",
];

/// Keys of the number of a page.
const CURRENT: [&str; 2] = ["current_page", "currentPage"];

/// Keys of the number of the last page.
const LAST: [&str; 6] = [
    "last_page",
    "lastPage",
    "total_pages",
    "totalPages",
    "page_count",
    "pageCount",
];

/// Objects that may say where a listing continues, at any depth. Numbers in other objects say nothing about pages.
const PAGERS: [&str; 9] = [
    "articles",
    "data",
    "meta",
    "page",
    "pager",
    "pages",
    "pagination",
    "paginator",
    "paging",
];

/// One page of a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Page {
    /// The position of the next page.
    pub(super) next: Next,
    /// The number of all articles, if the answer names it.
    pub(super) total: Option<u64>,
    /// The number of this page, if the answer names it.
    pub(super) current: Option<u64>,
    /// The number of pages to come, if the answer names it.
    pub(super) left: u64,
}

/// The continuation of a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// This was the last page.
    End,
    /// At this address, which may be relative.
    Address(String),
    /// At the page of this number.
    Number(u64),
}

/// Parses the envelope of a page. `linked`: the next page's address in a `Link` header.
pub(super) fn read_page(
    envelope: &Envelope,
    workspace: WorkspaceId,
    linked: Option<String>,
) -> Result<Page, String> {
    let root = read_root(envelope)?;
    check_shape(&root, envelope, workspace)?;
    let mut pagers = Vec::new();
    add_pagers(&root, &mut pagers);
    let current = number(&pagers, &CURRENT);
    let last = number(&pagers, &LAST);
    let address = next_address(&pagers)?.or(linked);
    let next = match (address, current, last) {
        (Some(address), _, _) => Next::Address(address),
        (None, Some(current), Some(last)) if current < last => Next::Number(current + 1),
        (None, None, Some(last)) if last > 1 => Next::Number(2),
        (None, _, _) => Next::End,
    };
    if next == Next::End {
        let more = MORE
            .into_iter()
            .find(|key| find(&pagers, key).is_some_and(is_something));
        if let Some(key) = more {
            return Err(format!(
                "the listing has more pages ({key}) in an unknown way"
            ));
        }
    }
    Ok(Page {
        total: number(&pagers, &["total"]),
        current,
        left: last
            .filter(|_| next != Next::End)
            .map_or(0, |last| last.saturating_sub(current.unwrap_or(1))),
        next,
    })
}

/// Parses the envelope of a category's answer, and returns the category as JSON.
pub(super) fn read_category(envelope: &Envelope) -> Result<Value, String> {
    let root = read_root(envelope)?;
    if envelope.arrays.iter().sum::<usize>() != 1 {
        return Err(format!(
            "the category's answer does not have exactly one list of articles; it has the keys {}",
            keys(&root)
        ));
    }
    Ok(Value::Object(root))
}

fn read_root(envelope: &Envelope) -> Result<Map<String, Value>, String> {
    let root: Value = serde_json::from_slice(&envelope.json)
        .map_err(|error| format!("no readable JSON around the articles: {error}"))?;
    let Value::Object(root) = root else {
        return Err("no JSON object".to_owned());
    };
    let success = root.get("success").map(Value::to_string);
    if success.as_deref().and_then(as_flag) != Some(true) {
        let said = root.get("message").and_then(Value::as_str);
        let said = said.map_or_else(String::new, |said| {
            format!(": {}", shown(said, LONGEST_MESSAGE))
        });
        return Err(format!(
            "an answer without success: true{said}; it has the keys {}",
            keys(&root)
        ));
    }
    Ok(root)
}

/// Checks that every list of articles was found, and belongs to the requested workspace.
fn check_shape(
    root: &Map<String, Value>,
    envelope: &Envelope,
    workspace: WorkspaceId,
) -> Result<(), String> {
    let met: usize = envelope.arrays.iter().sum();
    let nested = envelope.arrays.get(BY_CATEGORY).copied().unwrap_or(0);
    let categories = root.get("categories").and_then(Value::as_array);
    let flat = met > nested;
    let by_category = categories.is_some_and(|categories| categories.len() == nested);
    if !flat && !by_category {
        return Err(format!(
            "the answer has no list of articles under a known key; it has the keys {}",
            keys(root)
        ));
    }
    let bases = match root.get("base") {
        Some(Value::Array(bases)) => bases.iter().collect(),
        Some(base @ Value::Object(_)) => vec![base],
        Some(_) | None => vec![],
    };
    let strange = bases
        .into_iter()
        .filter_map(|base| base.get("id")?.as_str())
        .find(|id| id.parse::<WorkspaceId>() != Ok(workspace));
    match strange {
        Some(id) => Err(format!("a listing of another workspace: {}", shown(id, 60))),
        None => Ok(()),
    }
}

/// Adds the objects that may say where the listing continues.
fn add_pagers<'a>(object: &'a Map<String, Value>, pagers: &mut Vec<&'a Map<String, Value>>) {
    pagers.push(object);
    for (name, inner) in object {
        if let Value::Object(inner) = inner
            && PAGERS.contains(&name.as_str())
        {
            add_pagers(inner, pagers);
        }
    }
}

fn find<'a>(pagers: &[&'a Map<String, Value>], key: &str) -> Option<&'a Value> {
    pagers
        .iter()
        .filter_map(|pager| pager.get(key))
        .find(|value| !value.is_null())
}

/// Returns a number under one of these keys; it may be written as a string.
fn number(pagers: &[&Map<String, Value>], keys: &[&str]) -> Option<u64> {
    let value = keys.iter().find_map(|key| find(pagers, key))?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Returns `next_page_url`, `links.next` or `_links.next`: an address, or an object with one as its `href`.
fn next_address(pagers: &[&Map<String, Value>]) -> Result<Option<String>, String> {
    let links = pagers
        .iter()
        .flat_map(|pager| ["links", "_links"].map(|name| pager.get(name)))
        .filter_map(|links| links?.get("next"))
        .find(|next| !next.is_null());
    let next = find(pagers, "next_page_url").or(links);
    match next.map(|next| next.get("href").unwrap_or(next)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(address)) if address.is_empty() => Ok(None),
        Some(Value::String(address)) => Ok(Some(address.clone())),
        Some(_) => Err("the listing's next page is not an address".to_owned()),
    }
}

/// Returns the address with `rel="next"` in a `Link` header.
pub(super) fn linked_next(header: &str) -> Option<String> {
    let mut links = header.split('<').skip(1);
    links.find_map(|link| {
        let (address, parameters) = link.split_once('>')?;
        let mut parameters = parameters.split([';', ',']);
        let is_next = parameters.any(|parameter| {
            let relations = parameter.trim().strip_prefix("rel=").unwrap_or_default();
            let mut relations = relations.trim_matches(['"', '\'']).split_whitespace();
            relations.any(|relation| relation.eq_ignore_ascii_case("next"))
        });
        is_next.then(|| address.to_owned())
    })
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_u64() != Some(0),
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// Returns the keys of an object and of the objects in it, for messages.
fn keys(root: &Map<String, Value>) -> String {
    let names: Vec<String> = root
        .iter()
        .map(|(key, value)| match value {
            Value::Object(inner) if !inner.is_empty() => {
                let inner: Vec<&str> = inner.keys().map(String::as_str).collect();
                format!("{key}{{{}}}", inner.join(", "))
            }
            Value::Array(_) => format!("{key}[]"),
            Value::Object(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => key.clone(),
        })
        .collect();
    shown(&names.join(", "), 300)
}
