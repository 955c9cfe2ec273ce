//! The service that a token belongs to: the first service that accepted the token (failures row 133).
//!
//! A cloned repository whose settings name another host must not get the token. The user's state directory has a file
//! for each token, with a hash of the token as its name and the origins as its text. Loopback origins are bound like
//! all others, because any user of a shared machine may listen on a port. The sandbox's own token is no secret, and
//! the commands do not bind it.

use super::token::Token;
use crate::files::{self, if_there};
use crate::model::host::{base_address, is_this_machine};
use reqwest::Url;
use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// Scheme, host and port of a service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin(String);

impl Origin {
    /// Returns the origin of a base address.
    pub fn of(base_url: &str) -> Result<Self, AddressError> {
        Ok(Self::of_url(&parse_address(base_url)?))
    }

    pub(super) fn of_url(url: &Url) -> Self {
        Self(url.origin().ascii_serialization())
    }

    /// Returns the text, such as `https://kb.example.com`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the origin is this machine.
    pub fn is_loopback(&self) -> bool {
        let authority = self.0.split_once("://").map(|(_scheme, rest)| rest);
        authority.is_some_and(is_this_machine)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Why a text is no base address.
#[derive(Debug, thiserror::Error)]
#[error("the service's address {0}")]
pub struct AddressError(&'static str);

/// Parses a base address. The path of the result ends with `/`.
pub(super) fn parse_address(text: &str) -> Result<Url, AddressError> {
    let address = base_address(text).map_err(AddressError)?;
    Url::parse(&format!("{address}/")).map_err(|_| AddressError("has no usable host name"))
}

/// The reasons why a token is not sent.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// The token belongs to another service.
    #[error("this token belongs to {}; it was not sent to {asked} (--trust-service allows it)", known.join(", "))]
    Elsewhere {
        /// The origins that may receive the token.
        known: Vec<String>,
        /// The origin that the token was not sent to.
        asked: String,
    },
    /// The record cannot be read or written.
    #[error("cannot tell which service the token belongs to: {}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// Checks whether an origin may receive a token. `dir` is the user's state directory.
///
/// `trust` allows any origin. Returns the record to write when the service at this origin has accepted the token, so
/// that the token is not bound to a mistyped address. `None`: the origin is recorded already.
pub fn check_origin(
    dir: &Path,
    token: &Token,
    origin: &Origin,
    trust: bool,
) -> Result<Option<FirstVisit>, OriginError> {
    let folder = dir.join("origins");
    let visit = FirstVisit {
        path: folder.join(token.fingerprint(&["origin"])),
        origin: origin.clone(),
        trust,
    };
    let known = visit.known()?;
    if known.iter().any(|known| known == origin.as_str()) {
        return Ok(None);
    }
    if !known.is_empty() && !trust {
        return Err(visit.elsewhere(known));
    }
    // If the folder cannot be made, the token cannot be bound, so it is not sent.
    files::make_folder(&folder).map_err(|source| visit.unknown(source))?;
    Ok(Some(visit))
}

/// An origin that receives a token for the first time.
#[derive(Clone, Debug)]
pub struct FirstVisit {
    path: PathBuf,
    origin: Origin,
    trust: bool,
}

impl FirstVisit {
    /// Records that the token belongs to this origin.
    pub fn remember(&self) -> Result<(), OriginError> {
        let mut known = self.known()?;
        if known.iter().any(|known| known == self.origin.as_str()) {
            return Ok(());
        }
        if !known.is_empty() && !self.trust {
            return Err(self.elsewhere(known));
        }
        known.push(self.origin.to_string());
        let text = known.join("\n") + "\n";
        files::replace(&self.path, text.as_bytes()).map_err(|source| self.unknown(source))
    }

    /// Returns the origins that may receive the token; none if there is no file yet.
    fn known(&self) -> Result<Vec<String>, OriginError> {
        let text = if_there(std::fs::read_to_string(&self.path));
        match text.map_err(|source| self.unknown(source))? {
            Some(text) if text.is_empty() => {
                let empty = io::Error::new(io::ErrorKind::InvalidData, "it is empty");
                Err(self.unknown(empty))
            }
            text => Ok(text
                .unwrap_or_default()
                .lines()
                .map(str::to_owned)
                .collect()),
        }
    }

    fn elsewhere(&self, known: Vec<String>) -> OriginError {
        OriginError::Elsewhere {
            known,
            asked: self.origin.to_string(),
        }
    }

    fn unknown(&self, source: io::Error) -> OriginError {
        OriginError::Unknown {
            path: self.path.clone(),
            source,
        }
    }
}

#[cfg(test)]
mod tests;
