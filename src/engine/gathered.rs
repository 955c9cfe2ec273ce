//! The values that one cycle gathers, and that end with it.

use super::backoff::Answer;
use super::memory::Memory;
use crate::model::ArticleId;
use crate::state::{FigureRow, Target};
use std::collections::BTreeMap;

/// The values that one cycle gathers.
#[derive(Default)]
pub(super) struct Gathered {
    /// Views and ratings that came along.
    pub(super) figures: BTreeMap<ArticleId, FigureRow>,
    /// The questions to the service, and the answers; `None`: it is asked again in the next cycle.
    pub(super) answers: BTreeMap<Target, Option<Answer>>,
    /// Whether a probe was refused, of which a dry run stores nothing.
    pub(super) probe_refused: bool,
    /// The reason that a look at a pending request failed: nothing is deleted in this cycle.
    pub(super) failed_look: Option<String>,
    /// The meaning of the entries of the last listing, once it was read.
    pub(super) memory: Option<Memory>,
}
