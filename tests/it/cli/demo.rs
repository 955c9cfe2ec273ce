//! `kbsync demo`: runs to its end, and every check succeeds.

use crate::support::kb::Kb;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

#[test]
fn every_step_checks_out() {
    let mut kb = Kb::new();
    // The caller's own mirror must not be touched.
    kb.set("KBSYNC_SERVICE", "https://kb.example.com");
    kb.set("KBSYNC_DIR", "/nonexistent");
    let before = kb.files();
    let ran = kb.run(&["demo"]).exits(0);
    for line in [
        "\n1. First sync\n",
        "$ kbsync sync\n",
        "⚡ conflict  billing/refunds.html (text)",
        "$ kbsync restore --yes billing/invoices.html\n",
        "✓ every step checked out\n",
    ] {
        assert!(ran.stdout.contains(line), "no {line:?} in {}", ran.stdout);
    }
    assert!(!ran.stdout.contains('✗'), "{}", ran.stdout);
    assert!(!ran.stderr.contains("error"), "{}", ran.stderr);
    assert_eq!(kb.files(), before);
    kb.run(&["demo", "--json"]).exits(2);
}

#[test]
fn ctrl_c_ends_it_and_is_no_fault() {
    let kb = Kb::new();
    let mut command = kb.process(&["demo"]);
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("it runs");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let begun = lines.any(|line| line.expect("text").contains("1. First sync"));
    assert!(begun);
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).expect("sent");
    let mut stderr = String::new();
    let mut errors = child.stderr.take().expect("piped");
    errors.read_to_string(&mut stderr).expect("text");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert!(!stderr.contains("fault of kbsync"), "{stderr}");
}

#[test]
fn the_folder_can_be_kept() {
    let kb = Kb::new();
    let mut command = kb.command(&["demo", "--keep"]);
    let output = command
        .env("TMPDIR", kb.mirror())
        .output()
        .expect("it runs");
    assert!(output.status.success());
    let stderr = String::from_utf8(output.stderr).expect("text");
    let kept = stderr
        .lines()
        .find_map(|line| line.strip_prefix("kept: "))
        .unwrap_or_else(|| panic!("{stderr}"));
    let kept = std::path::Path::new(kept);
    assert!(kept.join("help/kbsync.yaml").is_file());
    // The token of the demo's service is neither in the folder nor in the output.
    let token = kbsync::sandbox::Options::default().token;
    let stdout = String::from_utf8(output.stdout).expect("text");
    assert!(!stdout.contains(&token) && !stderr.contains(&token));
    let below = kb
        .files()
        .into_iter()
        .filter(|(path, _)| path.starts_with(kept));
    let below: Vec<_> = below.collect();
    assert!(below.len() > 5, "{below:?}");
    for (path, bytes) in below {
        let found = memchr::memmem::find(&bytes, token.as_bytes());
        assert_eq!(found, None, "{}", path.display());
    }
}
