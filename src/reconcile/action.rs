//! An action: its key, its fingerprint, and the sides that it changes.

use super::plan::{Action, Hold, HoldRule, Kind, Settle, Step};
use super::snapshot::Seen;
use crate::model::{ArticleId, CategoryId, Digest, Field, Place, Side, Texts, Version};
use std::fmt;

impl Action {
    /// Returns the folder of the path.
    pub fn folder(&self) -> &str {
        self.path.split('/').next().unwrap_or_default()
    }

    /// Makes an action that is not held, without fields and without a note.
    pub fn new(
        kind: Kind,
        side: Side,
        id: Option<ArticleId>,
        path: impl fmt::Display,
        step: Step,
    ) -> Self {
        Self {
            kind,
            side,
            id,
            path: path.to_string(),
            fields: Vec::new(),
            note: None,
            held: None,
            step,
        }
    }

    /// Makes the action that brings an article's two sides together.
    pub fn settle(kind: Kind, side: Side, settle: Settle) -> Self {
        let (id, path) = (settle.id, settle.to.to_string());
        let step = Step::Settle(Box::new(settle));
        Self::new(kind, side, Some(id), path, step)
    }

    /// Makes the action that deletes a file whose article is gone.
    pub fn remove_file(id: ArticleId, place: Place, version: Version) -> Self {
        let step = Step::RemoveFile {
            id,
            place: place.clone(),
            version,
        };
        Self::new(Kind::Delete, Side::Local, Some(id), place, step)
    }

    /// Returns the digest of everything that the action depends on: while the digest is the same, a refusal or an
    /// approval still holds.
    pub fn fingerprint(&self) -> Digest {
        let what = match &self.step {
            Step::CreateCategory { version, .. } => version.digest().to_string(),
            Step::SettleCategory(settle) => {
                format!("{} {}", settle.file.digest(), settle.seen.digest())
            }
            Step::CreateArticle {
                place,
                version,
                flags,
                ..
            } => {
                // A new category may get its id before the next cycle; the fingerprint must not change with it.
                let version = Version {
                    category: CategoryId::provisional(&place.folder),
                    ..version.clone()
                };
                format!("{} {flags:?}", version.digest())
            }
            Step::Settle(settle) => {
                let (file, enabled) = (settle.file.digest(), settle.send_enabled);
                format!("{file} {enabled:?} {}", shown(&settle.seen))
            }
            Step::DeleteArticle { id, seen, .. } => format!("{id} {}", shown(seen)),
            Step::RemoveFile { id, version, .. } => format!("{id} {}", version.digest()),
            Step::Forget { id } => id.to_string(),
            Step::Conflict(conflict) => {
                let seen = conflict.seen.as_ref();
                let seen = seen.map_or(String::new(), |seen| seen.version.digest().to_string());
                format!("{} {seen}", conflict.local.digest())
            }
            Step::Wait => String::new(),
        };
        Digest::of_parts(&[
            self.kind.word().as_bytes(),
            self.path.as_bytes(),
            what.as_bytes(),
        ])
    }

    /// Returns the settlement of the article's two sides, if the action is one.
    pub(crate) fn as_settle(&self) -> Option<&Settle> {
        if let Step::Settle(settle) = &self.step {
            Some(settle)
        } else {
            None
        }
    }

    /// Returns the action's key in the tables of refused and open actions.
    pub fn key(&self) -> String {
        self.kind.key(self.id, &self.path)
    }

    /// Returns the side on which the action deletes an article or a file.
    pub fn deletes(&self) -> Option<Side> {
        if matches!(self.step, Step::RemoveFile { .. }) {
            return Some(Side::Local);
        }
        matches!(self.step, Step::DeleteArticle { .. }).then_some(Side::Remote)
    }

    /// Returns whether the action sends a request that changes the service.
    pub fn sends(&self) -> bool {
        match &self.step {
            Step::CreateCategory { .. }
            | Step::CreateArticle { .. }
            | Step::DeleteArticle { .. } => true,
            Step::SettleCategory(settle) => !settle.send.is_empty(),
            Step::Settle(settle) => settle.sends(),
            Step::RemoveFile { .. } | Step::Forget { .. } | Step::Conflict(_) | Step::Wait => false,
        }
    }

    /// Returns the folders that exist, or have their names, only after the action.
    pub(crate) fn folders_settled(&self) -> Vec<&String> {
        if let Step::CreateCategory { folder, .. } = &self.step {
            return vec![folder];
        }
        if let Step::SettleCategory(settle) = &self.step
            && settle.from != settle.to
        {
            return [&settle.from, &settle.to].into_iter().flatten().collect();
        }
        Vec::new()
    }

    /// Holds the action, unless it is held already.
    pub fn hold(&mut self, rule: HoldRule, reason: impl Into<String>) {
        if self.held.is_none() {
            self.held = Some(Hold {
                rule,
                reason: reason.into(),
            });
        }
    }
}

impl Settle {
    /// Returns the place of the file before the step, if there is a file.
    pub fn from(&self) -> Option<&Place> {
        self.before.as_ref().map(|before| &before.place)
    }

    /// Returns the version of the file before the step, if there is a file.
    pub fn had(&self) -> Option<&Version> {
        self.before.as_ref().map(|before| &before.version)
    }

    /// Returns whether the step sends a PUT.
    pub fn sends(&self) -> bool {
        !self.send.is_empty() || self.send_enabled.is_some()
    }

    /// Returns whether the article's public address changes.
    pub fn sends_address(&self) -> bool {
        self.send.contains(&Field::Slug) || self.send.contains(&Field::Category)
    }

    /// Returns the service's version after the step, if the service stores exactly what is sent.
    pub(crate) fn sent_over(&self) -> Version {
        let mut after = self.seen.version.clone();
        after.take_all(&self.send, &self.file);
        after
    }

    /// Returns whether the file is moved, renamed or created.
    pub fn moves_file(&self) -> bool {
        self.from() != Some(&self.to)
    }

    /// Returns whether the mirror changes: the file's content or its name.
    pub fn touches_file(&self) -> bool {
        self.write || self.moves_file()
    }
}

/// The service's version, for a fingerprint.
fn shown(seen: &Seen) -> String {
    format!("{} {}", seen.version.digest(), seen.revision.0)
}
