//! Questions to a person at a terminal, on stderr.

use super::{
    connect::{Account, connect_to},
    context::Context,
    exit::ExitCode,
    failure::Failure,
    interrupt,
    print::escape,
};
use crate::{
    config::{self, parse_service, parse_workspace},
    model::{WorkspaceId, path::quoted},
    service::{
        ErrorKind, ServiceError, ServiceRead as _, Workspace,
        client::{Client, Notify, WaitNote, WaitReason},
    },
};
use dialoguer::{Input, Select};
use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::Arc,
};
use tokio::sync::mpsc;

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
///
/// A question that is longer than the terminal is wide is printed anew with each key, so what it is about is a line of
/// its own.
pub(super) fn agrees(question: &str) -> Result<bool, Failure> {
    let input = Input::new().with_prompt(format!("{question} [y/N]"));
    let line = last_answer(input.allow_empty(true))?;
    let line = line.trim();
    Ok(["y", "yes"]
        .iter()
        .any(|yes| line.eq_ignore_ascii_case(yes)))
}

/// Asks until one of some letters is the first of the answer.
pub(super) fn letter(question: &str, letters: &str) -> Result<char, Failure> {
    let chosen = |line: &str| {
        let first = line.trim().to_lowercase().chars().next();
        first.filter(|letter| letters.contains(*letter))
    };
    let names: Vec<String> = letters.chars().map(String::from).collect();
    let wanted = format!("answer with one of {}", names.join(", "));
    let input = Input::new()
        .with_prompt(question)
        .allow_empty(true)
        .validate_with(|line: &String| chosen(line).map(drop).ok_or_else(|| wanted.clone()));
    let line = answer(input)?;
    chosen(&line).ok_or_else(|| Failure::failed(anyhow::Error::msg(wanted.clone())))
}

/// Asks for the service's address. Enter stays with the one before, if there is one.
pub(super) fn service(insecure_http: bool, before: Option<&str>) -> Result<String, Failure> {
    forget_typed();
    let mut input = Input::new().with_prompt("Address of the service");
    if let Some(before) = before {
        input = input.default(before.to_owned());
    }
    let input = input.validate_with(|text: &String| checked(parse_service(text, insecure_http)));
    let written = last_answer(input)?;
    parse_service(&written, insecure_http).map_err(|wrong| wrong.given_by("the service").into())
}

/// Forgets what was typed while nothing was asked: it is no answer to a question that nobody had seen.
fn forget_typed() {
    // Without a terminal, the question fails by itself.
    rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush).ok();
}

/// Asks for the published branch of the git repository that a new mirror is in.
pub(super) fn branch(checked_out: &str, exists: impl Fn(&str) -> bool) -> Result<String, Failure> {
    let input = Input::new()
        .with_prompt("Which branch should be published?")
        .default(checked_out.to_owned())
        .validate_with(|text: &String| {
            let there_is = text == checked_out || exists(text);
            there_is
                .then_some(())
                .ok_or_else(|| format!("there is no branch {}", escape(text)))
        });
    last_answer(input)
}

/// A workspace of a service, as a person chose it.
pub(super) struct Chosen {
    pub(super) service: String,
    pub(super) workspace: WorkspaceId,
    /// Its name, if that is known.
    pub(super) name: Option<String>,
}

impl Chosen {
    /// Makes the choice of a workspace whose name is unknown.
    pub(super) fn unnamed(service: String, workspace: WorkspaceId) -> Self {
        Self {
            service,
            workspace,
            name: None,
        }
    }
}

