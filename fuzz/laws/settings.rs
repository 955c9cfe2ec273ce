//! Settings: any text is read, or refused with a line of it.

/// What reading settings comes to: a fault has its line and its words.
type Read = Result<(), (usize, String)>;

/// A fault names a line that is there, and does not repeat what could be a token.
pub(crate) fn hold(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let read = kbsync::config::try_text(text);
    remarked(text, &read);
    extended(text, &read);
    if let Err((line, message)) = read {
        let lines = text.lines().count().max(1);
        assert!(
            line >= 1 && line <= lines + 1,
            "line {line} of {lines}: {message}"
        );
        assert!(!message.is_empty());
        assert!(!message.contains("canary0of1a2token3"), "{message}");
    }
}

/// A remark above changes nothing, and a fault is a line further down.
fn remarked(text: &str, read: &Read) {
    // A byte order mark is one only at the beginning.
    if text.starts_with('\u{feff}') {
        return;
    }
    let again = kbsync::config::try_text(&format!("# a remark\n{text}"));
    let moved = read.clone().map_err(|(line, message)| (line + 1, message));
    assert_eq!(again, moved, "below a remark");
}

/// A key that there is none of is refused, by its name and its line, whatever is above it.
fn extended(text: &str, read: &Read) {
    let in_block = text.starts_with(|c: char| c.is_ascii_lowercase()) && text.ends_with('\n');
    let documents = text
        .lines()
        .any(|line| line.starts_with("---") || line.starts_with("..."));
    if read.is_err() || !in_block || documents {
        return;
    }
    let again = kbsync::config::try_text(&format!("{text}polk: 5m\n"));
    let (line, message) = again.expect_err("there is no such key");
    assert_eq!(line, text.lines().count() + 1, "{message}");
    assert!(message.contains("polk"), "{message}");
}
