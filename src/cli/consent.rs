//! Asks for consent before kbsync reads or sends a token only because a settings file says so.
//!
//! On a terminal the user sees the token's source and the host that gets the token, and answers. Without a terminal the
//! command ends with exit code 2 and names the command to type. Until then nothing is read, run or sent.

use super::{ask, context::Context, failure::Failure, print::escape};
use crate::{
    config::{Asked, Config, MaxDeletes, TokenSource, consent::TOKEN_VARIABLE},
    model::path::quoted,
    sandbox,
    service::origin::Origin,
};
use std::path::Path;

/// Refuses settings that the user did not agree to. Never asks.
pub(super) fn check(context: &Context, config: &Config) -> Result<(), Failure> {
    match missing(context, config)? {
        None => Ok(()),
        Some(asked) => Err(refused(context, &config.mirror, asked)),
    }
}

/// Refuses settings that the user did not agree to, or asks on a terminal and records a yes. Fails if there is no
/// token.
pub(super) fn settle(context: &Context, config: &Config) -> Result<(), Failure> {
    if config.token.is_none() {
        return Err(TokenSource::missing().into());
    }
    let Some(asked) = missing(context, config)? else {
        return Ok(());
    };
    if !ask::possible() || context.out.json || context.out.quiet {
        return Err(refused(context, &config.mirror, asked));
    }
    context
        .out
        .note("The settings of this folder name a service that you have not agreed to:");
    for line in shown(config, asked) {
        context.out.note(line);
    }
    if !ask::agrees("Do you trust this folder?")? {
        return Err(refused(context, &config.mirror, asked));
    }
    asked.agree(&config.user_state_dir)?;
    Ok(())
}

/// Warns that a limit in the settings is ignored.
pub(super) fn warn_of_limits(config: &Config) {
    if config.ignored_limit.is_some() {
        tracing::warn!(
            "`max_deletes` in kbsync.yaml is above the default and is ignored until you run `kbsync trust`"
        );
    }
}

/// Returns the request of the settings if the user did not agree to it.
fn missing<'c>(context: &Context, config: &'c Config) -> Result<Option<&'c Asked>, Failure> {
    let asked = config.asked.as_ref().filter(|asked| asked.needed);
    // Without a token there is nothing to agree to yet.
    let Some((asked, source)) = asked.zip(config.token.as_ref()) else {
        return Ok(None);
    };
    let is_free =
        Origin::of(&config.service).is_ok_and(|origin| is_sandbox(context, source, &origin));
    if is_free || asked.is_agreed(&config.user_state_dir)? {
        return Ok(None);
    }
    Ok(Some(asked))
}

/// Returns whether this is a sandbox of this machine with the sandbox's own token, which is no secret.
pub(super) fn is_sandbox(context: &Context, source: &TokenSource, origin: &Origin) -> bool {
    let is_public = |name: &str| {
        name == TOKEN_VARIABLE
            && (context.env)(name).is_some_and(|token| token.trim() == sandbox::TOKEN)
    };
    origin.is_loopback() && matches!(source, TokenSource::Env(name) if is_public(name))
}

/// Returns the lines that show a folder's request.
pub(super) fn shown(config: &Config, asked: &Asked) -> Vec<String> {
    let service = escape(&asked.service);
    let mut lines = vec![
        format!("  folder   {}", escape(&asked.folder.to_string_lossy())),
        format!("  service  {service}, which gets the token"),
        format!("  token    {}", escape(&described(&asked.source))),
    ];
    lines.extend(config.ignored_limit.map(|limit| {
        let MaxDeletes { count, percent } = limit;
        format!("  limit    up to {count} deletions at once, or {percent} % of the articles, are not held")
    }));
    lines
}

fn described(source: &TokenSource) -> String {
    match source {
        TokenSource::Env(name) if name == TOKEN_VARIABLE => {
            "your own, from KBSYNC_TOKEN or KBSYNC_TOKEN_FILE".to_owned()
        }
        TokenSource::Env(name) => format!("the value of the variable {name}"),
        TokenSource::File(path) => format!("the text of the file {}", path.display()),
        TokenSource::Command(command) => format!("the output of the command `{command}`"),
    }
}

fn refused(context: &Context, mirror: &Path, asked: &Asked) -> Failure {
    let message = format!(
        "the settings of {} would send a token to {}, and you have not agreed to that: {}",
        asked.folder.display(),
        asked.service,
        described(&asked.source)
    );
    Failure::usage(
        // These texts may be somebody else's: escaping keeps them from forging a line.
        escape(&message).into_owned(),
        format!(
            "if you trust that folder, run `{}`",
            command(context, mirror)
        ),
    )
}

/// Returns the command that records the agreement, ready to type.
fn command(context: &Context, mirror: &Path) -> String {
    match &context.global.config {
        Some(file) => format!(
            "kbsync --config {} trust",
            quoted(&context.current.join(file).to_string_lossy())
        ),
        None => format!("kbsync trust {}", quoted(&mirror.to_string_lossy())),
    }
}
