//! Requests that belong together are kept together before the first of them is made, so that the budget does
//! not end between a look and its write (failures row 114).

use super::category_send::is_category_seen;
use super::{ApplyState, StepResult, failed};
use crate::engine::apply::guard_read::is_seen;
use crate::engine::settings::Settings;
use crate::reconcile::plan::{Action, Step};
use crate::service::{Purpose, Service};

/// Keeps what a step is going to need. Gives why it is not begun, if that is not there.
pub(super) async fn reserve_for_step(
    service: &impl Service,
    settings: &Settings,
    action: &Action,
    state: &ApplyState<'_>,
) -> Option<StepResult> {
    let requests = requests_of(settings, action, state);
    // One request is had or not.
    if requests < 2 {
        return None;
    }
    let kept = service.reserve(requests, Purpose::Push).await;
    kept.err().map(failed)
}

/// Requests that a step makes where nothing goes wrong.
fn requests_of(settings: &Settings, action: &Action, state: &ApplyState<'_>) -> u32 {
    let look = |id| u32::from(!is_seen(settings, id, state));
    match &action.step {
        Step::Settle(settle) if settle.sends() => 1 + look(settle.id),
        Step::DeleteArticle { id, .. } => 1 + look(*id),
        Step::SettleCategory(settle) if !settle.send.is_empty() => {
            1 + u32::from(!is_category_seen(settings.guard_window, settle.id, state))
        }
        Step::CreateCategory { .. } | Step::CreateArticle { .. } => 1,
        Step::Settle(_)
        | Step::SettleCategory(_)
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => 0,
    }
}
