//! `GET /api/base/{id}/articles` in every plausible shape (A4.5).
//!
//! The JSON of each article is cached, because tests list the same articles again and again. An answer is a stream of
//! cached chunks, so it needs almost no memory of its own.

use super::{
    options::{Options, Paging, Shape},
    store::{Article, Category, Store, Workspace},
    wire,
};
use axum::body::Bytes;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};
use uuid::Uuid;

/// The cached JSON of articles in listings.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache(HashMap<Uuid, (Weak<Article>, Bytes)>);

impl Cache {
    /// Returns the JSON of `article`; it is rebuilt if the article has changed.
    fn piece(&mut self, article: &Arc<Article>, bodies: bool) -> serde_json::Result<Bytes> {
        if let Some((version, piece)) = self.0.get(&article.id)
            && version.as_ptr() == Arc::as_ptr(article)
        {
            return Ok(piece.clone());
        }
        let piece = Bytes::from(serde_json::to_vec(&wire::read_article(article, bodies))?);
        self.0
            .insert(article.id, (Arc::downgrade(article), piece.clone()));
        Ok(piece)
    }
}

/// The requested page, and the address of the service.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// The number of the page, from 1.
    pub(super) page: usize,
    /// The address without its query, for links to other pages.
    pub(super) address: String,
}

/// Writes one page of a workspace's articles as of `store`, as chunks of JSON.
pub(super) fn page(
    store: &Store,
    options: &Options,
    cache: &mut Cache,
    workspace: &Workspace,
    asked: &Asked,
) -> serde_json::Result<Vec<Bytes>> {
    let all: Vec<&Arc<Article>> = store.listed_in_workspace(options, workspace.id).collect();
    let size = match options.paging {
        Paging::None => all.len().max(1),
        Paging::NextPageUrl | Paging::LinksNext | Paging::Meta => options.page_size.max(1),
    };
    let shown: Vec<&Arc<Article>> = all
        .iter()
        .skip(asked.page.saturating_sub(1).saturating_mul(size))
        .take(size)
        .copied()
        .collect();
    let paging = paging(options.paging, asked, size, all.len());
    let mut pieces = Vec::with_capacity(shown.len() * 2 + 2);
    match options.shape {
        Shape::CategoriesArticles => {
            pieces.push(Bytes::from_static(br#"{"success":true,"categories":["#));
            for (number, group) in groups(store, options, workspace, &shown).iter().enumerate() {
                let comma = if number > 0 { "," } else { "" };
                let head = format!("{comma}{}", open(&wire::category(group.0), "articles")?);
                pieces.push(Bytes::from(head));
                push_all(&mut pieces, cache, &group.1, options.bodies)?;
                pieces.push(Bytes::from_static(b"]}"));
            }
            pieces.push(Bytes::from(format!("]{paging}}}")));
        }
        Shape::Articles
        | Shape::Data
        | Shape::BaseArticles
        | Shape::BaseArrayArticles
        | Shape::DataData => {
            let (head, tail) = frame(options.shape, workspace, &paging)?;
            pieces.push(Bytes::from(head));
            push_all(&mut pieces, cache, &shown, options.bodies)?;
            pieces.push(Bytes::from(tail));
        }
    }
    Ok(pieces)
}

/// Returns the JSON before and after the articles.
fn frame(
    shape: Shape,
    workspace: &Workspace,
    paging: &str,
) -> serde_json::Result<(String, String)> {
    let base = open(&wire::base(workspace), "articles")?;
    let (head, tail) = match shape {
        Shape::Articles | Shape::CategoriesArticles => {
            (r#""articles":["#.to_owned(), format!("]{paging}"))
        }
        Shape::Data => (r#""data":["#.to_owned(), format!("]{paging}")),
        Shape::BaseArticles => (format!(r#""base":{base}"#), format!("]}}{paging}")),
        Shape::BaseArrayArticles => (format!(r#""base":[{base}"#), format!("]}}]{paging}")),
        Shape::DataData => (r#""data":{"data":["#.to_owned(), format!("]{paging}}}")),
    };
    Ok((format!(r#"{{"success":true,{head}"#), format!("{tail}}}")))
}

/// Returns the JSON of an object, up to the inside of an additional list.
fn open(object: &Value, list: &str) -> serde_json::Result<String> {
    let mut text = serde_json::to_string(object)?;
    text.pop();
    text.push_str(",\"");
    text.push_str(list);
    text.push_str("\":[");
    Ok(text)
}

fn push_all(
    pieces: &mut Vec<Bytes>,
    cache: &mut Cache,
    articles: &[&Arc<Article>],
    bodies: bool,
) -> serde_json::Result<()> {
    for (number, article) in articles.iter().enumerate() {
        if number > 0 {
            pieces.push(Bytes::from_static(b","));
        }
        pieces.push(cache.piece(article, bodies)?);
    }
    Ok(())
}

/// Returns the categories with their visible articles; a listing without pages has empty categories, too.
fn groups<'a>(
    store: &'a Store,
    options: &Options,
    workspace: &Workspace,
    shown: &[&'a Arc<Article>],
) -> Vec<(&'a Category, Vec<&'a Arc<Article>>)> {
    let mut by_category: HashMap<Uuid, Vec<&Arc<Article>>> = HashMap::new();
    for article in shown {
        by_category
            .entry(article.category_id)
            .or_default()
            .push(article);
    }
    store
        .categories()
        .iter()
        .filter(|one| one.workspace == workspace.id)
        .map(|one| (one, by_category.remove(&one.id).unwrap_or_default()))
        .filter(|(_, articles)| options.paging == Paging::None || !articles.is_empty())
        .collect()
}

/// Returns the fields about other pages, with a comma before each.
fn paging(paging: Paging, asked: &Asked, size: usize, total: usize) -> String {
    let last = total.div_ceil(size).max(1);
    let link = |page: usize| json!(format!("{}?page={page}", asked.address));
    let next = if asked.page < last {
        link(asked.page + 1)
    } else {
        Value::Null
    };
    match paging {
        Paging::None => String::new(),
        Paging::NextPageUrl => format!(
            r#","current_page":{},"per_page":{size},"total":{total},"next_page_url":{next}"#,
            asked.page
        ),
        Paging::LinksNext => format!(
            r#","links":{}"#,
            json!({"first": link(1), "last": link(last), "next": next})
        ),
        Paging::Meta => format!(
            r#","meta":{}"#,
            json!({"current_page": asked.page, "last_page": last, "per_page": size, "total": total})
        ),
    }
}
