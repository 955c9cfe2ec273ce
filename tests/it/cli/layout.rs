//! The output on terminals of 60, 100 and 140 columns: one session, as a snapshot for each width.

use crate::support::kb::{Kb, Service};
use crate::support::terminal;
use std::io::Read as _;

/// Runs a command whose standard output is a terminal of this width. Returns what the terminal shows.
#[track_caller]
pub(super) fn shown(kb: &Kb, columns: u16, arguments: &[&str]) -> String {
    let (mut ours, theirs) = terminal::open(columns);
    let mut command = kb.process(arguments);
    let child = command.env("TERM", "xterm").stdout(theirs).spawn();
    let mut child = child.expect("it runs");
    // The command holds its end of the terminal open, and the terminal ends only when every holder has closed it.
    drop(command);
    let mut bytes = Vec::new();
    // Reading from a terminal that no process has open any more returns an error.
    ours.read_to_end(&mut bytes).ok();
    let code = child.wait().expect("it ends").code();
    let text = String::from_utf8(bytes)
        .expect("text")
        .replace("\r\n", "\n");
    let said = if code == Some(0) {
        String::new()
    } else {
        format!("[exit code {}]\n", code.expect("an exit code"))
    };
    format!("$ kbsync {}\n{text}{said}\n", arguments.join(" "))
}

/// Replaces times, which differ from run to run, by one time.
fn without_times(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let time = "2026-11-23 10:20:30";
    for at in 0..=bytes.len().saturating_sub(time.len()) {
        let part = &mut bytes[at..at + time.len()];
        let is_time = part.iter().zip(time.bytes()).all(|(one, like)| {
            if like.is_ascii_digit() {
                one.is_ascii_digit()
            } else {
                *one == like
            }
        });
        if is_time {
            part.copy_from_slice(time.as_bytes());
        }
    }
    String::from_utf8(bytes).expect("text")
}

/// One line, as the service's editor writes it.
const INVOICES: &str = "<p>If you work with several workspaces, check the name at the top left first. Nothing is \
                        shared with others until you press the blue button. They come by e-mail. The limit is counted \
                        per month and starts anew on the first day. It costs nothing extra, whatever your plan is.</p>";

fn session(columns: u16) -> String {
    let service = Service::with_equal_ids();
    let billing = service.category("billing");
    let calendar = service.category("calendars-and-invitations");
    let refunds = service.article(
        billing,
        "refunds",
        "<p>You have 14 days.</p>\n<p>Then ask.</p>",
    );
    service.article(billing, "invoices", INVOICES);
    service.article(
        calendar,
        "connect-the-calendar-of-another-program",
        "<p>It is easy.</p>",
    );
    let mut kb = service.mirror();
    kb.set("TZ", "UTC");
    kb.set("NO_COLOR", "1");
    kb.set("BROWSER", "true");
    let mut all = String::new();
    let mut see = |arguments: &[&str]| all += &shown(&kb, columns, arguments);
    see(&["sync"]);
    kb.edit("billing/refunds.html", "14 days", "30 days");
    kb.edit("billing/invoices.html", "by e-mail", "by post");
    service.sandbox.edit(refunds, |article| {
        article.text = article.text.replace("14 days", "60 days");
    });
    see(&["status"]);
    see(&["diff", "billing/invoices.html"]);
    see(&["diff", "--side-by-side", "billing/refunds.html"]);
    see(&["sync"]);
    see(&["status"]);
    see(&["diff", "--remote", "billing/refunds.html"]);
    see(&["open", "billing/invoices.html"]);
    see(&["check"]);
    see(&["resolve"]);
    see(&["resolve", "billing/refunds.html", "--keep", "local"]);
    kb.remove("calendars-and-invitations/connect-the-calendar-of-another-program.html");
    see(&["sync"]);
    see(&["log"]);
    see(&["log", "billing/refunds.html"]);
    see(&["stats"]);
    see(&["workspaces"]);
    without_times(&all)
}

#[test]
fn the_first_page_and_errors_about_arguments_are_wrapped_by_words() {
    let mut kb = Kb::new();
    kb.set("KBSYNC_PAGER", "cat");
    for arguments in [&["-h"][..], &["--help"], &["help"]] {
        let seen = shown(&kb, 60, arguments);
        let wrapped = "  check    Look for what is wrong in the files, without\n           asking the service\n";
        assert!(seen.contains(wrapped), "{seen}");
        assert!(
            seen.lines().all(|line| line.chars().count() <= 60),
            "{seen}"
        );
    }
}

#[test]
fn what_is_longer_than_the_terminal_is_high_is_shown_in_the_pager() {
    let service = Service::empty();
    let start = service.category("start");
    for number in 0..40 {
        service.article(start, &format!("n{number}"), "<p>Text.</p>");
    }
    let mut kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    // The pager prints the number of lines it received.
    kb.set("KBSYNC_PAGER", "sed -n '$='");
    for arguments in [
        &["log"][..],
        &["stats"],
        &["help", "git"],
        &["help", "sync"],
    ] {
        let seen = shown(&kb, 60, arguments);
        let lines: Option<u32> = seen.lines().nth(1).and_then(|line| line.parse().ok());
        assert!(lines.is_some_and(|lines| lines > 30), "{seen}");
    }
    // Output that fits on the screen is printed without the pager.
    let seen = shown(&kb, 60, &["log", "-n", "3"]);
    assert!(seen.contains("start/n"), "{seen}");
}

#[test]
fn a_session_is_readable_on_narrow_and_wide_terminals() {
    for columns in [60, 100, 140] {
        let seen = session(columns);
        insta::assert_snapshot!(format!("session_at_{columns}"), seen);
    }
}
