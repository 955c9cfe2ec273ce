//! The real command at a terminal: a pseudo-terminal for its questions and a person's keys.
//!
//! Standard input and standard error are the terminal; standard output stays a pipe, as in `kbsync … > file`.

use crate::support::canary;
use crate::support::kb::{Kb, Ran, until};
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The longest time until a question appears.
const PATIENCE: Duration = Duration::from_mins(2);

/// A pseudo-terminal of this width: the test's end, and the command's end.
pub(crate) fn open(columns: u16) -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("granted");
    unlockpt(&ours).expect("unlocked");
    let name = ptsname(&ours, Vec::new()).expect("a name");
    let no_control = i32::try_from(OFlags::NOCTTY.bits()).expect("a flag");
    let theirs = File::options()
        .read(true)
        .write(true)
        .custom_flags(no_control)
        .open(OsStr::from_bytes(name.to_bytes()))
        .expect("the other end");
    let size = Winsize {
        ws_row: 30,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&ours, size).expect("a size");
    (File::from(ours), theirs)
}

impl Kb {
    /// Runs the command at a terminal. Each answer is typed once its question has appeared after the previous question;
    /// `stderr` of the result holds everything that the terminal showed.
    #[track_caller]
    pub(crate) fn at_terminal(&self, arguments: &[&str], answers: &[(&str, &str)]) -> Ran {
        // Wider than any question, so that each question is found on one line.
        let (mut ours, theirs) = open(400);
        // Ctrl-C is a signal from the controlling terminal, so the command needs this terminal as its own.
        let mut command = self.process_by("exec setsid -c \"$0\" \"$@\"", arguments);
        command
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TERM", "xterm")
            .stdin(Stdio::from(theirs.try_clone().expect("a copy")))
            .stderr(Stdio::from(theirs))
            .stdout(Stdio::piped());
        let child = command.spawn().expect("it runs");
        // The command holds its end of the terminal open, and the terminal ends only when every holder has closed it.
        drop(command);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let reader = {
            let (shown, mut ours) = (Arc::clone(&shown), ours.try_clone().expect("a copy"));
            std::thread::spawn(move || {
                let mut some = [0; 4096];
                // Reading from a terminal that no process has open any more returns an error.
                while let Ok(count @ 1..) = ours.read(&mut some) {
                    shown.lock().expect("one").extend(&some[..count]);
                }
            })
        };
        let text = || String::from_utf8_lossy(&shown.lock().expect("one")).into_owned();
        let mut answered = 0;
        for (question, keys) in answers {
            let found = || {
                let text = text();
                let at = text[answered..].find(question);
                at.map(|at| answered + at + question.len())
            };
            let ended = || reader.is_finished();
            until(PATIENCE, question, || found().is_some() || ended());
            answered = found().unwrap_or_else(|| panic!("no {question:?} in {}", text()));
            ours.write_all(keys.as_bytes()).expect("typed");
        }
        let output = child.wait_with_output().expect("it ends");
        reader.join().expect("it was read");
        let stdout = String::from_utf8(output.stdout).expect("text");
        canary::silent(&stdout);
        canary::silent(&text());
        Ran {
            code: output.status.code().expect("an exit code"),
            stdout,
            stderr: text().replace("\r\n", "\n"),
        }
    }
}
