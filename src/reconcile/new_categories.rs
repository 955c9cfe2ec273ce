//! Holds new categories: the API cannot delete a category, so kbsync does not create a category on a guess.
//!
//! A new category is held if its name looks like a typing error, and at the first sync of a state, because the folder
//! may then be unrelated to the knowledge base. The articles of the category are held with it.

use super::guard::Facts;
use super::plan::{Action, HoldRule, Step};

/// The treatment of new categories.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NewCategories {
    /// New folders become categories at once.
    #[default]
    Create,
    /// A person approves each new category. In a request, this holds for the first sync only.
    Ask,
}

/// Holds a new category that may be a mistake.
pub(super) fn new_category(action: &Action, facts: &Facts) -> Option<(HoldRule, String)> {
    let Step::CreateCategory { folder, near, .. } = &action.step else {
        return None;
    };
    let cause = format!("{folder}/ would be a new category, and the API cannot delete categories");
    if let Some(near) = near {
        let reason = format!(
            "{cause}; if you meant the category {near}, move the files to its folder; `kbsync approve` creates {folder}"
        );
        return Some((HoldRule::NearCategory, reason));
    }
    let reason = format!(
        "{cause}; `kbsync approve` creates it, `kbsync sync --yes` creates every category held for this reason"
    );
    let asks = facts.new_categories == NewCategories::Ask;
    asks.then_some((HoldRule::NewCategory, reason))
}
