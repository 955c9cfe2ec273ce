//! Questions to a person at a terminal, on stderr.

use super::{
    connect::{Account, connect_to},
    context::Context,
    exit::ExitCode,
    failure::Failure,
    print::escape,
};
use crate::{
    config::{self, parse_service, parse_workspace},
    model::{WorkspaceId, path::quoted},
    service::{ErrorKind, ServiceRead as _, Workspace, client::Client},
};
use dialoguer::{Input, Select};
use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};

/// Returns whether a person can answer.
pub(super) fn possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns the command that runs, with `--yes`.
pub(super) fn again() -> String {
    let words = std::env::args().skip(1);
    let words: Vec<String> = words.map(|word| quoted(&word).into_owned()).collect();
    format!("kbsync {} --yes", words.join(" "))
}

/// Asks a yes-or-no question. Only a line of `y` or `yes` agrees: the next line may be a pasted command.
pub(super) fn agrees(question: &str) -> Result<bool, Failure> {
    let line: String = Input::new()
        .with_prompt(format!("{question} [y/N]"))
        .allow_empty(true)
        .interact_text()
        .map_err(unanswered)?;
    let line = line.trim();
    Ok(["y", "yes"]
        .iter()
        .any(|yes| line.eq_ignore_ascii_case(yes)))
}

/// Asks until one of some letters is the first of the answer.
pub(super) fn letter(question: &str, letters: &str) -> Result<char, Failure> {
    loop {
        let line: String = Input::new()
            .with_prompt(question)
            .allow_empty(true)
            .interact_text()
            .map_err(unanswered)?;
        let first = line.trim().to_lowercase().chars().next();
        if let Some(letter) = first.filter(|letter| letters.contains(*letter)) {
            return Ok(letter);
        }
    }
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

/// Asks for the published branch of the git repository that a new mirror is in.
pub(super) fn branch(checked_out: &str, exists: impl Fn(&str) -> bool) -> Result<String, Failure> {
    let written: String = Input::new()
        .with_prompt("This folder is in a git repository. Which branch should be published?")
        .default(checked_out.to_owned())
        .validate_with(|text: &String| {
            let there_is = text == checked_out || exists(text);
            there_is
                .then_some(())
                .ok_or_else(|| format!("there is no branch {}", escape(text)))
        })
        .interact_text()
        .map_err(unanswered)?;
    Ok(written)
}

/// Asks for the workspace. Returns its id, and its name if that is known.
///
/// With a token there is a list to choose from. The service lists only workspaces that the token's owner created, so
/// any other id may be pasted.
pub(super) async fn workspace(
    service: &str,
    context: &Context,
) -> Result<(WorkspaceId, Option<String>), Failure> {
    let listed = match listed(service, context).await {
        Ok(listed) => listed,
        // With an invalid token, a mirror would be of no use.
        Err(failure) if failure.code != ExitCode::Retry => return Err(failure),
        Err(failure) => {
            context.out.failure(&failure);
            context
                .out
                .note("the workspaces cannot be listed, so paste the id of one");
            Vec::new()
        }
    };
    if listed.is_empty() {
        return pasted().map(|id| (id, None));
    }
    let mut choices: Vec<String> = listed
        .iter()
        .map(|one| format!("{} ({})", escape(&one.name), one.id))
        .collect();
    choices.push("another one: paste its id".to_owned());
    let chosen = Select::new()
        .with_prompt("Workspace")
        .items(&choices)
        .default(0)
        .interact()
        .map_err(unanswered)?;
    match listed.into_iter().nth(chosen) {
        Some(one) => Ok((one.id, Some(one.name))),
        None => pasted().map(|id| (id, None)),
    }
}

/// How long to wait for the service.
const PATIENCE: Duration = Duration::from_secs(3);

/// Refuses a workspace that the service does not have, and a token that it rejects. Without a token or an answer
/// nothing is known; `kbsync doctor` checks later.
pub(super) async fn known(
    service: &str,
    workspace: WorkspaceId,
    context: &Context,
) -> Result<(), Failure> {
    if config::token_from_environment(&context.request()).is_none() {
        return Ok(());
    }
    // The first command that needs a client reports why there is none.
    let Ok(client) = client(service, context) else {
        return Ok(());
    };
    let answer = tokio::time::timeout(PATIENCE, client.workspace(workspace)).await;
    let unheard = "the service did not answer, so it is unknown whether it has this workspace; `kbsync doctor` asks again";
    let error = match answer {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(error)) => error,
        Err(_late) => {
            context.out.note(unheard);
            return Ok(());
        }
    };
    match error.kind {
        ErrorKind::NotFound | ErrorKind::Forbidden => Err(Failure::usage(
            format!("{service} has no workspace {workspace} for this token"),
            "`kbsync workspaces` lists the ids, and the dashboard shows them",
        )),
        ErrorKind::Unauthorized => Err(error.into()),
        ErrorKind::Unavailable => {
            context.out.note(unheard);
            Ok(())
        }
        ErrorKind::Refused
        | ErrorKind::RateLimited { .. }
        | ErrorKind::BudgetSpent { .. }
        | ErrorKind::Closed
        | ErrorKind::Unreadable
        | ErrorKind::NoEndpoint
        | ErrorKind::TooLarge => Ok(()),
    }
}

async fn listed(service: &str, context: &Context) -> Result<Vec<Workspace>, Failure> {
    Ok(client(service, context)?.workspaces().await?)
}

fn client(service: &str, context: &Context) -> Result<Client, Failure> {
    let request = context.request();
    let token = config::token_from_environment(&request);
    let account = Account {
        service,
        token: token.as_ref(),
        user_state_dir: &config::user_state_dir(request.env)?,
        mirror: None,
        budget: config::Options::standard().budget,
    };
    connect_to(context, account)
}

fn pasted() -> Result<WorkspaceId, Failure> {
    let written: String = Input::new()
        .with_prompt("Id of the workspace")
        .validate_with(|text: &String| checked(parse_workspace(text)))
        .interact_text()
        .map_err(unanswered)?;
    parse_workspace(&written).map_err(|wrong| wrong.given_by("the workspace").into())
}

fn checked<T>(parsed: Result<T, crate::config::ValueError>) -> Result<(), String> {
    match parsed {
        Ok(_) => Ok(()),
        Err(wrong) => Err(format!("{}; {}", wrong.message, wrong.remedy)),
    }
}

fn unanswered(error: dialoguer::Error) -> Failure {
    Failure::failed(anyhow::Error::new(error).context("no answer could be read"))
}
