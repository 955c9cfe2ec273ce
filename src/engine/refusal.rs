//! The reasons that a version cannot be brought back. Of many requests, a refused one stops only itself.

use crate::model::ArticleId;
use crate::reconcile::plan::Problem;
use std::fmt;

/// A refused request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The kind of its reason.
    pub kind: RefusedKind,
    /// The obstacle.
    pub message: String,
    /// The remedy.
    pub help: String,
    /// The place of the file now or before; empty for several requests.
    pub path: String,
    /// The article.
    pub id: Option<ArticleId>,
}

/// The kind of a reason, worst last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RefusedKind {
    /// A person has to decide something else first.
    Undecided,
    /// The mirror changed since the command looked at it.
    Changed,
    /// The request cannot be carried out.
    Impossible,
}

impl RefusedKind {
    /// The exit code of a command of which every request was refused.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Undecided => 3,
            Self::Changed => 5,
            Self::Impossible => 2,
        }
    }
}

impl Refused {
    /// Refuses a request that cannot be carried out.
    pub fn impossible(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(RefusedKind::Impossible, message, help)
    }

    /// Refuses a request.
    pub fn new(kind: RefusedKind, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            help: help.into(),
            path: String::new(),
            id: None,
        }
    }

    /// Names the file and the article of a refused request.
    #[must_use]
    pub fn at(self, path: String, id: Option<ArticleId>) -> Self {
        Self { path, id, ..self }
    }

    /// Makes a problem of a report in which other requests were carried out.
    pub fn problem(self) -> Problem {
        Problem {
            // A problem is one line.
            message: self.to_string().replace("\n ", ""),
            path: self.path,
            id: self.id,
        }
    }

    /// Makes one of all, where every request was refused; `None`: there is none.
    pub fn all(mut refused: Vec<Self>) -> Option<Self> {
        if refused.len() < 2 {
            return refused.pop();
        }
        let each = refused.iter().map(|one| format!("\n  {}: {one}", one.path));
        let message = format!("none of the {} files can be brought back", refused.len());
        let help = format!("the reason for each:{}", each.collect::<String>());
        Some(Self {
            kind: refused.iter().map(|one| one.kind).max()?,
            ..Self::impossible(message, help)
        })
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for Refused {}
