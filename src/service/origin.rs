//! Which service a token belongs to: the first that answered to it (failures row 133).
//!
//! A cloned repository whose settings name another host must not get the token. What is remembered is
//! a hash of the token and the origin's text, a file for each token in the user's state directory.
//! Loopback origins are neither blocked nor remembered: a sandbox has a new port each time, and what
//! is sent there stays on this machine.

use super::token::Token;
use reqwest::Url;
use std::{
    fmt,
    fs::DirBuilder,
    io::{self, Write},
    net::IpAddr,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// Scheme, host and port of a service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    text: String,
    loopback: bool,
}

impl Origin {
    /// The origin of a base address.
    pub fn of(base_url: &str) -> Result<Self, AddressError> {
        Ok(Self::of_url(&parse_address(base_url)?))
    }

    pub(super) fn of_url(url: &Url) -> Self {
        Self {
            text: url.origin().ascii_serialization(),
            loopback: is_loopback(url),
        }
    }

    /// The text, such as `https://kb.example.com`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Tells whether it is this machine.
    pub fn is_loopback(&self) -> bool {
        self.loopback
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// Why a text is no base address.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// Not a URL.
    #[error("{text:?} is no address such as https://kb.example.com")]
    NotAnAddress {
        /// The text.
        text: String,
    },
    /// Neither `https` nor `http`.
    #[error("the service's address starts with {scheme}:, not with https:")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// A name or password, a query or a fragment in the address.
    #[error("the service's address has a {part} in it; leave it out")]
    Extra {
        /// What it has.
        part: &'static str,
    },
}

/// Reads a base address; the answer's path ends with `/`.
pub(super) fn parse_address(text: &str) -> Result<Url, AddressError> {
    let not_an_address = || AddressError::NotAnAddress {
        text: without_userinfo(text),
    };
    let mut url = Url::parse(text.trim()).map_err(|_| not_an_address())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(AddressError::Scheme {
            scheme: url.scheme().to_owned(),
        });
    }
    let extra = [
        (!url.username().is_empty() || url.password().is_some()).then_some("name or password"),
        url.query().map(|_| "query"),
        url.fragment().map(|_| "fragment"),
    ];
    if let Some(part) = extra.into_iter().flatten().next() {
        return Err(AddressError::Extra { part });
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// What can be shown of a text that may hold a password.
fn without_userinfo(text: &str) -> String {
    text.rsplit('@').next().unwrap_or_default().to_owned()
}

fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Why a token is not sent.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// It belongs to another service.
    #[error("this token belongs to {}; it was not sent to {asked} (--trust-service allows it)", known.join(", "))]
    Elsewhere {
        /// The origins it may be sent to.
        known: Vec<String>,
        /// The origin it was to be sent to.
        asked: String,
    },
    /// What is remembered cannot be read or written.
    #[error("cannot tell which service the token belongs to: {}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Checks that a token may be sent to an origin. Writes nothing; `dir` is the user's state directory.
///
/// With `trust` any origin may have it. Gives what is to be remembered as soon as a service has answered there as one
/// does: an address with a slip in it must not be what the token belongs to from then on. `None`: it is known,
/// or is this machine.
pub fn check_origin(
    dir: &Path,
    token: &Token,
    origin: &Origin,
    trust: bool,
) -> Result<Option<FirstVisit>, OriginError> {
    if origin.is_loopback() {
        return Ok(None);
    }
    let folder = dir.join("origins");
    let visit = FirstVisit {
        path: folder.join(token.fingerprint(&["origin"])),
        folder,
        origin: origin.clone(),
        trust,
    };
    let known = visit.known()?;
    if known.iter().any(|known| known == origin.as_str()) {
        return Ok(None);
    }
    if known.is_empty() || trust {
        return Ok(Some(visit));
    }
    Err(visit.elsewhere(known))
}

/// An origin that a token goes to for the first time.
#[derive(Clone, Debug)]
pub struct FirstVisit {
    folder: PathBuf,
    path: PathBuf,
    origin: Origin,
    trust: bool,
}

impl FirstVisit {
    /// Remembers the origin for the token: the first there is, or one that somebody trusts.
    pub fn remember(&self) -> Result<(), OriginError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(|source| self.unknown(source))?;
        // Of two processes that are first at the same time one wins, and the other reads what it wrote.
        let first = format!("{}\n", self.origin);
        if write_new(&self.folder, &self.path, &first).map_err(|source| self.unknown(source))? {
            return Ok(());
        }
        let mut known = self.known()?;
        if known.iter().any(|known| known == self.origin.as_str()) {
            return Ok(());
        }
        if !self.trust {
            return Err(self.elsewhere(known));
        }
        known.push(self.origin.to_string());
        replace(&self.folder, &self.path, &(known.join("\n") + "\n"))
            .map_err(|source| self.unknown(source))
    }

    /// The origins that the token may be sent to; none yet, when no file is there.
    fn known(&self) -> Result<Vec<String>, OriginError> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(self.unknown(source)),
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

/// Writes a file that was not there, whole or not at all; says whether it did.
fn write_new(folder: &Path, path: &Path, text: &str) -> io::Result<bool> {
    if path.try_exists()? {
        return Ok(false);
    }
    match written(folder, text)?.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

fn replace(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    written(folder, text)?
        .persist(path)
        .map_err(|error| error.error)?;
    Ok(())
}

/// A temporary file (0600) with this text, safe on the disk.
fn written(folder: &Path, text: &str) -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn origin(url: &str) -> Origin {
        Origin::of(url).expect("an address")
    }

    #[test]
    fn f133_a_token_stays_with_the_first_origin_it_was_used_with() {
        let dir = tempfile::tempdir().expect("a folder");
        let token = Token::new("canary-4711").expect("a token");
        let check = |url, trust| {
            let visit = check_origin(dir.path(), &token, &origin(url), trust)?;
            visit.map_or(Ok(()), |visit| visit.remember())
        };

        check("https://kb.example.com/help/", false).expect("the first");
        check("https://kb.example.com", false).expect("the same origin");
        for other in [
            "https://evil.example",
            "https://kb.example.com:8443",
            "http://kb.example.com",
        ] {
            let error = check(other, false).expect_err("another origin");
            assert!(matches!(error, OriginError::Elsewhere { .. }), "{error}");
            assert!(!error.to_string().contains("4711"));
            assert!(
                error.to_string().contains("https://kb.example.com"),
                "{error}"
            );
        }
        check("https://kb2.example.com", true).expect("trusted");
        check("https://kb2.example.com", false).expect("remembered");
        check("https://kb.example.com", false).expect("not forgotten");
        let other = Token::new("another").expect("a token");
        check_origin(dir.path(), &other, &origin("https://evil.example"), false)
            .expect("another token is free");
    }

    #[test]
    fn f133_an_address_that_never_answered_does_not_get_the_token_for_good() {
        let dir = tempfile::tempdir().expect("a folder");
        let token = Token::new("canary-4711").expect("a token");
        let check = |url| check_origin(dir.path(), &token, &origin(url), false);

        let slip = check("https://kb.exmaple.com").expect("the first");
        let right = check("https://kb.example.com").expect("none is known");
        right
            .expect("to be remembered")
            .remember()
            .expect("remembered");
        let error = slip.expect("to be remembered").remember();
        assert!(matches!(error, Err(OriginError::Elsewhere { .. })));
        assert!(check("https://kb.example.com").expect("known").is_none());
        check("https://kb.exmaple.com").expect_err("another origin");
    }

    #[test]
    fn f141_what_is_remembered_is_private_and_has_no_token() {
        let dir = tempfile::tempdir().expect("a folder");
        let token = Token::new("canary-4711").expect("a token");
        check_origin(dir.path(), &token, &origin("https://kb.example.com"), false)
            .expect("first")
            .expect("to be remembered")
            .remember()
            .expect("remembered");
        let folder = dir.path().join("origins");
        let mode =
            |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        for file in std::fs::read_dir(&folder).expect("readable") {
            let path = file.expect("a file").path();
            assert_eq!(mode(&path), 0o600);
            assert!(!path.to_string_lossy().contains("4711"));
            assert!(
                !std::fs::read_to_string(&path)
                    .expect("text")
                    .contains("4711")
            );
        }
    }

    #[test]
    fn loopback_origins_are_neither_blocked_nor_remembered() {
        let dir = tempfile::tempdir().expect("a folder");
        let token = Token::new("canary").expect("a token");
        for url in [
            "http://127.0.0.1:4000",
            "http://[::1]:9",
            "http://localhost:1",
        ] {
            assert!(origin(url).is_loopback(), "{url}");
            check_origin(dir.path(), &token, &origin(url), false).expect("loopback");
        }
        check_origin(dir.path(), &token, &origin("https://kb.example.com"), false).expect("first");
        check_origin(dir.path(), &token, &origin("http://127.0.0.1:4"), false).expect("loopback");
        for url in [
            "http://127.0.0.1.evil.example",
            "http://localhost.evil.example",
        ] {
            assert!(!origin(url).is_loopback(), "{url}");
        }
    }

    #[test]
    fn an_unreadable_memory_sends_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let token = Token::new("canary").expect("a token");
        let folder = dir.path().join("origins");
        std::fs::create_dir_all(folder.join(token.fingerprint(&["origin"]))).expect("in the way");
        let error = check_origin(dir.path(), &token, &origin("https://a.example"), false)
            .expect_err("a folder in the way");
        assert!(matches!(error, OriginError::Unknown { .. }));
    }

    #[test]
    fn addresses_are_checked() {
        for (text, path) in [
            ("https://kb.example.com", "/"),
            ("https://kb.example.com/", "/"),
            ("https://kb.example.com/help", "/help/"),
            (" https://kb.example.com/help/ ", "/help/"),
        ] {
            assert_eq!(parse_address(text).expect(text).path(), path);
        }
        for text in [
            "kb.example.com",
            "ftp://kb.example.com",
            "https://user:geheim@kb.example.com",
            "https://kb.example.com?x=1",
            "user:geheim@kb",
        ] {
            let error = parse_address(text).expect_err(text).to_string();
            assert!(!error.contains("geheim"), "{error}");
        }
    }
}
