//! New articles and new files that an earlier run began to make, as its intents say.
//!
//! Nothing is settled here: that is recovery's.

use super::Sight;
use crate::reconcile::snapshot::Base;
use crate::state::{Intent, IntentId};

/// Returns whether an article was to be created, or a file was to be written for one that the base does not know: the
/// texts of unknown files and articles may have to be merged then.
pub(super) fn is_new(base: &Base, intents: &[(IntentId, Intent)]) -> bool {
    intents.iter().any(|(_, intent)| match intent {
        Intent::CreateArticle { .. } => true,
        Intent::WriteFile { id, .. } => !base.articles.contains_key(id),
        Intent::UpdateArticle { .. }
        | Intent::DeleteArticle { .. }
        | Intent::RemoveFile { .. }
        | Intent::ClearCopy { .. }
        | Intent::CreateCategory { .. }
        | Intent::UpdateCategory { .. }
        | Intent::WriteCategory { .. } => false,
    })
}

/// Holds articles that the base does not know, and whose file an earlier run may have made in a folder that cannot be
/// listed now: a second file, in another place, would make the first one a copy.
pub(super) fn hold_begun(base: &Base, intents: &[(IntentId, Intent)], sight: &mut Sight) {
    for (_, intent) in intents {
        if let Intent::WriteFile { id, to, .. } = intent
            && !base.articles.contains_key(id)
            && !sight.paired.files.contains_key(id)
            && sight.local.unreadable.contains(&to.folder)
        {
            let why = "its file may lie in a folder that cannot be read";
            sight.paired.unknown.insert(*id, why.to_owned());
        }
    }
}
