//! The source of the token, and how the token is read from it.
//!
//! The token is never part of a message: neither the file's content, nor the variable's value, nor the command's
//! output. Only the error output of a failed command is shown, because it contains the reason.

use super::{ConfigError, Env, consent::without_links};
use crate::model::time::in_words;
use crate::programs::{self, Ended, Unanswered};
use secrecy::SecretString;
use std::{
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::Once,
    time::{Duration, Instant},
};

/// The time limit for a token command: enough to type a passphrase.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(1);

/// The longest token that makes sense, in bytes.
const MAX_TOKEN: u64 = 64 * 1024;

const WAYS: &str = "make one in your account on the service, and set KBSYNC_TOKEN (or KBSYNC_TOKEN_FILE, or `token:` \
                    in kbsync.yaml):\n  export KBSYNC_TOKEN=…";

/// The source of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TokenSource {
    /// A file with the token and nothing else.
    File(PathBuf),
    /// An environment variable.
    Env(String),
    /// A shell command that prints the token.
    Command(String),
}

impl TokenSource {
    /// Reads the token. If others may read the file, a warning is logged. A command runs in the folder of its settings,
    /// so that a relative path in it means the program to which the user agreed, wherever the user is.
    pub fn read(&self, env: Env<'_>, folder: Option<&Path>) -> Result<SecretString, ConfigError> {
        match self {
            Self::File(path) => from_file(path),
            Self::Env(name) => match env(name) {
                Some(value) => checked(&value, &format!("the variable {name}")),
                None => Err(ConfigError::new(
                    format!("there is no token: the variable {name} is not set"),
                    format!("set {name}, or change `token:` in kbsync.yaml"),
                )),
            },
            Self::Command(command) => from_command(command, folder, COMMAND_TIMEOUT),
        }
    }

    /// Returns the source in one line, as agreements store it.
    pub fn text(&self) -> String {
        match self {
            Self::File(path) => format!("file {}", path.display()),
            Self::Env(name) => format!("env {name}"),
            Self::Command(command) => format!("command {command}"),
        }
    }

    /// Names the source to people, without the text of a command.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Env(name) => format!("the variable {name}"),
            Self::Command(_) => "a command".to_owned(),
        }
    }

    /// Resolves the links of a file's path. The agreement is to the resolved file: if a link is changed later, the
    /// agreement is void.
    pub(super) fn without_links(&self) -> Self {
        match self {
            Self::File(path) => Self::File(without_links(path)),
            Self::Env(_) | Self::Command(_) => self.clone(),
        }
    }

    /// Makes the error for a token without a source.
    pub fn missing() -> ConfigError {
        ConfigError::new("there is no token", WAYS)
    }
}

/// Trims white space, and refuses characters that are invalid in a header.
fn checked(text: &str, from: &str) -> Result<SecretString, ConfigError> {
    let token = text.trim();
    if token.is_empty() {
        return Err(ConfigError::new(format!("{from} holds no token"), WAYS));
    }
    if !token.chars().all(|c| c.is_ascii_graphic()) {
        return Err(ConfigError::new(
            format!(
                "{from} holds no usable token: it has spaces, line breaks or special characters inside"
            ),
            "put the token there alone, without quotes and without `Bearer`",
        ));
    }
    Ok(SecretString::from(token.to_owned()))
}

