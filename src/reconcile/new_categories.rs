//! Holds new categories: the API cannot delete a category, so kbsync does not create a category on a guess.
//!
//! A new category waits for a person when its name looks like a typing error, and at the first sync of a state, because a
//! folder may then be unrelated to the knowledge base. The articles of the category wait with it.

use super::guard::Facts;
use super::plan::{HoldRule, Plan, Step};

/// The treatment of new categories.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NewCategories {
    /// New folders become categories at once.
    #[default]
    Create,
    /// A person approves first. In a request, this holds for the first sync only.
    Ask,
}

/// Holds new categories that may be a mistake.
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
