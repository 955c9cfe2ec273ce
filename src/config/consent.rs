//! Consent: the user's agreement to the host and the token's source of a settings file.
//!
//! A settings file may come from somebody else. The file names the host that gets the token, and may name a command to
//! run, a variable or a file to read. The user agrees to three things together: the folder of the settings, the
//! service's origin, and the source of the token. Each folder has one record in the user's state directory. Another
//! origin or another source voids the agreement.
//!
//! A token from `KBSYNC_TOKEN` or `KBSYNC_TOKEN_FILE` needs an agreement to the host alone. This file stores the
//! records. The commands ask the user.

use super::{ConfigError, TokenSource};
use crate::files::{self, if_there};
use crate::model::Digest;
use serde::{Deserialize, Serialize};
use std::{
    io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// The variable of the token when no other source is named.
pub const TOKEN_VARIABLE: &str = "KBSYNC_TOKEN";

/// The host and the token's source that the settings of a folder ask for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// The folder of the settings file, without links.
    pub folder: PathBuf,
    /// The origin that gets the token, such as `https://kb.example.com`.
    pub service: String,
    /// The source of the token. [`TOKEN_VARIABLE`] stands for any source in the environment.
    pub source: TokenSource,
    /// Whether the file named the service or the source. Values from the environment need no consent.
    pub needed: bool,
}

/// A recorded agreement of the user.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// The folder of the settings file.
    pub folder: String,
    /// The origin that gets the token.
    pub service: String,
    /// The source of the token: `command …`, `env …` or `file …`.
    pub source: String,
}

impl Asked {
    /// Makes the request of a settings file in `folder`. `named` lists the parts that the file named.
    pub(super) fn new(
        folder: PathBuf,
        service: &str,
        token: Option<&TokenSource>,
        named: NamedParts,
    ) -> Self {
        let source = match token {
            Some(source) if named.token => source.without_links(),
            Some(_) | None => TokenSource::Env(TOKEN_VARIABLE.to_owned()),
        };
        Self {
            folder,
            service: origin(service).to_owned(),
            source,
            needed: named.service || named.token,
        }
    }

    /// Returns whether the user agreed. `dir` is the user's state directory.
    pub fn is_agreed(&self, dir: &Path) -> Result<bool, ConfigError> {
        let Some(agreed) = read(&record(dir, &self.folder))? else {
            return Ok(false);
        };
        let is_own = self.source == TokenSource::Env(TOKEN_VARIABLE.to_owned());
        Ok(agreed.service == self.service && (is_own || agreed.source == self.source.text()))
    }

    /// Records the agreement; it replaces an earlier agreement for the folder.
    pub fn agree(&self, dir: &Path) -> Result<Agreement, ConfigError> {
        let agreement = Agreement {
            folder: self.folder.to_string_lossy().into_owned(),
            service: self.service.clone(),
            source: self.source.text(),
        };
        let path = record(dir, &self.folder);
        write(&path, &agreement).map_err(|source| unusable(&path, "cannot be written", source))?;
        Ok(agreement)
    }
}

/// Which parts come from the settings file, and not from the environment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NamedParts {
    pub(super) service: bool,
    pub(super) token: bool,
}

/// Agrees to a service and the user's own token, for settings that `kbsync init` wrote into a folder.
pub fn agree_to_own(dir: &Path, folder: &Path, service: &str) -> Result<Agreement, ConfigError> {
    let named = NamedParts {
        service: true,
        token: false,
    };
    Asked::new(without_links(folder), service, None, named).agree(dir)
}

/// Revokes and returns an agreement. The folder may be gone.
pub fn revoke(dir: &Path, folder: &Path) -> Result<Option<Agreement>, ConfigError> {
    let folder = without_links(folder);
    let path = record(dir, &folder);
    let failed = |source| unusable(&path, "cannot be removed", source);
    let agreed = match read(&path) {
        // A damaged record is deleted, too.
        Err(error) if error.source.is_none() => Some(Agreement {
            folder: folder.to_string_lossy().into_owned(),
            service: String::new(),
            source: String::new(),
        }),
        read => read?,
    };
    if agreed.is_some() {
        std::fs::remove_file(&path).map_err(failed)?;
    }
    Ok(agreed)
}

/// Lists all agreements by their folders.
pub fn agreements(dir: &Path) -> Result<Vec<Agreement>, ConfigError> {
    let folder = dir.join(FOLDER);
    let failed = |source| unusable(&folder, "cannot be read", source);
    let entries = if_there(std::fs::read_dir(&folder)).map_err(failed)?;
    let mut agreed = Vec::new();
    for entry in entries.into_iter().flatten() {
        let path = entry.map_err(failed)?.path();
        // A file with another extension is an unfinished record.
        if path.extension().is_some_and(|ending| ending == ENDING) {
            agreed.extend(read(&path)?);
        }
    }
    agreed.sort_by(|one, other| one.folder.cmp(&other.folder));
    Ok(agreed)
}

/// The folder of the records, below the user's state directory.
const FOLDER: &str = "trust";
const ENDING: &str = "json";

fn record(dir: &Path, folder: &Path) -> PathBuf {
    let mut name = Digest::of_parts(&[b"kbsync trust", folder.as_os_str().as_bytes()]).to_string();
    name.truncate(32);
    dir.join(FOLDER).join(name).with_extension(ENDING)
}