fn from_file(path: &Path) -> Result<SecretString, ConfigError> {
    let unreadable = |source: std::io::Error| {
        ConfigError::of_file(
            path,
            format!("the token file cannot be read: {}", reason(&source)),
            "check the path in `token: {file: …}` or KBSYNC_TOKEN_FILE, and the file's rights",
        )
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    warn_if_open_to_others(path, &file.metadata().map_err(unreadable)?);
    let mut text = String::new();
    file.take(MAX_TOKEN)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    checked(&text, &format!("the token file {}", path.display()))
}

fn reason(error: &std::io::Error) -> String {
    let kind = error.kind();
    if kind == std::io::ErrorKind::NotFound {
        "it does not exist".to_owned()
    } else if kind == std::io::ErrorKind::InvalidData {
        "it is not text".to_owned()
    } else {
        error.to_string()
    }
}

fn warn_if_open_to_others(path: &Path, metadata: &std::fs::Metadata) {
    // The daemon reads the file of a refused token again and again.
    static ONCE: Once = Once::new();
    if metadata.permissions().mode() & 0o077 != 0 {
        ONCE.call_once(|| {
            tracing::warn!(
                path = %path.display(),
                "others on this machine may read the token file; `chmod 600` closes it"
            );
        });
    }
}

fn from_command(
    command: &str,
    folder: Option<&Path>,
    timeout: Duration,
) -> Result<SecretString, ConfigError> {
    let failed = |why: String| {
        ConfigError::new(
            format!("the token command `{command}` {why}"),
            "run it by hand; it must print the token, and nothing else, to stdout",
        )
    };
    let mut shell = Command::new("sh");
    if let Some(folder) = folder {
        shell.current_dir(folder);
    }
    shell.args(["-c", command]);
    let deadline = Instant::now() + timeout;
    let ended = programs::run(shell, None, MAX_TOKEN, deadline);
    let Ended { out, said, status } = ended.map_err(|unanswered| match unanswered {
        Unanswered::Failed(error) => failed(format!("failed: {error}")),
        Unanswered::Late => failed(format!("did not end within {}", in_words(timeout))),
        Unanswered::TooMuch => failed("printed more than a token".to_owned()),
    })?;
    if !status.success() {
        let said = if said.is_empty() {
            said
        } else {
            format!(": {said}")
        };
        return Err(failed(format!("failed ({status}){said}")));
    }
    let text = String::from_utf8(out).map_err(|_| failed("printed no text".to_owned()))?;
    checked(&text, &format!("the output of `{command}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret as _;

    fn no_env(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn tokens_come_from_files_variables_and_commands() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("token");
        std::fs::write(&file, "  abc123\n").expect("written");
        let env = |name: &str| (name == "KB").then(|| "abc123".to_owned());
        for source in [
            TokenSource::File(file),
            TokenSource::Env("KB".into()),
            TokenSource::Command("echo abc123".into()),
        ] {
            let token = source.read(&env, None).expect("a token");
            assert_eq!(token.expose_secret(), "abc123", "{source:?}");
        }
    }

    #[test]
    fn f131_a_failed_source_never_shows_the_token() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("token");
        std::fs::write(&file, "CANARY in two words").expect("written");
        for (source, says) in [
            (TokenSource::File(file), "no usable token"),
            (TokenSource::File(dir.path().join("none")), "does not exist"),
            (TokenSource::Env("KB".into()), "KB is not set"),
            (
                TokenSource::Command("echo CAN''ARY; echo no key >&2; exit 3".into()),
                "no key",
            ),
            (TokenSource::Command("true".into()), "holds no token"),
            (
                TokenSource::Command("echo CAN''ARY x".into()),
                "no usable token",
            ),
        ] {
            let error = source.read(&no_env, None).expect_err("no token");
            assert!(error.message.contains(says), "{}", error.message);
            assert!(!error.remedy.is_empty());
            assert!(!format!("{error} {error:?}").contains("CANARY"));
        }
    }

    #[test]
    fn a_command_runs_in_the_folder_of_the_mirror() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("token"), "abc123").expect("written");
        let source = TokenSource::Command("cat ./token".into());
        let token = source.read(&no_env, Some(dir.path())).expect("a token");
        assert_eq!(token.expose_secret(), "abc123");
        source.read(&no_env, None).expect_err("no such file here");
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        for command in ["sleep 60", "exec >&- 2>&-; sleep 60"] {
            let error =
                from_command(command, None, Duration::from_millis(20)).expect_err("too slow");
            assert!(error.message.contains("did not end within 20ms"), "{error}");
        }
    }
}
