//! What an action is: its key, its fingerprint, what it changes, and how it is printed.

use super::plan::{Action, Hold, HoldRule, Kind, Plan, Settle, Step};
use crate::model::{ArticleId, CategoryId, Digest, Place, Side, Version};
use std::fmt;

impl Action {
    /// An action that is not held, without fields and without a note.
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
            makes_way_for: None,
            step,
        }
    }

    /// Brings an article's two sides together.
    pub fn settle(kind: Kind, side: Side, settle: Settle) -> Self {
        let (id, path) = (settle.id, settle.to.to_string());
        let step = Step::Settle(Box::new(settle));
        Self::new(kind, side, Some(id), path, step)
    }

    /// Removes a file whose article is gone.
    pub fn remove_file(id: ArticleId, place: Place, version: Version) -> Self {
        let step = Step::RemoveFile {
            id,
            place: place.clone(),
            version,
        };
        Self::new(Kind::Delete, Side::Local, Some(id), place, step)
    }

    /// Digests what the action depends on: while it is the same, a refusal or an approval still holds.
    pub fn fingerprint(&self) -> Digest {
        if let Some((_, fingerprint)) = &self.makes_way_for {
            return *fingerprint;
        }
        let mut parts: Vec<Vec<u8>> = vec![self.kind.word().into(), self.path.clone().into()];
        match &self.step {
            Step::CreateCategory { version, .. } => {
                parts.push(version.digest().as_bytes().to_vec());
            }
            Step::SettleCategory(settle) => {
                parts.push(settle.file.digest().as_bytes().to_vec());
                parts.push(settle.seen.digest().as_bytes().to_vec());
            }
            Step::CreateArticle {
                place,
                version,
                flags,
                holder,
                ..
            } => {
                // A new category has an id by the next cycle, and the article waits for the same as before.
                let version = Version {
                    category: CategoryId::provisional(&place.folder),
                    ..version.clone()
                };
                parts.push(version.digest().as_bytes().to_vec());
                parts.push(format!("{flags:?} {holder:?}").into_bytes());
            }
            Step::Settle(settle) => {
                parts.push(settle.file.digest().as_bytes().to_vec());
                parts.push(format!("{:?} {:?}", settle.send_enabled, settle.holder).into_bytes());
                parts.push(settle.seen.version.digest().as_bytes().to_vec());
                parts.push(settle.seen.revision.0.clone().into_bytes());
            }
            Step::ParkSlug { id, slug, .. } => parts.push(format!("{id} {slug}").into_bytes()),
            Step::DeleteArticle { id, seen, .. } => {
                parts.push(id.to_string().into_bytes());
                parts.push(seen.version.digest().as_bytes().to_vec());
                parts.push(seen.revision.0.clone().into_bytes());
            }
            Step::RemoveFile { id, version, .. } => {
                parts.push(id.to_string().into_bytes());
                parts.push(version.digest().as_bytes().to_vec());
            }
            Step::Forget { id } => parts.push(id.to_string().into_bytes()),
            Step::Conflict(conflict) => {
                parts.push(conflict.local.digest().as_bytes().to_vec());
                if let Some(seen) = &conflict.seen {
                    parts.push(seen.version.digest().as_bytes().to_vec());
                }
            }
            Step::Wait => {}
        }
        Digest::of_parts(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// The article that is known to have the address which the action takes.
    pub fn holder(&self) -> Option<ArticleId> {
        match &self.step {
            Step::CreateArticle { holder, .. } => *holder,
            Step::Settle(settle) => settle.holder,
            Step::CreateCategory { .. }
            | Step::SettleCategory(_)
            | Step::ParkSlug { .. }
            | Step::DeleteArticle { .. }
            | Step::RemoveFile { .. }
            | Step::Forget { .. }
            | Step::Conflict(_)
            | Step::Wait => None,
        }
    }

    /// The same, to be noted. `None`: it takes no address that an article may have.
    pub(super) fn holder_mut(&mut self) -> Option<&mut Option<ArticleId>> {
        match &mut self.step {
            Step::CreateArticle { holder, .. } => Some(holder),
            Step::Settle(settle) => Some(&mut settle.holder),
            Step::CreateCategory { .. }
            | Step::SettleCategory(_)
            | Step::ParkSlug { .. }
            | Step::DeleteArticle { .. }
            | Step::RemoveFile { .. }
            | Step::Forget { .. }
            | Step::Conflict(_)
            | Step::Wait => None,
        }
    }

    /// The same action where nobody is known to have the address.
    #[must_use]
    pub fn unaware(&self) -> Self {
        let mut action = self.clone();
        if let Some(holder) = action.holder_mut() {
            *holder = None;
        }
        action
    }

    /// Names what waits, in the table of what was refused or held.
    pub fn key(&self) -> String {
        if let Some((key, _)) = &self.makes_way_for {
            return key.clone();
        }
        self.id.map_or_else(
            || format!("{} {}", self.kind.word(), self.path),
            |id| format!("{} {id}", self.kind.word()),
        )
    }

    /// Returns whether the action removes something on a side.
    pub fn deletes(&self) -> Option<Side> {
        match self.step {
            Step::DeleteArticle { .. } => Some(Side::Remote),
            Step::RemoveFile { .. } => Some(Side::Local),
            Step::CreateCategory { .. }
            | Step::SettleCategory(_)
            | Step::CreateArticle { .. }
            | Step::Settle(_)
            | Step::ParkSlug { .. }
            | Step::Forget { .. }
            | Step::Conflict(_)
            | Step::Wait => None,
        }
    }

    /// Returns whether the action sends a request that changes the service.
    pub fn sends(&self) -> bool {
        match &self.step {
            Step::CreateCategory { .. }
            | Step::CreateArticle { .. }
            | Step::ParkSlug { .. }
            | Step::DeleteArticle { .. } => true,
            Step::SettleCategory(settle) => !settle.send.is_empty(),
            Step::Settle(settle) => settle.sends(),
            Step::RemoveFile { .. } | Step::Forget { .. } | Step::Conflict(_) | Step::Wait => false,
        }
    }

    /// Marks the action as waiting, unless it already does.
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
    /// Returns whether a PUT belongs to it.
    pub fn sends(&self) -> bool {
        !self.send.is_empty() || self.send_enabled.is_some()
    }

    /// Returns whether the mirror changes: the file's content or its name.
    pub fn touches_file(&self) -> bool {
        self.write || self.from.as_ref() != Some(&self.to)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrow = match self.side {
            Side::Local => "<-",
            Side::Remote => "->",
            Side::Both => "<>",
        };
        write!(f, "{arrow} {} {}", self.kind.word(), self.path)?;
        if !self.fields.is_empty() {
            let fields: Vec<_> = self.fields.iter().map(|field| field.key()).collect();
            write!(f, " ({})", fields.join(", "))?;
        }
        if let Some(note) = &self.note {
            write!(f, ", {note}")?;
        }
        if let Some(hold) = &self.held {
            write!(f, ", held: {}", hold.reason)?;
        }
        Ok(())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for action in &self.actions {
            writeln!(f, "{action}")?;
        }
        for problem in &self.problems {
            let path = &problem.path;
            let colon = if path.is_empty() { "" } else { ": " };
            writeln!(f, "!! {path}{colon}{}", problem.message)?;
        }
        Ok(())
    }
}
