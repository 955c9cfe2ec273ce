//! The pages: overview, category, article, requests.

use super::html::{badges, escape, message, not_found, page, preview};
use crate::sandbox::{
    clock::to_read,
    fields::parse_uuid,
    handle::Sandbox,
    options::TOKEN,
    reply,
    store::{Article, Category},
    world::{RequestRecord, World},
};
use axum::{
    extract::{Path, RawQuery, State},
    http::{HeaderMap, StatusCode, header::HOST},
    response::Response,
};
use std::sync::Arc;
use uuid::Uuid;

/// The number of articles of a category on the overview.
const SHOWN: usize = 25;
/// The number of requests on the overview, and on the page of requests.
const RECENT: usize = 15;
const MANY: usize = 200;
/// The query of a page after its form was saved.
pub(super) const SAVED: &str = "saved";
/// The number of characters of a request's body that are shown.
const BODY: usize = 4000;

fn ok(sandbox: &Sandbox, title: &str, content: &str) -> Response {
    let requests = sandbox.counts().total;
    reply::html(StatusCode::OK, page(title, requests, content))
}

/// The page for an error.
pub(super) fn failed(status: StatusCode, why: &str) -> Response {
    reply::html(status, message("That did not work", why))
}

/// The page for an object that is gone.
pub(super) fn gone() -> Response {
    reply::html(StatusCode::NOT_FOUND, not_found())
}

/// All content, and the last requests.
pub(super) async fn overview(State(sandbox): State<Sandbox>, headers: HeaderMap) -> Response {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let content = {
        let world = sandbox.lock();
        let workspaces: String = world
            .store
            .workspaces()
            .iter()
            .map(|one| workspace(&world, one.id, &one.name, host.unwrap_or_default()))
            .collect();
        format!(
            "{workspaces}<section><h2>New workspace</h2>\
             <form class=\"row\" method=\"post\" action=\"/dashboard/workspace\">\
             <input type=\"text\" name=\"name\" placeholder=\"Name\" required maxlength=\"255\">\
             <button>Create</button></form></section>"
        )
    };
    let recent = requests_table(&sandbox.recent_requests(RECENT));
    ok(
        &sandbox,
        "Sandbox",
        &format!("{content}<section><h2>Last API requests</h2>{recent}</section>"),
    )
}

fn workspace(world: &World, id: Uuid, name: &str, host: &str) -> String {
    let categories: String = world
        .store
        .categories()
        .iter()
        .filter(|one| one.workspace == id)
        .map(|one| category_summary(world, one))
        .collect();
    format!(
        "<section><h2>{}</h2><p>Workspace <code>{id}</code>, in an empty folder:</p>\
         <pre>export KBSYNC_TOKEN={}\nkbsync init --service http://{} --workspace {id}</pre>{categories}\
         <form class=\"row\" method=\"post\" action=\"/dashboard/category\">\
         <input type=\"hidden\" name=\"workspace\" value=\"{id}\">\
         <input type=\"text\" name=\"name\" placeholder=\"New category\" required maxlength=\"255\">\
         <button>Create</button></form></section>",
        escape(name),
        escape(shown_token(world)),
        escape(host)
    )
}

/// Returns the token to show. A chosen token may be valid elsewhere, so it is not shown.
fn shown_token(world: &World) -> &str {
    if world.options.token == TOKEN {
        TOKEN
    } else {
        "…"
    }
}

fn articles_of<'a>(world: &'a World, category: &Category) -> Vec<&'a Arc<Article>> {
    world
        .store
        .articles()
        .filter(|one| one.category_id == category.id)
        .collect()
}

fn category_summary(world: &World, category: &Category) -> String {
    let articles = articles_of(world, category);
    let hidden = articles.len().saturating_sub(SHOWN);
    let more = if hidden > 0 {
        format!(
            "<p><a href=\"/dashboard/category/{}\">{hidden} more</a></p>",
            category.id
        )
    } else {
        String::new()
    };
    let table = articles_table(articles.iter().take(SHOWN).copied());
    format!(
        "<h3><a href=\"/dashboard/category/{}\">{}</a></h3>{table}{more}",
        category.id,
        escape(&category.name)
    )
}

fn articles_table<'a>(articles: impl Iterator<Item = &'a Arc<Article>>) -> String {
    let rows: Vec<String> = articles
        .map(|one| {
            format!(
                "<tr><td><a href=\"/dashboard/article/{}\">{}</a></td><td><code>{}</code></td>\
                 <td>{}</td><td>{}</td></tr>",
                one.id,
                escape(&one.title),
                escape(&one.slug),
                badges(one),
                to_read(one.updated_at)
            )
        })
        .collect();
    if rows.is_empty() {
        return "<p class=\"note\">No articles yet.</p>".to_owned();
    }
    format!(
        "<table><thead><tr><th>Title</th><th>Slug</th><th>State</th><th>Changed (UTC)</th></tr></thead>\
         <tbody>{}</tbody></table>",
        rows.concat()
    )
}

