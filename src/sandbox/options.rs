//! The choices for facts that `docs/api.md` does not show.
//!
//! [`Options::default`] is the friendliest plausible service. Every field is public: a test writes
//! `Options { list_disabled: true, ..Options::default() }`. Choices about requests and answers alone are in
//! `tests/it/support/faults/habits`.

use std::collections::HashMap;
use uuid::Uuid;

/// The default token of a sandbox. It is no secret, because it is valid nowhere else.
pub const TOKEN: &str = "sandbox-token";

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
    /// Whether `GET /api/article/{id}` returns disabled articles (never drafts).
    pub read_disabled: bool,
    /// Whether listings and categories show disabled articles (not drafts).
    pub list_disabled: bool,
    /// Whether a PUT that changes no value gives a new `updated_at`.
    pub touch_unchanged: bool,
    /// The precision of timestamps.
    pub time_grain: TimeGrain,
    /// Whether a slug may have only letters, digits and `-_.~`.
    pub strict_slugs: bool,
    /// Requests per minute and user (a rolling window); 0 turns the limit off.
    pub per_minute: u32,
    /// Requests per day and user (a rolling window); 0 turns the limit off.
    pub per_day: u32,
    /// The token with all rights, as user 1.
    pub token: String,
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
            read_disabled: false,
            list_disabled: false,
            touch_unchanged: false,
            time_grain: TimeGrain::default(),
            strict_slugs: true,
            per_minute: 60,
            per_day: 1440,
            token: TOKEN.to_owned(),
            id_seed: None,
        }
    }
}
