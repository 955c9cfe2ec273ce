//! The choices for facts that `docs/api.md` does not show.
//!
//! [`Options::default`] is the friendliest plausible service. Every field is public: a test writes
//! `Options { shape: Shape::Data, ..Options::default() }`.

use chrono::{TimeDelta, Utc};
use std::{collections::HashMap, fmt};
use uuid::Uuid;

/// The default token of a sandbox. It is no secret, because it is valid nowhere else.
pub const TOKEN: &str = "sandbox-token";

/// The place of the articles in the listing (A4.5: not shown).
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
    /// `{"data": {"data": […]}}`; the fields about pages are inside the outer `data`.
    DataData,
}

impl Shape {
    /// Returns all shapes, for tests that try each.
    pub const ALL: [Self; 6] = [
        Self::Articles,
        Self::Data,
        Self::BaseArticles,
        Self::BaseArrayArticles,
        Self::CategoriesArticles,
        Self::DataData,
    ];
}

/// The pages of a listing (A4.5: not shown).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Paging {
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
    /// Returns all kinds of pages, for tests that try each.
    pub const ALL: [Self; 4] = [Self::None, Self::NextPageUrl, Self::LinksNext, Self::Meta];
}

/// The answer to a PUT that changes nothing, `{}`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EmptyPut {
    /// 200 with the article.
    #[default]
    Ok,
    /// 422: at least one field is required.
    Refused422,
    /// 403, the answer to a token that may only read.
    Forbidden403,
}

/// The form of a `Retry-After` header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryAfter {
    /// The seconds to wait.
    Seconds(u32),
    /// The date this many seconds ahead.
    HttpDate(u32),
}

impl fmt::Display for RetryAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Seconds(seconds) => seconds.fmt(f),
            Self::HttpDate(seconds) => (Utc::now() + TimeDelta::seconds(i64::from(seconds)))
                .format("%a, %d %b %Y %H:%M:%S GMT")
                .fmt(f),
        }
    }
}

/// Whether `GET /api/base/{id}/articles` exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ListingEndpoint {
    /// The endpoint exists.
    #[default]
    Present,
    /// The endpoint does not exist, and this is the status: 404, 405 or 501. The body has no `success`, as at any
    /// unknown address.
    Missing(u16),
}

/// The precision of timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimeGrain {
    /// Every change has its own timestamp.
    #[default]
    Micros,
    /// Changes in the same second have the same timestamp.
    Seconds,
}

/// The rights of a token in a workspace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// No rights: 403.
    None,
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
    /// Reading and writing, and `GET /api/bases` lists the workspace as the caller's own.
    Owner,
}

impl Access {
    /// Returns whether the access allows reading.
    pub fn reads(self) -> bool {
        self != Self::None
    }

    /// Returns whether the access allows writing.
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Owner)
    }
}

/// The rights of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rights {
    /// The user of the token, and the `user_id` of created objects. Rate limits are counted per user.
    pub user: u64,
    /// The rights in workspaces that `workspaces` does not name.
    pub elsewhere: Access,
    /// The rights in single workspaces.
    pub workspaces: HashMap<Uuid, Access>,
}

impl Rights {
    /// Makes rights with the same access to every workspace, as user 1.
    pub fn everywhere(access: Access) -> Self {
        Self {
            user: 1,
            elsewhere: access,
            workspaces: HashMap::new(),
        }
    }

    /// Returns the rights in `workspace`.
    pub fn access(&self, workspace: Uuid) -> Access {
        self.workspaces
            .get(&workspace)
            .copied()
            .unwrap_or(self.elsewhere)
    }
}

/// All options.
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
    /// The beginning of page addresses, in place of `http://` and the `Host` header.
    pub page_origin: Option<String>,
    /// Whether the listing has `text`.
    pub bodies: bool,
    /// Whether the articles of `GET /api/category/{id}` have `text`.
    pub category_bodies: bool,
    /// Whether the listing endpoint exists.
    pub listing_endpoint: ListingEndpoint,
    /// Whether listings carry an `ETag` and answer `If-None-Match` with 304.
    pub etag: bool,
    /// Whether `GET /api/article/{id}` returns disabled articles (never drafts).
    pub read_disabled: bool,
    /// Whether listings and categories show disabled articles (not drafts).
    pub list_disabled: bool,
    /// The answer to `PUT {}`.
    pub empty_put: EmptyPut,
    /// Whether a PUT that changes no value gives a new `updated_at`.
    pub touch_unchanged: bool,
    /// The precision of timestamps.
    pub time_grain: TimeGrain,
    /// Whether a slug may have only letters, digits and `-_.~`.
    pub strict_slugs: bool,
    /// The largest request body; a larger one gets 413.
    pub max_body: Option<usize>,
    /// Requests per minute and user (a rolling window); 0 turns the limit off.
    pub per_minute: u32,
    /// Requests per day and user (a rolling window); 0 turns the limit off.
    pub per_day: u32,
    /// The status beyond a limit: 429, 403 or 400.
    pub limit_status: u16,
    /// The `Retry-After` beyond a limit.
    pub retry_after: Option<RetryAfter>,
    /// The token with all rights, as user 1.
    pub token: String,
    /// The number of stale reads after each write through the API.
    pub stale_reads_after_write: u32,
    /// Makes all new ids predictable.
    pub id_seed: Option<u64>,
}

impl Options {
    /// The default without rate limits, for tests of other things.
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
            empty_put: EmptyPut::default(),
            touch_unchanged: false,
            time_grain: TimeGrain::default(),
            strict_slugs: true,
            max_body: None,
            per_minute: 60,
            per_day: 1440,
            limit_status: 429,
            retry_after: None,
            token: TOKEN.to_owned(),
            stale_reads_after_write: 0,
            id_seed: None,
        }
    }
}
