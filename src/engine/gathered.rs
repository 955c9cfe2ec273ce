//! The values that one cycle gathers, and that end with it.

use super::backoff::Answers;
use super::memory::Memory;
use crate::model::ArticleId;
use crate::state::FigureRow;
use std::collections::BTreeMap;

/// The values that one cycle gathers.
#[derive(Default)]
pub(super) struct Gathered {
    /// Views and ratings that came along.
    pub(super) figures: BTreeMap<ArticleId, FigureRow>,
    /// The service's answers to questions.
    pub(super) answers: Answers,
    /// The reason that a look at a pending request failed: nothing is deleted in this cycle.
    pub(super) failed_look: Option<String>,
    /// The meaning of the entries of the last listing, once it was read.
    pub(super) memory: Option<Memory>,
}
