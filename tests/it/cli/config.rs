//! Bad settings: each is reported with file, line, remedy and exit code, and nothing changes.

use crate::support::kb::{Kb, Service, WORKSPACE};

fn settings(more: &str) -> String {
    format!("service: https://kb.example.com\nworkspace: {WORKSPACE}\n{more}\n")
}

#[test]
fn bad_settings_name_file_line_and_remedy_and_change_nothing() {
    for (more, line, error, help) in [
        ("poll: [5m", 4, "this is not YAML", "indentation"),
        ("pol: 5m", 3, "unknown key `pol`", "did you mean `poll`?"),
        (
            "budget: {per_mint: 3}",
            3,
            "unknown key `per_mint` in `budget`",
            "`per_minute`",
        ),
        (
            "token: CANARY",
            3,
            "a token does not belong in the settings",
            "KBSYNC_TOKEN",
        ),
        (
            "rescan: often",
            3,
            "`rescan: often` is not a duration",
            "15s",
        ),
    ] {
        let mut kb = Kb::with_settings(&settings(more));
        kb.keeps_token_in("kbsync.yaml");
        let before = kb.files();
        let ran = kb.run(&["workspaces"]).exits(2);
        assert!(!ran.stderr.contains("CANARY"));
        ran.complains(&format!("kbsync.yaml:{line}: "), help)
            .complains(error, help);
        assert_eq!(kb.files(), before);
    }
}

#[test]
fn a_folder_that_is_no_mirror_says_how_to_make_it_one() {
    let kb = Kb::new();
    kb.run(&["workspaces"])
        .exits(2)
        .complains("is not a mirror", "kbsync init");
    kb.run(&["-C", "nowhere", "workspaces"])
        .exits(2)
        .complains("nowhere is not a folder", "-C");
    kb.run(&["--config", "other.yaml", "workspaces"])
        .exits(2)
        .complains("other.yaml: the settings file does not exist", "path");
    assert_eq!(kb.files(), []);
}

#[test]
fn without_a_token_every_way_to_give_one_is_named() {
    let mut kb = Kb::with_settings(&settings(""));
    kb.run(&["workspaces"])
        .exits(2)
        .complains("there is no token", "KBSYNC_TOKEN_FILE");
    kb.set("KBSYNC_TOKEN_FILE", "missing");
    kb.trust();
    kb.run(&["workspaces"])
        .exits(2)
        .complains("the token file cannot be read: it does not exist", "path");
}

#[test]
fn f134_http_to_a_public_host_is_refused() {
    let kb = Kb::with_settings("service: http://kb.example.com\n");
    kb.run(&["workspaces"]).exits(2).complains(
        "kbsync.yaml:1: the service's address is http://",
        "--insecure-http",
    );
}

#[test]
fn an_unreachable_host_is_to_be_tried_later() {
    // A port that was free a moment ago, so nothing listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port")
        .port();
    let mut kb = Kb::new();
    kb.set("KBSYNC_SERVICE", &format!("http://127.0.0.1:{port}"))
        .set("KBSYNC_TOKEN", "CANARY");
    let ran = kb.run(&["workspaces"]).exits(5);
    assert!(!ran.stderr.contains("CANARY"), "{}", ran.stderr);
    ran.complains("GET /api/bases", "network");
}

#[test]
fn a_service_from_the_environment_that_the_mirror_is_not_of_is_named_as_one() {
    let service = Service::start();
    let mut kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.set("KBSYNC_SERVICE", "https://kb.example.com");
    let ran = kb.run(&["status"]).exits(2);
    assert!(ran.stderr.contains("this folder mirrors"), "{ran:#?}");
    assert!(ran.stderr.contains("or KBSYNC_SERVICE"), "{ran:#?}");
}
