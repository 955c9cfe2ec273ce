//! Builds a client from the settings: the user's consent, the token, the token's origin, the budget.

use super::{ExitCode, consent, context::Context, failure::Failure};
use crate::{
    config::{BudgetLimits, Config, TokenSource},
    engine::report::BudgetLeft,
    service::{
        budget::Budget,
        client::{Client, ClientError, ClientOptions, TokenAccepted, WaitNote},
        origin::{Origin, OriginError, check_origin},
        token::Token,
    },
};
use secrecy::ExposeSecret as _;
use std::{path::Path, sync::Arc};

const OTHER_DIR: &str = "make that folder writable, or name another one in KBSYNC_USER_STATE_DIR";

/// Makes a client for the service of the settings. Sends nothing.
pub(super) fn connect(context: &Context, config: &Config) -> Result<Client, Failure> {
    consent::settle(context, config)?;
    let token = read_token(context, account(config))?;
    let out = context.out;
    client(context, account(config), token, |options| {
        options.notify = Some(Arc::new(move |note: WaitNote| out.note(note.to_string())));
    })
}

/// Returns the rest of the budget, without a request or the token. `None`: this mirror has not used a budget yet.
pub(super) fn budget_left(config: &Config) -> Option<BudgetLeft> {
    Some(last_budget(config)?.left())
}

/// Returns the budget that this mirror used last; `None`: no budget was used yet, or the budget cannot be read.
pub(super) fn last_budget(config: &Config) -> Option<Budget> {
    let limits = config.options.budget;
    let origin = Origin::of(&config.service).ok()?;
    let last = Budget::last_of(&config.user_state_dir, &config.mirror, &origin, limits);
    last.inspect_err(|error| tracing::warn!(%error, "the budget cannot be read"))
        .ok()?
}

/// Returns the service of the settings, and its user.
pub(super) fn account(config: &Config) -> Account<'_> {
    Account {
        service: &config.service,
        token: config.token.as_ref(),
        token_folder: config.asked.as_ref().map(|asked| &*asked.folder),
        user_state_dir: &config.user_state_dir,
        mirror: Some(&config.mirror),
        budget: config.options.budget,
    }
}

/// A service and its user.
#[derive(Clone, Copy)]
pub(super) struct Account<'a> {
    pub(super) service: &'a str,
    pub(super) token: Option<&'a TokenSource>,
    /// The folder of the settings that name the token: a token command was agreed to for this folder.
    pub(super) token_folder: Option<&'a Path>,
    pub(super) user_state_dir: &'a Path,
    /// The mirror, if it exists already.
    pub(super) mirror: Option<&'a Path>,
    pub(super) budget: BudgetLimits,
}

/// Builds a client. The token is sent only to the origin that it belongs to (failures row 133).
pub(super) fn client(
    context: &Context,
    account: Account<'_>,
    token: Token,
    set: impl FnOnce(&mut ClientOptions),
) -> Result<Client, Failure> {
    let source = account.token.ok_or_else(TokenSource::missing)?;
    let origin = Origin::of(account.service).map_err(|error| {
        Failure::usage(error.to_string(), "write `service: https://kb.example.com`")
    })?;
    let dir = account.user_state_dir;
    // A sandbox has a new port at each start, and the sandbox's token is no secret.
    let visit = if consent::is_sandbox(context, source, &origin) {
        None
    } else {
        check_origin(dir, &token, &origin, context.global.trust_service).map_err(not_trusted)?
    };
    let opened = Budget::open(dir, &origin, &token, account.budget).and_then(|budget| {
        if let Some(mirror) = account.mirror {
            budget.remember(dir, mirror, &origin)?;
        }
        Ok(budget)
    });
    let budget = opened.map_err(|error| {
        let message = format!("failed to open the request budget in {}", dir.display());
        Failure::from(anyhow::Error::new(error).context(message)).help(OTHER_DIR)
    })?;
    let mut options = ClientOptions::new(account.service, token, budget);
    options.allow_insecure_http = context.global.insecure_http;
    options.token_accepted = visit.map(|visit| -> TokenAccepted {
        Arc::new(move || visit.remember().map_err(|error| error.to_string()))
    });
    set(&mut options);
    Client::new(options).map_err(|error| {
        let is_usage = !matches!(error, ClientError::Header | ClientError::Tls(_));
        let mut failure = Failure::from(error);
        if is_usage {
            failure.code = ExitCode::Usage;
        }
        failure
    })
}

/// Reads the token. The caller has checked that the user agreed to the token's source.
pub(super) fn read_token(context: &Context, account: Account<'_>) -> Result<Token, Failure> {
    let source = account.token.ok_or_else(TokenSource::missing)?;
    let secret = source.read(&*context.env, account.token_folder)?;
    Token::new(secret.expose_secret())
        .map_err(|error| Failure::usage(error.to_string(), "leave only the token there"))
}

fn not_trusted(error: OriginError) -> Failure {
    match &error {
        OriginError::Elsewhere { known, asked } => Failure::usage(
            format!(
                "this token belongs to {}, and was not sent to {asked}",
                known.join(", ")
            ),
            format!("check `service:`; if {asked} is right, allow it with --trust-service"),
        ),
        OriginError::Unknown { .. } => Failure::from(error).help(OTHER_DIR),
    }
}