fn read(path: &Path) -> Result<Option<Agreement>, ConfigError> {
    let text = if_there(std::fs::read(path));
    let Some(text) = text.map_err(|source| unusable(path, "cannot be read", source))? else {
        return Ok(None);
    };
    let damaged = |_unreadable| {
        ConfigError::of_file(
            path,
            "this record of consent is damaged",
            "remove the file, then agree again with `kbsync trust`",
        )
    };
    serde_json::from_slice(&text).map(Some).map_err(damaged)
}

fn write(path: &Path, agreement: &Agreement) -> io::Result<()> {
    files::make_folder(path.parent().unwrap_or(path))?;
    let mut text = serde_json::to_vec_pretty(agreement)?;
    text.push(b'\n');
    files::replace(path, &text)
}

fn unusable(path: &Path, what: &str, source: io::Error) -> ConfigError {
    ConfigError {
        source: Some(source),
        ..ConfigError::of_file(
            path,
            format!("the record of consent {what}"),
            "make that folder readable and writable, or name another folder in KBSYNC_USER_STATE_DIR",
        )
    }
}

/// Resolves the links of a path; returns the path unchanged if nothing exists there.
pub(super) fn without_links(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_not_there| path.to_owned())
}

/// Returns the scheme, host and port of a checked address.
fn origin(service: &str) -> &str {
    let host = service.find("://").map_or(0, |at| at + 3);
    let end = service[host..]
        .find('/')
        .map_or(service.len(), |at| host + at);
    &service[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// Makes the request of a settings file, with a `command:` if given.
    fn asked(folder: &Path, service: &str, command: Option<&str>) -> Asked {
        let token = command.map(|text| TokenSource::Command(text.to_owned()));
        asked_by(folder, service, token.as_ref())
    }

    fn asked_by(folder: &Path, service: &str, token: Option<&TokenSource>) -> Asked {
        let named = NamedParts {
            service: true,
            token: token.is_some(),
        };
        Asked::new(folder.to_owned(), service, token, named)
    }

    const SERVICE: &str = "https://kb.example.com";

    #[test]
    fn f133_consent_is_to_a_folder_a_host_and_a_source_together() {
        let dir = tempfile::tempdir().expect("a folder");
        let (here, there) = (Path::new("/srv/help"), Path::new("/srv/other"));
        let agreed = |asked: Asked| asked.is_agreed(dir.path()).expect("readable");
        let pass = || asked(here, &format!("{SERVICE}/help"), Some("pass show kb"));
        assert!(!agreed(pass()), "nobody agreed yet");
        let record = pass().agree(dir.path()).expect("written");
        assert_eq!(record.service, SERVICE);
        assert_eq!(record.source, "command pass show kb");
        assert!(agreed(pass()));
        assert!(agreed(asked(here, SERVICE, Some("pass show kb"))));
        assert!(agreed(asked(here, SERVICE, None)), "the user's own token");
        for other in [
            asked(there, SERVICE, Some("pass show kb")),
            asked(here, SERVICE, Some("pass show kb2")),
            asked_by(here, SERVICE, Some(&TokenSource::Env("KB".into()))),
            asked(here, "https://kb.example.com:8443", Some("pass show kb")),
            asked(here, "http://kb.example.com", Some("pass show kb")),
            asked(here, "https://evil.invalid", None),
        ] {
            assert!(!agreed(other.clone()), "{other:?}");
        }
        // An agreement to the user's own token runs no command.
        asked(here, SERVICE, None)
            .agree(dir.path())
            .expect("written");
        assert!(!agreed(pass()));
    }

    #[test]
    fn f141_records_are_private_listed_and_taken_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let gone = Path::new("/srv/removed");
        assert_eq!(agreements(dir.path()).expect("none"), []);
        for folder in [Path::new("/srv/zoo"), gone] {
            asked(folder, SERVICE, Some("pass show kb"))
                .agree(dir.path())
                .expect("written");
        }
        let mode =
            |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&dir.path().join(FOLDER)), 0o700);
        assert_eq!(mode(&record(dir.path(), gone)), 0o600);
        let folders = || -> Vec<String> {
            let all = agreements(dir.path()).expect("readable");
            all.into_iter().map(|one| one.folder).collect()
        };
        assert_eq!(folders(), ["/srv/removed", "/srv/zoo"]);
        let taken = revoke(dir.path(), gone).expect("removed").expect("one");
        assert_eq!(taken.folder, "/srv/removed");
        assert_eq!(folders(), ["/srv/zoo"]);
        assert_eq!(revoke(dir.path(), gone).expect("none"), None);
    }

    #[test]
    fn a_damaged_record_is_no_consent() {
        let dir = tempfile::tempdir().expect("a folder");
        let here = tempfile::tempdir().expect("a folder");
        let asked = asked(&without_links(here.path()), SERVICE, None);
        asked.agree(dir.path()).expect("written");
        std::fs::write(record(dir.path(), &asked.folder), "{").expect("damaged");
        let error = asked.is_agreed(dir.path()).expect_err("damaged");
        assert!(error.remedy.contains("trust"));
        revoke(dir.path(), here.path())
            .expect("removed")
            .expect("one");
        assert!(!asked.is_agreed(dir.path()).expect("none"));
    }

    #[test]
    fn a_token_file_in_the_folder_is_the_file_that_its_link_leads_to() {
        let here = tempfile::tempdir().expect("a folder");
        let folder = without_links(here.path());
        std::fs::write(folder.join("a"), "").expect("written");
        std::os::unix::fs::symlink("a", folder.join("token")).expect("a link");
        let token = TokenSource::File(folder.join("token"));
        let text = asked_by(&folder, SERVICE, Some(&token)).source.text();
        assert_eq!(text, format!("file {}", folder.join("a").display()));
    }
}
