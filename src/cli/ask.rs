//! Questions to a person at a terminal, on stderr.

use super::{context::Context, failure::Failure};
use crate::{
    config::{parse_service, parse_workspace},
    model::WorkspaceId,
};
use dialoguer::Input;
use std::io::{self, IsTerminal as _};

/// Tells whether somebody is there to answer.
pub(super) fn possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for the service's address.
pub(super) fn service(insecure_http: bool) -> Result<String, Failure> {
    let written: String = Input::new()
        .with_prompt("Address of the service")
        .validate_with(|text: &String| checked(parse_service(text, insecure_http)))
        .interact_text()
        .map_err(unanswered)?;
    parse_service(&written, insecure_http).map_err(|wrong| wrong.given_by("the service").into())
}

/// Asks for the workspace and gives its id, with its name where that is known.
pub(super) fn workspace(
    _service: &str,
    _context: &Context,
) -> Result<(WorkspaceId, Option<String>), Failure> {
    pasted().map(|id| (id, None))
}

fn pasted() -> Result<WorkspaceId, Failure> {
    let written: String = Input::new()
        .with_prompt("Id of the workspace")
        .validate_with(|text: &String| checked(parse_workspace(text)))
        .interact_text()
        .map_err(unanswered)?;
    parse_workspace(&written).map_err(|wrong| wrong.given_by("the workspace").into())
}

fn checked<T>(parsed: Result<T, crate::config::Wrong>) -> Result<(), String> {
    match parsed {
        Ok(_) => Ok(()),
        Err(wrong) => Err(format!("{}; {}", wrong.message, wrong.remedy)),
    }
}

fn unanswered(error: dialoguer::Error) -> Failure {
    Failure::failed(anyhow::Error::new(error).context("no answer could be read"))
}
