//! What every command has in common: usage, help, pipes, colours.

use crate::kb::Kb;

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
    kb.run(&["man", "explode"])
        .exits(2)
        .complains("no command `explode`", "workspaces");
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
