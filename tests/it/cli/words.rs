//! The common behaviour of all commands: usage, help, pipes, colours.

use crate::support::kb::{Kb, Service};
use kbsync::sandbox::NewSeed;

#[test]
fn wrong_usage_exits_2() {
    let kb = Kb::new();
    for arguments in [
        &[][..],
        &["explode"],
        &["init", "--nonsense"],
        &["-q", "-v", "man"],
    ] {
        let ran = kb.run(arguments).exits(2);
        assert!(ran.stdout.is_empty());
    }
    kb.run(&["--help"]).exits(0);
    kb.run(&["--version"]).exits(0);
}

#[test]
fn completions_and_manual_name_every_command() {
    let kb = Kb::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = kb.run(&["completions", shell]).exits(0);
        assert!(ran.stdout.contains("workspaces"), "{shell}");
    }
    let manual = kb.run(&["man"]).exits(0).stdout;
    assert!(manual.contains(".TH kbsync 1"));
    for command in [
        "init",
        "log",
        "show",
        "restore",
        "workspaces",
        "completions",
    ] {
        assert!(manual.contains(command), "{command}");
        let page = kb.run(&["man", command]).exits(0).stdout;
        assert!(page.contains(&format!(".TH kbsync-{command} 1")), "{page}");
    }
    let said = kb.run(&["man", "explode"]).exits(2).stderr;
    let wrong = "error: invalid value 'explode' for '[COMMAND]'";
    assert!(
        said.starts_with(wrong) && said.contains("workspaces"),
        "{said}"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_kbsync"))
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[test]
fn colours_are_for_those_who_ask() {
    let mut kb = Kb::new();
    let plain = kb.run(&["workspaces"]).stderr;
    assert!(plain.starts_with("error: "), "{plain}");
    let coloured = kb.run(&["--color", "always", "workspaces"]).stderr;
    assert!(coloured.starts_with("\u{1b}["), "{coloured}");
    kb.set("NO_COLOR", "1");
    assert_eq!(kb.run(&["workspaces"]).stderr, plain);
}

#[test]
fn a_log_filter_that_is_none_is_refused() {
    let mut kb = Kb::new();
    kb.set("KBSYNC_LOG", "kbsync=loud,=,");
    kb.run(&["man"]).exits(2).complains("KBSYNC_LOG", "info");
}

/// Texts that could end the front matter, begin another key, move the cursor or reverse a line.
const HOSTILE: [&str; 14] = [
    "a\n---\nid: 5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c",
    "---",
    "enabled: false",
    "'quoted\" & : # - ?",
    "| block",
    "> folded\nline",
    "\u{2028}line\u{2029}paragraph\u{85}next",
    "\u{1b}[2J\u{1b}]0;title\u{7}",
    "\u{202e}reversed\u{2066}",
    "*alias &anchor !!tag",
    "null",
    "\ttab and trailing \u{a0} ",
    "{{ template }} ${HOME} $(id) `id`",
    "<script>alert(1)</script><!-- --- -->",
];

#[test]
fn f129_f140_hostile_words_come_back_as_they_were_and_steer_nothing() {
    let service = Service::empty();
    let mut ids = Vec::new();
    for (number, words) in HOSTILE.into_iter().enumerate() {
        let slug = format!("c{number}");
        let workspace = service.sandbox.workspaces()[0].id;
        let category = service.sandbox.add_category(workspace, words, &slug);
        service
            .sandbox
            .edit_category(category, |category| {
                category.description = Some(words.to_owned());
            })
            .expect("there");
        ids.push(service.sandbox.add_article(NewSeed {
            introtext: Some(words.to_owned()),
            keywords: Some(words.to_owned()),
            ..NewSeed::new(category, words, "one", &format!("<p>{words}</p>"))
        }));
    }
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let written = kb.files();
    service.sandbox.clear_requests();
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.counts().total, 1);
    assert_eq!(kb.files().len(), written.len());
    // The files have the service's texts: after an edit of the body, only the body is sent.
    for number in 0..HOSTILE.len() {
        kb.edit(&format!("c{number}/one.html"), "<p>", "<p>Edited: ");
    }
    // A patch and a version are plain bytes unless they are printed for a person.
    let loud = [
        &["status"][..],
        &["--color", "always", "diff"],
        &["sync", "--dry-run"],
        &["sync"],
        &["status"],
        &["log"],
        &["log", "c0/one"],
        &["--color", "always", "log", "-p", "c7/one"],
        &["stats"],
        &["check"],
        &["doctor"],
    ];
    for arguments in loud {
        let ran = kb.run(arguments);
        let said = uncoloured(&format!("{}{}", ran.stdout, ran.stderr));
        let steers = |c: char| {
            (c.is_control() && !['\n', '\t'].contains(&c)) || ['\u{202e}', '\u{2066}'].contains(&c)
        };
        assert!(!said.contains(steers), "{arguments:?}: {said:?}");
    }
    for (words, id) in HOSTILE.into_iter().zip(ids) {
        let article = service.sandbox.article(id).expect("there");
        assert_eq!(article.title, words);
        assert_eq!(article.introtext.as_deref(), Some(words));
        assert_eq!(article.keywords.as_deref(), Some(words));
        assert_eq!(article.text, format!("<p>Edited: {words}</p>"));
    }
    for request in service.sandbox.requests() {
        if request.method == "PUT" {
            assert!(request.body.starts_with(r#"{"text":"#), "{request:?}");
        }
    }
    let names: Vec<String> = service
        .sandbox
        .categories()
        .into_iter()
        .map(|c| c.name)
        .collect();
    assert_eq!(names, HOSTILE);
}

/// Removes colours from a text; all other terminal sequences stay.
fn uncoloured(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('m') {
            Some((digits, rest)) if digits.bytes().all(|b| b.is_ascii_digit() || b == b';') => {
                plain += rest;
            }
            Some(_) | None => plain = format!("{plain}\u{1b}[{part}"),
        }
    }
    plain
}
