//! Questions to a person at a terminal, on stderr.

use super::{
    ExitCode,
    connect::{self, Account},
    context::Context,
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
use dialoguer::Select;
use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::{Arc, mpsc},
    thread,
};

/// Returns whether a person can answer.
pub(super) fn possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns the running command's line with `--yes` added.
pub(super) fn again() -> String {
    let words = std::env::args().skip(1);
    let words: Vec<String> = words.map(|word| quoted(&word).into_owned()).collect();
    format!("kbsync {} --yes", words.join(" "))
}

/// Asks a yes-or-no question. Anything but `y` or `yes` is a no: the line may be a pasted command.
pub(super) fn agrees(question: &str) -> Result<bool, Failure> {
    let answer = last_answer(&format!("{question} [y/N]"), |line| {
        Ok(["y", "yes"].contains(&line.to_lowercase().as_str()))
    })?;
    Ok(answer.unwrap_or(false))
}

/// Asks a question such as `[y]ours or [q]uit?`, and returns the letter of the answer. `None`: the input ended.
pub(super) fn letter(question: &str) -> Result<Option<char>, Failure> {
    let words: Vec<String> = question.split('[').skip(1).map(word).collect();
    let wanted = format!("answer with one of {}", words.join(", "));
    answer(question, |line| {
        let line = line.to_lowercase();
        let is_it = |word: &&String| **word == line || line.len() == 1 && word.starts_with(&line);
        let found = words
            .iter()
            .find(is_it)
            .and_then(|word| word.chars().next());
        found.ok_or_else(|| wanted.clone())
    })
}

/// Returns the word at the start of a text, without the bracket in it.
fn word(text: &str) -> String {
    let letters = text.chars().filter(|letter| *letter != ']');
    letters
        .take_while(|letter| letter.is_alphabetic())
        .collect()
}

/// Asks for the service's address.
pub(super) fn service(insecure_http: bool) -> Result<String, Failure> {
    let written = last_answer("Address of the service", |line| {
        parse_service(line, insecure_http).map_err(|wrong| told(&wrong))
    })?;
    written.ok_or_else(no_answer)
}

/// Discards text typed before the question: it cannot be an answer to a question that nobody had seen.
fn forget_typed() {
    // Without a terminal, the question itself fails.
    rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush).ok();
}

/// Asks for the published branch of the git repository around a new mirror.
pub(super) fn branch(checked_out: &str, exists: impl Fn(&str) -> bool) -> Result<String, Failure> {
    let question = format!("Which branch should be published? [{checked_out}]");
    let written = last_answer(&question, |line| {
        if line.is_empty() || line == checked_out {
            Ok(checked_out.to_owned())
        } else if exists(line) {
            Ok(line.to_owned())
        } else {
            Err(format!("there is no branch {}", escape(line)))
        }
    })?;
    written.ok_or_else(no_answer)
}

/// A chosen workspace.
pub(super) struct Chosen {
    pub(super) id: WorkspaceId,
    /// The workspace's name, if known.
    pub(super) name: Option<String>,
}

impl From<Workspace> for Chosen {
    fn from(workspace: Workspace) -> Self {
        Self {
            id: workspace.id,
            name: Some(workspace.name),
        }
    }
}

/// Chooses the only workspace of the token's owner, or asks for a workspace. The service lists only workspaces that the
/// token's owner created, so the id of any other workspace may be pasted. `None`: without a question (`asks`) there is
/// none to choose.
pub(super) async fn workspace(
    service: &str,
    asks: bool,
    context: &Context,
) -> Result<Option<Chosen>, Failure> {
    if !asks && config::token_from_environment(&context.request()).is_none() {
        return Ok(None);
    }
    let listed = once(service, context, async |client| client.workspaces().await).await??;
    match &listed[..] {
        [one] => {
            context.out.note(format!(
                "the workspace is {} ({}), the only one of this token's owner; --workspace names another",
                escape(&one.name),
                one.id
            ));
            return Ok(Some(one.clone().into()));
        }
        [] => return asks.then(pasted).transpose(),
        several if !asks => {
            let lines = several.iter();
            let lines =
                lines.map(|one| format!("\n  --workspace {}  # {}", one.id, escape(&one.name)));
            return Err(Failure::usage(
                format!(
                    "{service} has {} workspaces of this token's owner",
                    several.len()
                ),
                format!("name one:{}", lines.collect::<String>()),
            ));
        }
        [_, ..] => {}
    }
    let mut choices: Vec<String> = listed
        .iter()
        .map(|one| format!("{} ({})", escape(&one.name), one.id))
        .collect();
    choices.push("another workspace (paste its id)".to_owned());
    interrupt::at_question(|| {});
    let at = Select::new()
        .with_prompt("Workspace")
        .items(&choices)
        .default(0)
        .interact()
        .map_err(|dialoguer::Error::IO(cause)| unanswered(cause))?;
    interrupt::after_question();
    match listed.into_iter().nth(at) {
        Some(one) => Ok(Some(one.into())),
        None => pasted().map(Some),
    }
}

