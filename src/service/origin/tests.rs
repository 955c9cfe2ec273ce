//! The service that a token belongs to: how a token is bound, and what is recorded.

use super::*;
use std::os::unix::fs::PermissionsExt;

fn origin(url: &str) -> Origin {
    Origin::of(url).expect("an address")
}

#[test]
fn f133_a_token_stays_with_the_first_origin_that_answered_to_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let token = Token::new("CANARY-4711").expect("a token");
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
    let token = Token::new("CANARY-4711").expect("a token");
    let check = |url| check_origin(dir.path(), &token, &origin(url), false);

    let slip = check("https://kb.exmaple.com").expect("the first");
    let right = check("https://kb.example.com").expect("none is known");
    let bound = right.expect("to be remembered").remember();
    bound.expect("remembered");
    let error = slip.expect("to be remembered").remember();
    assert!(matches!(error, Err(OriginError::Elsewhere { .. })));
    assert!(check("https://kb.example.com").expect("known").is_none());
    check("https://kb.exmaple.com").expect_err("another origin");
}

#[test]
fn f141_what_is_remembered_is_private_and_has_no_token() {
    let dir = tempfile::tempdir().expect("a folder");
    let token = Token::new("CANARY-4711").expect("a token");
    check_origin(dir.path(), &token, &origin("https://kb.example.com"), false)
        .expect("first")
        .expect("to be remembered")
        .remember()
        .expect("remembered");
    let folder = dir.path().join("origins");
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
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
fn f133_a_port_of_this_machine_is_an_origin_like_any_other() {
    let dir = tempfile::tempdir().expect("a folder");
    let token = Token::new("canary").expect("a token");
    let check = |url| check_origin(dir.path(), &token, &origin(url), false);
    check("http://127.0.0.1:4000")
        .expect("the first")
        .expect("to be remembered")
        .remember()
        .expect("remembered");
    assert!(check("http://127.0.0.1:4000").expect("known").is_none());
    for other in [
        "http://127.0.0.1:4001",
        "http://[::1]:4000",
        "http://localhost:4000",
    ] {
        let error = check(other).expect_err("another origin");
        assert!(matches!(error, OriginError::Elsewhere { .. }), "{error}");
    }
}

#[test]
fn a_name_that_only_looks_like_this_machine_is_another() {
    for url in [
        "http://127.0.0.1:4000",
        "http://[::1]:9",
        "http://localhost:1",
    ] {
        assert!(origin(url).is_loopback(), "{url}");
    }
    for url in [
        "http://127.0.0.1.evil.example",
        "http://localhost.evil.example",
    ] {
        assert!(!origin(url).is_loopback(), "{url}");
    }
}

#[test]
fn what_cannot_be_written_down_is_not_sent() {
    let dir = tempfile::tempdir().expect("a folder");
    let token = Token::new("canary").expect("a token");
    std::fs::write(dir.path().join("origins"), "").expect("in the way");
    let asked = origin("https://a.example");
    let error = check_origin(dir.path(), &token, &asked, false).expect_err("no folder");
    assert!(matches!(error, OriginError::Unknown { .. }));
    std::fs::remove_file(dir.path().join("origins")).expect("removed");
    let visit = check_origin(dir.path(), &token, &asked, false).expect("the first");
    let path = visit.expect("to be remembered").path;
    std::fs::write(path, "").expect("an empty file");
    let error = check_origin(dir.path(), &token, &asked, false).expect_err("empty");
    assert!(matches!(error, OriginError::Unknown { .. }));
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
