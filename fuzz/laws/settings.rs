//! Settings: any text is read, or refused with a line of it.

/// A fault names a line that is there, and does not repeat what could be a token.
pub(crate) fn hold(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Err((line, message)) = kbsync::config::try_text(text) {
        let lines = text.lines().count().max(1);
        assert!(
            line >= 1 && line <= lines + 1,
            "line {line} of {lines}: {message}"
        );
        assert!(!message.is_empty());
        assert!(!message.contains("canary0of1a2token3"), "{message}");
    }
}
