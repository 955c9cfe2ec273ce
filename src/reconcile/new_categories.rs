//! New categories: the API cannot delete a category, so none is made on a guess.
//!
//! A new category waits for a person when its name looks like a slip of the pen, and at the first sync of a state, where
//! a folder may be anything. What the category needs to be made (its articles) waits with it.

use super::guard::Facts;
use super::plan::{HoldRule, Plan, Step};

/// What becomes of new categories.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NewCategories {
    /// They are made as folders appear.
    #[default]
    Create,
    /// A person is asked first. In a request: at the first sync.
    Ask,
}

/// Holds new categories that nobody may have meant.
pub(super) fn hold_new(plan: &mut Plan, facts: &Facts) {
    for action in &mut plan.actions {
        let Step::CreateCategory { folder, near, .. } = &action.step else {
            continue;
        };
        if facts.approved.contains(&action.fingerprint()) {
            continue;
        }
        let (rule, reason) = match (near, facts.new_categories) {
            (Some(near), _) => (
                HoldRule::NearCategory,
                format!(
                    "{folder}/ would be a new category, and the API cannot delete categories; if you meant {near}/, move the files \
                     there; `kbsync approve` creates {folder}"
                ),
            ),
            (None, NewCategories::Ask) => (
                HoldRule::NewCategory,
                format!(
                    "{folder}/ would be a new category, and the API cannot delete categories; `kbsync approve` creates it, \
                     `kbsync sync --yes` creates all new categories"
                ),
            ),
            (None, NewCategories::Create) => continue,
        };
        action.hold(rule, reason);
    }
}
