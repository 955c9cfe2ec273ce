//! The access token: a secret that cannot be printed.
//!
//! The type has no `Display`, its `Debug` says `[redacted]`, and its memory is wiped on drop. Only the client reads
//! it, for the `Authorization` header.

use crate::model::Digest;
use secrecy::{ExposeSecret, SecretString};
use std::fmt;

/// An access token (`docs/api.md`, A5).
#[derive(Clone)]
pub struct Token(SecretString);

/// The reasons why a text cannot be a token. The error does not show the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenError {
    /// Nothing but white space.
    #[error("the token is empty")]
    Empty,
    /// The text has characters that are invalid in a header.
    #[error("the token has characters that cannot be sent, such as line breaks or spaces")]
    Unsendable,
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.0.expose_secret() == other.0.expose_secret()
    }
}

impl Eq for Token {}

impl Token {
    /// Makes a token. White space around the text is removed, because files and commands add it.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TokenError::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Unsendable);
        }
        Ok(Self(SecretString::from(text)))
    }

    /// Returns the value of the `Authorization` header.
    pub(super) fn bearer(&self) -> SecretString {
        SecretString::from(format!("Bearer {}", self.0.expose_secret()))
    }

    /// Returns a hash for file names, different for each use. It reveals nothing about the token.
    pub(super) fn fingerprint(&self, about: &[&str]) -> String {
        let mut parts: Vec<&[u8]> = vec![b"kbsync token", self.0.expose_secret().as_bytes()];
        parts.extend(about.iter().map(|part| part.as_bytes()));
        let mut text = Digest::of_parts(&parts).to_string();
        text.truncate(32);
        text
    }

    /// Redacts the token from a text that came from outside (failures row 131), also where the text was cut within
    /// the token.
    pub(super) fn redact(&self, text: &str) -> String {
        const REDACTED: &str = "[redacted]";
        let secret = self.0.expose_secret();
        let mut clean = text.replace(secret, REDACTED);
        let uncut = clean.trim_end_matches('…').len();
        let cut_off = (4..secret.len())
            .rev()
            .find(|&length| clean[..uncut].ends_with(&secret[..length]));
        if let Some(length) = cut_off {
            clean.replace_range(uncut - length..uncut, REDACTED);
        }
        clean
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANARY: &str = "CANARY-4711-token";

    #[test]
    fn f131_a_token_does_not_print() {
        let token = Token::new(&format!(" {CANARY}\n")).expect("a token");
        assert_eq!(format!("{token:?} {token:#?}"), "[redacted] [redacted]");
        assert!(!token.fingerprint(&["x"]).contains("4711"));
        assert_eq!(
            token.redact(&format!("bad token {CANARY}!")),
            "bad token [redacted]!"
        );
        assert_eq!(
            token.redact("bad token CANARY-47…"),
            "bad token [redacted]…"
        );
        assert_eq!(token.redact("a CAN"), "a CAN");
    }

    #[test]
    fn a_token_that_cannot_be_sent_is_refused_without_being_shown() {
        assert_eq!(Token::new(" \n").err(), Some(TokenError::Empty));
        for text in ["a b", "a\r\nX-Evil: 1", "schlüssel"] {
            let error = Token::new(text).expect_err("unsendable");
            assert_eq!(error, TokenError::Unsendable);
            assert!(!format!("{error} {error:?}").contains(text));
        }
    }

    #[test]
    fn fingerprints_differ_by_token_and_use() {
        let [a, b] = ["a", "b"].map(|text| Token::new(text).expect("a token"));
        assert_ne!(a.fingerprint(&["x"]), b.fingerprint(&["x"]));
        assert_ne!(a.fingerprint(&["x"]), a.fingerprint(&["y"]));
        assert_eq!(a.fingerprint(&["x"]), a.fingerprint(&["x"]));
    }
}