/// A category: its texts, its articles, and a form for a new article.
pub(super) async fn category(
    State(sandbox): State<Sandbox>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(category) = parse_uuid(&id).and_then(|id| sandbox.category(id)) else {
        return gone();
    };
    let table = {
        let world = sandbox.lock();
        articles_table(articles_of(&world, &category).into_iter())
    };
    let content = format!(
        "{saved}{table}<section><h2>New article</h2>\
         <form class=\"row\" method=\"post\" action=\"/dashboard/article\">\
         <input type=\"hidden\" name=\"category\" value=\"{id}\">\
         <input type=\"text\" name=\"title\" placeholder=\"Title\" required maxlength=\"255\">\
         <button>Create a draft</button></form></section>\
         <section><h2>Category</h2><form method=\"post\" action=\"/dashboard/category/{id}\">\
         {name}{slug}{description}{meta}<button>Save</button></form></section>",
        id = category.id,
        saved = saved(query.as_deref()),
        name = input("Name", "name", Some(&category.name)),
        slug = input("Slug", "slug", Some(&category.slug)),
        description = input("Description", "description", category.description.as_ref()),
        meta = input(
            "Description for search engines",
            "meta_description",
            category.meta_description.as_ref()
        ),
    );
    ok(&sandbox, &category.name, &content)
}

/// The note on a page after its form was saved.
fn saved(query: Option<&str>) -> &'static str {
    if query == Some(SAVED) {
        "<p class=\"note\">Saved.</p>"
    } else {
        ""
    }
}

fn input(label: &str, name: &str, value: Option<&String>) -> String {
    format!(
        "<label>{label}<input type=\"text\" name=\"{name}\" value=\"{}\"></label>",
        escape(value.map_or("", String::as_str))
    )
}

/// An article: its state, its texts, and a preview.
pub(super) async fn article(
    State(sandbox): State<Sandbox>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(article) = parse_uuid(&id).and_then(|id| sandbox.article(id)) else {
        return gone();
    };
    let categories: Vec<String> = sandbox
        .categories()
        .iter()
        .map(|one| {
            let selected = if one.id == article.category_id {
                " selected"
            } else {
                ""
            };
            let (id, name) = (one.id, escape(&one.name));
            format!("<option value=\"{id}\"{selected}>{name}</option>")
        })
        .collect();
    // A browser drops the first line end after `<textarea>`; without an extra line end, the text would lose its own.
    let content = format!(
        "{saved}<p>{badges} <code>{id}</code>, changed {changed}, {views} views</p>{states}\
         <form method=\"post\" action=\"/dashboard/article/{id}\">{title}{slug}\
         <label>Category<select name=\"category\">{categories}</select></label>{introtext}{keywords}\
         <label>Text (HTML)<textarea name=\"text\" spellcheck=\"false\">\n{text}</textarea></label>\
         <label class=\"tick\"><input type=\"checkbox\" name=\"enabled\"{ticked}> enabled</label>\
         <button>Save</button></form><section><h2>Preview</h2>{preview}</section>",
        id = article.id,
        saved = saved(query.as_deref()),
        badges = badges(&article),
        changed = to_read(article.updated_at),
        views = article.views,
        states = state_form(&article),
        title = input("Title", "title", Some(&article.title)),
        slug = input("Slug", "slug", Some(&article.slug)),
        introtext = input("Introtext", "introtext", article.introtext.as_ref()),
        keywords = input("Keywords", "keywords", article.keywords.as_ref()),
        categories = categories.concat(),
        text = escape(&article.text),
        ticked = if article.enabled { " checked" } else { "" },
        preview = preview(&article.text),
    );
    ok(&sandbox, &article.title, &content)
}

/// The buttons that change the state of an article.
fn state_form(article: &Article) -> String {
    let button = |to: &str, words: &str| {
        let class = if to == "deleted" { "danger" } else { "plain" };
        format!("<button class=\"{class}\" name=\"to\" value=\"{to}\">{words}</button>")
    };
    let publish = if article.draft {
        button("published", "Publish")
    } else {
        button("draft", "Unpublish")
    };
    let enable = if article.enabled {
        button("disabled", "Disable")
    } else {
        button("enabled", "Enable")
    };
    format!(
        "<form class=\"row\" method=\"post\" action=\"/dashboard/article/{}/state\">{publish}{enable}{}</form>",
        article.id,
        button("deleted", "Delete permanently")
    )
}

/// The last requests, newest first.
pub(super) async fn requests(State(sandbox): State<Sandbox>) -> Response {
    let counts = sandbox.counts();
    let table = requests_table(&sandbox.recent_requests(MANY));
    let content = format!(
        "<p>{} GET, {} POST, {} PUT, {} DELETE.</p>{table}",
        counts.get, counts.post, counts.put, counts.delete
    );
    ok(&sandbox, "API requests", &content)
}

fn requests_table(requests: &[RequestRecord]) -> String {
    if requests.is_empty() {
        return "<p class=\"note\">None yet.</p>".to_owned();
    }
    let rows: Vec<String> = requests
        .iter()
        .map(|one| {
            let status = match one.status {
                0 => "dropped".to_owned(),
                status => status.to_string(),
            };
            format!(
                "<tr><td>{}</td><td>{}</td><td>{}</td><td><code>{}</code>{}</td><td>{status}</td></tr>",
                one.number,
                to_read(one.at),
                escape(&one.method),
                escape(&one.path),
                request_body(&one.body)
            )
        })
        .collect();
    format!(
        "<table><thead><tr><th>No.</th><th>Time (UTC)</th><th>Method</th><th>Path and body</th><th>Status</th></tr></thead>\
         <tbody>{}</tbody></table>",
        rows.concat()
    )
}

fn request_body(body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    let shown: String = body.chars().take(BODY).collect();
    let rest = if shown.len() < body.len() { "…" } else { "" };
    format!(
        "<details><summary>{} bytes</summary><pre>{}{rest}</pre></details>",
        body.len(),
        escape(&shown)
    )
}
