//! Why a version cannot be brought back. Of many that are wished for, it stops only itself.

use super::{Look, Wish};
use crate::model::ArticleId;
use crate::reconcile::place_in_conflict;
use crate::reconcile::plan::Problem;
use crate::state::Subject;
use std::fmt;

/// Why a version cannot be brought back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// What kind of reason it is.
    pub kind: RefusedKind,
    /// What is in the way.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// What kind of reason it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusedKind {
    /// A person has to decide something else first.
    Undecided,
    /// What was asked for cannot be.
    Impossible,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for Refused {}

/// A wish that is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Where the file is or was.
    pub path: String,
    /// Whose it is.
    pub id: Option<ArticleId>,
    /// Why it is refused.
    pub why: Refused,
}

impl Refusal {
    /// As what was left out while the rest was done.
    pub fn problem(self) -> Problem {
        Problem {
            message: self.why.to_string(),
            path: self.path,
            id: self.id,
        }
    }

    /// All of them in one, where nothing else was wished for; `None`: there is none.
    pub fn all(mut refusals: Vec<Self>) -> Option<Refused> {
        if refusals.len() < 2 {
            return refusals.pop().map(|refusal| refusal.why);
        }
        let undecided = |refusal: &Self| refusal.why.kind == RefusedKind::Undecided;
        let kind = if refusals.iter().all(undecided) {
            RefusedKind::Undecided
        } else {
            RefusedKind::Impossible
        };
        let each = refusals
            .iter()
            .map(|refusal| format!("\n  {}: {}", refusal.path, refusal.why));
        Some(Refused {
            kind,
            message: format!("none of the {} files can be brought back", refusals.len()),
            help: format!("what is in the way of each:{}", each.collect::<String>()),
        })
    }
}

impl Look {
    /// A wish that is refused, with the path that people know it by.
    pub(super) fn refusal(&self, wish: &Wish, why: Refused) -> Refusal {
        let (path, id) = match &wish.subject {
            Subject::File(place) => (place.to_string(), None),
            Subject::Article(id) => (self.path_of(*id), Some(*id)),
        };
        Refusal { path, id, why }
    }

    fn path_of(&self, id: ArticleId) -> String {
        let file = self.paired.files.get(&id).map(|file| &file.place);
        let row = || self.base.articles.get(&id).map(|row| &row.place);
        let conflict = || {
            let conflict = self.base.conflicts.get(&id)?;
            Some(place_in_conflict(&self.base, conflict))
        };
        let place = file.or_else(row).or_else(conflict);
        place.map_or_else(|| id.to_string(), ToString::to_string)
    }
}