/// Refuses a workspace that the service does not have, and a token that the service rejects. Without a token or an
/// answer nothing is known; `kbsync doctor` checks later.
pub(super) async fn known(
    service: &str,
    workspace: WorkspaceId,
    context: &Context,
) -> Result<(), Failure> {
    if config::token_from_environment(&context.request()).is_none() {
        return Ok(());
    }
    let answer = once(service, context, async |client| {
        client.workspace(workspace).await
    });
    let why = match answer.await {
        Ok(Ok(_)) => return Ok(()),
        // The token is invalid, or another program answered.
        Ok(Err(error))
            if matches!(
                error.kind,
                ErrorKind::Unauthorized | ErrorKind::Unreadable | ErrorKind::Refused
            ) =>
        {
            return Err(error.into());
        }
        Ok(Err(error)) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Forbidden) => {
            return Err(Failure::usage(
                format!("{service} has no workspace {workspace} for this token"),
                format!(
                    "`KBSYNC_SERVICE={service} kbsync workspaces` lists the ids, and the dashboard shows them"
                ),
            ));
        }
        Ok(Err(error)) => error.to_string(),
        Err(failure) => failure.error.to_string(),
    };
    context.out.note(format!(
        "it is unknown whether the service has this workspace: {why}; `kbsync doctor` checks again"
    ));
    Ok(())
}

/// Sends a request to a service. Fails as soon as the client would retry: then the address may be wrong.
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
        token_folder: None,
        user_state_dir: &config::user_state_dir(request.env)?,
        mirror: None,
        budget: config::Options::standard().budget,
    };
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let out = context.out;
    let notify: Notify = Arc::new(move |note: WaitNote| match note.reason {
        WaitReason::Minute | WaitReason::Throttled => out.note(note.to_string()),
        // The receiver is gone after the first note.
        WaitReason::Again | WaitReason::Silent => {
            tell.send(note.cause).ok();
        }
    });
    let token = connect::read_token(context, account)?;
    let client = connect::client(context, account, token, |options| {
        options.notify = Some(notify);
    })?;
    tokio::select! {
        answer = ask(&client) => Ok(answer),
        Some(cause) = told.recv() => {
            let cause = cause.map_or_else(String::new, |cause| format!(" ({cause})"));
            let message = format!("the service does not answer at {service}{cause}");
            Err(Failure::new(ExitCode::Retry, message, "is the address right?"))
        }
    }
}

fn pasted() -> Result<Chosen, Failure> {
    let written = last_answer("Id of the workspace", |line| {
        parse_workspace(line).map_err(|wrong| told(&wrong))
    })?;
    let id = written.ok_or_else(no_answer)?;
    Ok(Chosen { id, name: None })
}

fn told(wrong: &config::ConfigError) -> String {
    format!("{}; {}", wrong.message, wrong.remedy)
}

/// Asks a question after which the command runs without a person.
fn last_answer<T>(
    question: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    let answered = answer(question, parse)?;
    interrupt::after_question();
    Ok(answered)
}

/// Asks until the answer is a line that can be parsed. `None`: the input ended.
fn answer<T>(
    question: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    forget_typed();
    loop {
        let Some(line) = line(question).map_err(unanswered)? else {
            return Ok(None);
        };
        match parse(line.trim()) {
            Ok(answer) => return Ok(Some(answer)),
            Err(wrong) => writeln!(io::stderr(), "{wrong}").map_err(unanswered)?,
        }
    }
}

/// Reads the line that a person types after a question; the terminal provides the editing. `None`: the input ended, by
/// Ctrl-D. Ctrl-C ends the question; the thread still reads, and ends with the process.
fn line(question: &str) -> io::Result<Option<String>> {
    let (typed, answer) = mpsc::channel();
    let interrupted = typed.clone();
    interrupt::at_question(move || {
        drop(interrupted.send(Err(io::ErrorKind::Interrupted.into())));
    });
    write!(io::stderr(), "{question}: ")?;
    thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        drop(typed.send(read.map(|bytes| (bytes > 0).then_some(line))));
    });
    let line = answer.recv().map_err(io::Error::other)??;
    if line.is_none() {
        writeln!(io::stderr())?;
    }
    Ok(line)
}

fn unanswered(cause: io::Error) -> Failure {
    if cause.kind() == io::ErrorKind::Interrupted {
        // Ends the question's line; if that fails, the message is only less readable.
        writeln!(io::stderr()).ok();
        let message = "interrupted at a question";
        return Failure::new(ExitCode::Interrupted, message, "nothing was changed");
    }
    anyhow::Error::new(cause)
        .context("no answer could be read")
        .into()
}

fn no_answer() -> Failure {
    Failure::new(
        ExitCode::Attention,
        "no answer was given",
        "nothing was changed",
    )
}
