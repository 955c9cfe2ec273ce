//! The choices where a fact of `docs/api.md` is not shown.
//!
//! [`Options::default`] is the friendliest service that is plausible. Every field is public: a test writes
//! `Options { shape: Shape::Data, ..Options::default() }`.

use std::collections::HashMap;
use uuid::Uuid;

/// The token that a sandbox accepts unless told otherwise. It is no secret: it opens nothing else.
pub const TOKEN: &str = "sandbox-token";

/// Where the articles are in the answer of the listing endpoint (A4.5: not shown).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shape {
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
    /// `{"data": {"data": […]}}`; what is said of pages is inside the outer `data`.
    DataData,
}

impl Shape {
    /// All of them, for tests that try each.
    pub const ALL: [Self; 6] = [
        Self::Articles,
        Self::Data,
        Self::BaseArticles,
        Self::BaseArrayArticles,
        Self::CategoriesArticles,
        Self::DataData,
    ];
}

/// How a listing is split into pages (A4.5: not shown).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Paging {
    /// Not at all.
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
    /// All of them, for tests that try each.
    pub const ALL: [Self; 4] = [Self::None, Self::NextPageUrl, Self::LinksNext, Self::Meta];
}

/// What the service does to what it is sent, before it keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent habits that tests combine"
)]
pub struct Normalise {
    /// White space at both ends of every string is dropped.
    pub trim: bool,
    /// `script`, `style` and `iframe` elements and `on…` attributes leave the text; `<b>` becomes `<strong>`.
    pub sanitise: bool,
    /// White space between tags leaves the text: one endless line, as web editors write it.
    pub one_line: bool,
    /// Slugs are kept in lower case.
    pub lowercase_slug: bool,
    /// An empty string is kept as null where null is allowed.
    pub empty_as_null: bool,
}

/// The answer to a PUT that changes nothing, `{}`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EmptyPut {
    /// 200 with the article.
    #[default]
    Ok,
    /// 422: at least one field is wanted.
    Refused422,
    /// 403, as a token that may only read gets it.
    Forbidden403,
}

/// The form of a `Retry-After` header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryAfter {
    /// The seconds to wait.
    Seconds(u32),
    /// The date that is as many seconds away.
    HttpDate(u32),
}

/// Whether `GET /api/base/{id}/articles` is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ListingEndpoint {
    /// It is.
    #[default]
    Present,
    /// It is not, and this is the status: 404, 405 or 501. The body has no `success`, since the endpoint is none.
    Missing(u16),
}

/// What a request without a valid token gets when it does not ask for JSON (A5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Login {
    /// 302 to `/login`.
    #[default]
    Redirect,
    /// 200 with the HTML of the login page.
    Page,
}

/// The grain of timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimeGrain {
    /// Every change has a timestamp of its own.
    #[default]
    Micros,
    /// Changes in one second share theirs (the digits after the point are zeros).
    Seconds,
}

/// What a token may do in a workspace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Nothing: 403.
    None,
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
    /// The same, and `GET /api/bases` lists the workspace as one that the caller created.
    Owner,
}

impl Access {
    /// Returns whether it allows reading.
    pub fn reads(self) -> bool {
        match self {
            Self::None => false,
            Self::Read | Self::Write | Self::Owner => true,
        }
    }

    /// Returns whether it allows writing.
    pub fn writes(self) -> bool {
        match self {
            Self::None | Self::Read => false,
            Self::Write | Self::Owner => true,
        }
    }
}

/// The rights of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rights {
    /// The user behind the token: `user_id` of what it creates; rate limits are counted per user.
    pub user: u64,
    /// What it may do where `workspaces` says nothing.
    pub elsewhere: Access,
    /// What it may do in a workspace.
    pub workspaces: HashMap<Uuid, Access>,
}

impl Rights {
    /// The same access to every workspace, as user 1.
    pub fn everywhere(access: Access) -> Self {
        Self {
            user: 1,
            elsewhere: access,
            workspaces: HashMap::new(),
        }
    }