/// Asks for the workspace, and again for the address if nothing answers there.
///
/// With a token there is a list to choose from. The service lists only workspaces that the token's owner created, so
/// any other id may be pasted.
pub(super) async fn workspace(service: String, context: &Context) -> Result<Chosen, Failure> {
    let mut service = service;
    let listed = loop {
        let answer = once(&service, context, async |client| client.workspaces().await).await;
        match answer.and_then(|answer| Ok(answer?)) {
            Ok(listed) => break listed,
            // With an invalid token, a mirror would be of no use.
            Err(failure) if failure.code != ExitCode::Retry => return Err(failure),
            Err(failure) => context.out.failure(&failure),
        }
        let before = service.clone();
        service = self::service(context.global.insecure_http, Some(&before))?;
        if service == before {
            context
                .out
                .note("the workspaces cannot be listed, so paste the id of one");
            break Vec::new();
        }
    };
    let chosen = |one: Option<Workspace>, service| match one {
        Some(one) => Ok(Chosen {
            name: Some(one.name),
            ..Chosen::unnamed(service, one.id)
        }),
        None => pasted().map(|workspace| Chosen::unnamed(service, workspace)),
    };
    if listed.len() < 2 {
        for one in &listed {
            context.out.note(format!(
                "the workspace is {} ({}), the only one of this token's owner; --workspace names another",
                escape(&one.name),
                one.id
            ));
        }
        return chosen(listed.into_iter().next(), service);
    }
    let mut choices: Vec<String> = listed
        .iter()
        .map(|one| format!("{} ({})", escape(&one.name), one.id))
        .collect();
    choices.push("another workspace (paste its id)".to_owned());
    interrupt::at_question();
    let at = Select::new()
        .with_prompt("Workspace")
        .items(&choices)
        .default(0)
        .interact()
        .map_err(unanswered)?;
    interrupt::after_question();
    chosen(listed.into_iter().nth(at), service)
}

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
    let unheard = "the service did not answer, so it is unknown whether it has this workspace; `kbsync doctor` asks again";
    let error = match once(service, context, async |client| {
        client.workspace(workspace).await
    })
    .await
    {
        Ok(Err(error)) => error,
        Err(failure) if failure.code == ExitCode::Retry => {
            context.out.note(unheard);
            return Ok(());
        }
        // The first command that needs a client reports why there is none.
        Ok(Ok(_)) | Err(_) => return Ok(()),
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
        | ErrorKind::TooLarge => Ok(()),
    }
}

/// Asks a service something. Fails when it has to be asked again: then its address may be wrong.
async fn once<T>(
    service: &str,
    context: &Context,
    ask: impl AsyncFnOnce(&Client) -> Result<T, ServiceError>,
) -> Result<Result<T, ServiceError>, Failure> {
    let request = context.request();
    let token = config::token_from_environment(&request);
    let account = Account {
        service,
        token: token.as_ref(),
        user_state_dir: &config::user_state_dir(request.env)?,
        mirror: None,
        budget: config::Options::standard().budget,
    };
    let (tell, mut told) = mpsc::unbounded_channel();
    let out = context.out;
    let notify: Notify = Arc::new(move |note: WaitNote| match note.reason {
        WaitReason::Minute | WaitReason::Throttled => out.note(note.to_string()),
        // After the first one nobody listens.
        WaitReason::Again | WaitReason::Silent | WaitReason::Stalled => {
            tell.send(note.cause).ok();
        }
    });
    let client = connect_to(context, account, notify)?;
    tokio::select! {
        answer = ask(&client) => Ok(answer),
        Some(cause) = told.recv() => {
            let cause = cause.map_or_else(String::new, |cause| format!(" ({cause})"));
            let error = anyhow::anyhow!("nothing answers at {service}{cause}");
            Err(Failure { code: ExitCode::Retry, ..Failure::failed(error).help("is the address right?") })
        }
    }
}

fn pasted() -> Result<WorkspaceId, Failure> {
    let input = Input::new()
        .with_prompt("Id of the workspace")
        .validate_with(|text: &String| checked(parse_workspace(text)));
    let written = last_answer(input)?;
    parse_workspace(&written).map_err(|wrong| wrong.given_by("the workspace").into())
}

fn checked<T>(parsed: Result<T, crate::config::ValueError>) -> Result<(), String> {
    match parsed {
        Ok(_) => Ok(()),
        Err(wrong) => Err(format!("{}; {}", wrong.message, wrong.remedy)),
    }
}

/// Asks a question after which the command goes on by itself.
fn last_answer(input: Input<'_, String>) -> Result<String, Failure> {
    let line = answer(input)?;
    interrupt::after_question();
    Ok(line)
}

/// Asks a question whose answer is a line.
fn answer(input: Input<'_, String>) -> Result<String, Failure> {
    interrupt::at_question();
    input.interact_text().map_err(unanswered)
}

fn unanswered(error: dialoguer::Error) -> Failure {
    let dialoguer::Error::IO(cause) = &error;
    if cause.kind() == io::ErrorKind::Interrupted {
        // The question has no line break after it; without one, the message is only less readable.
        writeln!(io::stderr()).ok();
        return Failure {
            code: ExitCode::Interrupted,
            ..Failure::failed(anyhow::anyhow!("interrupted at a question"))
        }
        .help("nothing was changed");
    }
    Failure::failed(anyhow::Error::new(error).context("no answer could be read"))
}
