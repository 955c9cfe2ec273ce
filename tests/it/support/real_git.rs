//! Runs the real git for tests, without the configuration of the user or the machine.

use crate::support::kb::Kb;
use std::{
    path::Path,
    process::{Command, Output},
};

fn output(folder: &Path, arguments: &[&str]) -> Output {
    Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_EDITOR", "true")
        .output()
        .expect("git runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs git in a folder, and returns its output; `None`: git failed.
pub(crate) fn try_git_in(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = output(folder, arguments);
    output.status.success().then(|| text(&output))
}

/// Runs git in a folder, and returns its output.
#[track_caller]
pub(crate) fn git_in(folder: &Path, arguments: &[&str]) -> String {
    let output = output(folder, arguments);
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    text(&output)
}

/// Runs git in the mirror, and returns whether it succeeded.
pub(crate) fn try_git(kb: &Kb, arguments: &[&str]) -> bool {
    try_git_in(&kb.mirror(), arguments).is_some()
}

/// Runs git in the mirror.
#[track_caller]
pub(crate) fn git(kb: &Kb, arguments: &[&str]) {
    git_in(&kb.mirror(), arguments);
}

/// Commits all changes of the mirror.
#[track_caller]
pub(crate) fn commit(kb: &Kb) {
    git(kb, &["add", "-A"]);
    git(kb, &["commit", "-q", "-m", "a commit"]);
}