    /// What it may do in `workspace`.
    pub fn access(&self, workspace: Uuid) -> Access {
        self.workspaces
            .get(&workspace)
            .copied()
            .unwrap_or(self.elsewhere)
    }
}

/// All choices.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one independent fact that is not shown"
)]
pub struct Options {
    /// The shape of the listing.
    pub shape: Shape,
    /// The pages of the listing.
    pub paging: Paging,
    /// The articles per page, at least 1.
    pub page_size: usize,
    /// What page addresses begin with instead of `http://` and the `Host` header.
    pub page_origin: Option<String>,
    /// Whether the listing carries `text`.
    pub bodies: bool,
    /// Whether the articles of `GET /api/category/{id}` carry `text`.
    pub category_bodies: bool,
    /// Whether the listing endpoint is there.
    pub listing_endpoint: ListingEndpoint,
    /// Whether listings carry an `ETag` and answer `If-None-Match` with 304.
    pub etag: bool,
    /// Whether `GET /api/article/{id}` answers with disabled articles (not with drafts).
    pub read_disabled: bool,
    /// Whether listings and categories show disabled articles (not drafts).
    pub list_disabled: bool,
    /// What the service does to what it is sent.
    pub normalise: Normalise,
    /// The answer to `PUT {}`.
    pub empty_put: EmptyPut,
    /// Whether a PUT that changes no value gives a new `updated_at`.
    pub touch_unchanged: bool,
    /// The grain of timestamps.
    pub time_grain: TimeGrain,
    /// `enabled` of a new article that does not say.
    pub enabled_default: bool,
    /// `draft` of a new article that does not say.
    pub draft_default: bool,
    /// Whether drafts and disabled articles hold on to their slugs.
    pub slug_checks_drafts: bool,
    /// Whether a slug must be of letters, digits and `-_.~`.
    pub strict_slugs: bool,
    /// Whether 422 answers carry `errors` by field.
    pub error_details: bool,
    /// The largest request body; what is larger gets 413.
    pub max_body: Option<usize>,
    /// Requests per minute and user (a rolling window); 0 turns the limit off.
    pub per_minute: u32,
    /// Requests per day and user (a rolling window); 0 turns the limit off.
    pub per_day: u32,
    /// The status beyond a limit: 429, 403 or 400.
    pub limit_status: u16,
    /// The `Retry-After` beyond a limit.
    pub retry_after: Option<RetryAfter>,
    /// The token that may do everything, as user 1.
    pub token: String,
    /// What requests that are not signed in and do not ask for JSON get.
    pub login: Login,
    /// As many reads after each write through the API still show what was there before it.
    pub stale_reads_after_write: u32,
    /// Makes the ids of all that is created predictable.
    pub id_seed: Option<u64>,
    /// What public addresses (`full_url`) begin with.
    pub public_origin: String,
}

impl Options {
    /// The default without rate limits: for tests of other things.
    pub fn unlimited() -> Self {
        Self {
            per_minute: 0,
            per_day: 0,
            ..Self::default()
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            shape: Shape::default(),
            paging: Paging::default(),
            page_size: 100,
            page_origin: None,
            bodies: true,
            category_bodies: true,
            listing_endpoint: ListingEndpoint::default(),
            etag: false,
            read_disabled: false,
            list_disabled: false,
            normalise: Normalise::default(),
            empty_put: EmptyPut::default(),
            touch_unchanged: false,
            time_grain: TimeGrain::default(),
            enabled_default: true,
            draft_default: false,
            slug_checks_drafts: true,
            strict_slugs: true,
            error_details: true,
            max_body: None,
            per_minute: 60,
            per_day: 1440,
            limit_status: 429,
            retry_after: None,
            token: TOKEN.to_owned(),
            login: Login::default(),
            stale_reads_after_write: 0,
            id_seed: None,
            public_origin: "https://help.example.com".to_owned(),
        }
    }
}
