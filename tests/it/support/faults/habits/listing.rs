//! The listing in every plausible shape (A4.5), and the address without a listing.

use super::super::spoil::whole;
use super::{Habits, replaced, without_texts};
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, Method, StatusCode, Uri, header},
    response::Response,
};
use chrono::SecondsFormat;
use kbsync::sandbox::{Category, Sandbox, Workspace};
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The place of the articles in the listing (A4.5: not shown).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Shape {
    /// `{"articles": […]}`
    #[default]
    Articles,
    /// `{"data": […]}`
    Data,
    /// `{"base": {…, "articles": […]}}`
    BaseArticles,
    /// `{"base": [{…, "articles": […]}]}`
    BaseArrayArticles,
    /// `{"categories": [{…, "articles": […]}, …]}`
    CategoriesArticles,
    /// `{"data": {"data": […]}}`; the fields about pages are inside the outer `data`.
    DataData,
}

/// The pages of a listing (A4.5: not shown).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Paging {
    /// No pages.
    #[default]
    None,
    /// `"next_page_url": "http://…?page=2"`, null on the last page.
    NextPageUrl,
    /// `"links": {"next": "http://…?page=2"}`, null on the last page.
    LinksNext,
    /// `"meta": {"current_page": 1, "last_page": 3}`
    Meta,
}

impl Paging {
    /// All kinds of pages.
    pub(crate) const ALL: [Self; 4] = [Self::None, Self::NextPageUrl, Self::LinksNext, Self::Meta];
}

/// Whether `GET /api/base/{id}/articles` exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ListingEndpoint {
    /// The endpoint exists.
    #[default]
    Present,
    /// The endpoint does not exist, and this is the status: 404, 405 or 501. The body has no `success`, as at any
    /// unknown address.
    Missing(u16),
}

/// The requested page of a listing.
pub(super) struct Asked {
    /// The workspace, as written.
    workspace: String,
    /// The number of the page, from 1.
    page: usize,
    /// The path.
    path: String,
    /// The address without its query, for links to other pages.
    address: String,
    /// The `If-None-Match`.
    known: Option<HeaderValue>,
}

impl Asked {
    /// Returns the page that a request asks for; `None`: it does not ask for a listing.
    pub(super) fn of(habits: &Habits, request: &Request) -> Option<Self> {
        let path = request.uri().path();
        if request.method() != Method::GET {
            return None;
        }
        let workspace = path.strip_prefix("/api/base/")?.strip_suffix("/articles")?;
        let host = request.headers().get(header::HOST);
        let host = host.and_then(|host| host.to_str().ok());
        let origin = habits.page_origin.clone();
        let origin = origin.unwrap_or_else(|| format!("http://{}", host.unwrap_or("localhost")));
        Some(Self {
            workspace: workspace.to_owned(),
            page: page_number(request.uri()),
            path: path.to_owned(),
            address: origin + path,
            known: request.headers().get(header::IF_NONE_MATCH).cloned(),
        })
    }

    /// Turns the sandbox's listing into the answer that the habits ask for.
    pub(super) async fn answer(
        &self,
        habits: &Habits,
        sandbox: &Sandbox,
        response: Response,
    ) -> Response {
        if let ListingEndpoint::Missing(status) = habits.listing_endpoint {
            let message = format!("The route {} could not be found.", self.path);
            return replaced(response, status, &json!({ "message": message }));
        }
        if response.status() != StatusCode::OK {
            return response;
        }
        let (mut parts, listed) = whole(response).await;
        let mut listed: Value = serde_json::from_slice(&listed).expect("JSON");
        if !habits.bodies {
            without_texts(&mut listed["articles"]);
        }
        let articles = listed["articles"].as_array().expect("a list");
        let page = self.page(habits, sandbox, articles);
        if !habits.etag {
            return Response::from_parts(parts, Body::from(page));
        }
        let etag = self.etag(&page);
        let is_known =
            (self.known.as_ref()).is_some_and(|known| known.as_bytes() == etag.as_bytes());
        parts.headers.insert(header::ETAG, etag);
        if is_known {
            parts.status = StatusCode::NOT_MODIFIED;
            parts.headers.remove(header::CONTENT_TYPE);
            return Response::from_parts(parts, Body::empty());
        }
        Response::from_parts(parts, Body::from(page))
    }

    fn etag(&self, page: &str) -> HeaderValue {
        let mut hasher = DefaultHasher::new();
        (self.page, page).hash(&mut hasher);
        let etag = format!("\"{:x}\"", hasher.finish());
        HeaderValue::try_from(etag).expect("a header")
    }

