//! `kbsync workspaces`: the workspaces that the token's owner created.

use super::{ExitCode, Outcome, connect::connect, context::Context, cycle, layout::Column, pager};
use crate::{
    config::Need,
    engine::report,
    service::{Service as _, ServiceRead as _},
};
use serde_json::json;

pub(super) async fn run(context: &Context) -> Outcome {
    let config = context.config(Need::Service)?;
    let client = connect(context, &config)?;
    let workspaces = match client.workspaces().await {
        Ok(found) => found,
        Err(error) => {
            let report = report::Report {
                requests: client.requests(),
                budget: Some(client.budget_left()),
                ..report::Report::new(false)
            };
            return cycle::as_report(context, report, Err(error.into()));
        }
    };
    if context.out.json {
        context.out.json(&json!({ "workspaces": workspaces }))?;
        return Ok(ExitCode::Done);
    }
    if workspaces.is_empty() {
        context
            .out
            .note("the token's owner has created no workspace; a colleague's workspace can be used by its id");
        return Ok(ExitCode::Done);
    }
    let columns = [
        Column::whole("id"),
        Column::whole("readers").rank(1),
        Column::whole("domain").rank(2),
        Column::details("name"),
    ];
    let rows = workspaces.into_iter().map(|workspace| {
        vec![
            workspace.id.to_string(),
            if workspace.public {
                "everyone"
            } else {
                "signed in"
            }
            .to_owned(),
            workspace.custom_domain.unwrap_or_default(),
            workspace.name,
        ]
    });
    pager::table(context, &columns, rows)?;
    Ok(ExitCode::Done)
}
