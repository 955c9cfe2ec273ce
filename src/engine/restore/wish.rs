//! What a person wants back.

use super::Prospect;
use crate::model::{ArticleId, Place};
use crate::state::Subject;
use serde::{Deserialize, Serialize};

/// What a person wants back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// Whose version.
    pub subject: Subject,
    /// Its number; `None`: the last one of what was deleted, the one before the present one of what lives.
    #[serde(default)]
    pub number: Option<u64>,
    /// Where a deleted article's file is to be; `None`: where it was.
    #[serde(default)]
    pub to: Option<Place>,
    /// Only a file that is not there is to come back: what lies there by then is left as it is.
    #[serde(default)]
    pub missing: bool,
}

impl Wish {
    /// The last version of an article whose file is missing.
    pub const fn missing(id: ArticleId) -> Self {
        Self {
            subject: Subject::Article(id),
            number: None,
            to: None,
            missing: true,
        }
    }

    /// The same, for a person to whom it was shown what it comes to: where no file was there, it is that one which is to
    /// come back. By its turn the file may be there again; then the version before the present one is not what was meant.
    #[must_use]
    pub fn as_shown(self, prospect: &Prospect) -> Self {
        let comes_back = match prospect {
            Prospect::Write(prepared) => prepared.old.is_none() && prepared.id.is_some(),
            Prospect::IsBack { .. } => true,
        };
        Self {
            missing: self.missing || (comes_back && self.number.is_none()),
            ..self
        }
    }
}
