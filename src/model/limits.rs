//! Settings that govern plans and requests: the limit on deletions, the handling of conflicts, and the limit on
//! requests.

/// The handling of an article that changed on both sides and cannot be merged (`on_conflict`, and `--prefer`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// The article is held for a person.
    Hold,
    /// The file wins.
    Local,
    /// The service wins.
    Remote,
}

/// Setting `max_deletes`: the number of deletions towards one side that need no approval; more are held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaxDeletes {
    /// At most this many.
    pub count: u32,
    /// At most this share of the articles, in percent, but never less than three.
    pub percent: u32,
}

impl Default for MaxDeletes {
    fn default() -> Self {
        Self {
            count: 10,
            percent: 25,
        }
    }
}

impl MaxDeletes {
    /// Returns the limit for a workspace with this number of articles.
    pub fn limit(self, articles: usize) -> usize {
        let share = articles.saturating_mul(self.percent as usize) / 100;
        (self.count as usize).min(share.max(3))
    }
}

/// The limit on requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BudgetLimits {
    /// Requests in a rolling minute.
    pub per_minute: u32,
    /// Requests in a rolling day.
    pub per_day: u32,
    /// The percentage of both limits that polls leave to pushes.
    pub reserve_for_pushes: u32,
}

impl Default for BudgetLimits {
    /// The service's limits (`docs/api.md`, A8.1) and a fifth for pushes.
    fn default() -> Self {
        Self {
            per_minute: 60,
            per_day: 1440,
            reserve_for_pushes: 20,
        }
    }
}