    /// Writes the page in the shape that the habits ask for.
    fn page(&self, habits: &Habits, sandbox: &Sandbox, all: &[Value]) -> String {
        let size = match habits.paging {
            Paging::None => all.len().max(1),
            Paging::NextPageUrl | Paging::LinksNext | Paging::Meta => habits.page_size,
        };
        let skipped = self.page.saturating_sub(1).saturating_mul(size);
        let shown: Vec<&Value> = all.iter().skip(skipped).take(size).collect();
        let paging = self.paging(habits.paging, size, all.len());
        let articles = list(&shown);
        let inner = match habits.shape {
            Shape::Articles => format!(r#""articles":{articles}{paging}"#),
            Shape::Data => format!(r#""data":{articles}{paging}"#),
            Shape::BaseArticles => {
                let base = with(&self.base(sandbox), &articles);
                format!(r#""base":{base}{paging}"#)
            }
            Shape::BaseArrayArticles => {
                let base = with(&self.base(sandbox), &articles);
                format!(r#""base":[{base}]{paging}"#)
            }
            Shape::CategoriesArticles => {
                let groups = self.groups(habits, sandbox, &shown).join(",");
                format!(r#""categories":[{groups}]{paging}"#)
            }
            Shape::DataData => format!(r#""data":{{"data":{articles}{paging}}}"#),
        };
        format!(r#"{{"success":true,{inner}}}"#)
    }

    /// Returns the workspace's JSON.
    fn base(&self, sandbox: &Sandbox) -> Value {
        let mut all = sandbox.workspaces().into_iter();
        let found = all.find(|one| one.id.to_string() == self.workspace);
        base(&found.expect("a listing is of a workspace"))
    }

    /// Returns the categories with their articles; a listing without pages has empty categories, too.
    fn groups(&self, habits: &Habits, sandbox: &Sandbox, shown: &[&Value]) -> Vec<String> {
        let categories = sandbox.categories().into_iter();
        categories
            .filter(|one| one.workspace.to_string() == self.workspace)
            .map(|one| {
                let mut own = shown.to_vec();
                own.retain(|article| article["category_id"] == json!(one.id));
                (one, own)
            })
            .filter(|(_, own)| habits.paging == Paging::None || !own.is_empty())
            .map(|(one, own)| with(&category(&one), &list(&own)))
            .collect()
    }

    /// Returns the fields about other pages, with a comma before each.
    fn paging(&self, paging: Paging, size: usize, total: usize) -> String {
        let page = self.page;
        let last = total.div_ceil(size).max(1);
        let link = |page: usize| json!(format!("{}?page={page}", self.address));
        let next = if page < last {
            link(page + 1)
        } else {
            Value::Null
        };
        match paging {
            Paging::None => String::new(),
            Paging::NextPageUrl => format!(
                r#","current_page":{page},"per_page":{size},"total":{total},"next_page_url":{next}"#
            ),
            Paging::LinksNext => format!(
                r#","links":{}"#,
                json!({"first": link(1), "last": link(last), "next": next})
            ),
            Paging::Meta => format!(
                r#","meta":{}"#,
                json!({"current_page": page, "last_page": last, "per_page": size, "total": total})
            ),
        }
    }
}

fn page_number(uri: &Uri) -> usize {
    let mut pairs = uri.query().unwrap_or_default().split('&');
    let page = pairs.find_map(|pair| pair.strip_prefix("page=")?.parse().ok());
    page.unwrap_or(1).max(1)
}

fn list(articles: &[&Value]) -> String {
    let articles: Vec<String> = articles.iter().map(ToString::to_string).collect();
    format!("[{}]", articles.join(","))
}

/// Returns the JSON of an object with its articles at the end.
fn with(object: &Value, articles: &str) -> String {
    let mut text = object.to_string();
    text.pop();
    format!(r#"{text},"articles":{articles}}}"#)
}

/// A workspace (A2.1).
fn base(workspace: &Workspace) -> Value {
    json!({
        "id": workspace.id,
        "public": 1,
        "name": workspace.name,
        "description": workspace.description,
        "meta_description": workspace.meta_description,
        "custom_domain": workspace.custom_domain,
        "custom_domain_active": u8::from(workspace.custom_domain.is_some()),
        "allow_bots": 1,
        "custom_css": null,
        "theme": "default",
    })
}

/// A category without its articles (A2.2).
fn category(category: &Category) -> Value {
    let updated_at = category.updated_at;
    json!({
        "id": category.id,
        "base_id": category.workspace,
        "name": category.name,
        "description": category.description,
        "meta_description": category.meta_description,
        "slug": category.slug,
        "updated_at": updated_at.to_rfc3339_opts(SecondsFormat::Micros, true),
    })
}
