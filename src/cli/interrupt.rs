//! Ctrl-C during a command: the command ends at once, and says what that means.
//!
//! The work may be dropped at any time, because it could have been killed as well: every step is recorded before its
//! effect, and the next run finishes or undoes it.

use super::{exit::ExitCode, failure::Failure};
use std::{fs, future::Future, sync::LazyLock};
use tokio::{signal::ctrl_c, sync::oneshot};
use tokio_util::task::AbortOnDropHandle;

/// The phase in which articles are read, before anything is changed.
const READING: &str = " while reading ";

/// The kind of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// The work changes nothing.
    Look,
    /// Another step follows, which must not begin after Ctrl-C.
    Step,
    /// The last step: afterwards there is nothing to interrupt.
    Last,
    /// The daemon does the work, and does not notice Ctrl-C.
    ByDaemon,
}

/// Runs the work until its end or Ctrl-C. `so_far` returns the progress for the message. A second Ctrl-C ends work
/// that does not yield.
pub(super) async fn unless_interrupted<T>(
    kind: Work,
    work: impl Future<Output = Result<T, Failure>>,
    so_far: impl FnOnce() -> String,
) -> Result<T, Failure> {
    if *IGNORED {
        return work.await;
    }
    let (tell, told) = oneshot::channel();
    let watch = AbortOnDropHandle::new(tokio::spawn(listen(tell)));
    let done = unless_told(kind, work, so_far, told).await;
    drop(watch);
    done
}

async fn unless_told<T>(
    kind: Work,
    work: impl Future<Output = Result<T, Failure>>,
    so_far: impl FnOnce() -> String,
    mut told: oneshot::Receiver<()>,
) -> Result<T, Failure> {
    let done = tokio::select! {
        done = work => done,
        // Without a handler the system ends the process.
        Ok(()) = &mut told => return Err(broken_off(kind, &so_far())),
    };
    // Both may be ready at the same time.
    if kind == Work::Step && told.try_recv().is_ok() {
        return Err(broken_off(kind, &so_far()));
    }
    done
}

/// Whether the process was started with Ctrl-C ignored, as a script's `kbsync sync &` is. Read before the handler is
/// installed.
static IGNORED: LazyLock<bool> = LazyLock::new(|| {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignores_ctrl_c(&status)
});

fn ignores_ctrl_c(status: &str) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // SIGINT is signal 2.
    ignored.is_some_and(|mask| mask & 0b10 != 0)
}

async fn listen(tell: oneshot::Sender<()>) {
    if ctrl_c().await.is_err() || tell.send(()).is_err() {
        return;
    }
    if ctrl_c().await.is_ok() {
        // A signal to the own process has no effect on the first process of a container.
        std::process::exit(ExitCode::Interrupted.number().into());
    }
}

fn broken_off(kind: Work, so_far: &str) -> Failure {
    let message = format!("stopped{so_far}");
    let failure = Failure {
        code: ExitCode::Interrupted,
        ..Failure::failed(anyhow::Error::msg(message))
    };
    match kind {
        Work::Look => failure.help("nothing was changed on either side"),
        Work::ByDaemon => failure.help(
            "the daemon goes on with the command: `kbsync log` and `kbsync status` show what it did",
        ),
        Work::Step | Work::Last => failure.help(
            if so_far.contains(READING) {
                "what was read is not kept: the next `kbsync sync` reads it again; no file and no article is half done"
            } else {
                "what was done is kept, and nothing stays half done: the next `kbsync sync` goes on from there"
            },
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Work that is never waited for, and in which Ctrl-C comes.
    async fn ended(kind: Work) -> Result<(), Failure> {
        let (tell, told) = oneshot::channel();
        let work = async {
            tell.send(()).expect("somebody listens");
            Ok(())
        };
        unless_told(kind, work, String::new, told).await
    }

    #[tokio::test]
    async fn ctrl_c_at_the_end_of_a_step_keeps_the_next_one_from_beginning() {
        // Which of two that are ready is looked at first is left to chance.
        for _ in 0..32 {
            let failure = ended(Work::Step).await.expect_err("broken off");
            assert_eq!(failure.code, ExitCode::Interrupted);
            ended(Work::Last).await.expect("it is done");
        }
    }

    #[tokio::test]
    async fn work_that_nobody_can_break_off_is_done() {
        let (tell, told) = oneshot::channel();
        drop(tell);
        let work = async {
            tokio::task::yield_now().await;
            Ok(())
        };
        let done = unless_told(Work::Step, work, String::new, told).await;
        done.expect("it is done");
    }

    #[test]
    fn ctrl_c_is_ignored_where_the_system_says_so() {
        for (status, expected) in [
            (
                "SigBlk:\t0000000000000002\nSigIgn:\t0000000000001000\n",
                false,
            ),
            (
                "SigIgn:\t0000000000001006\nSigCgt:\t0000000000000000\n",
                true,
            ),
            ("SigIgn:\t0000000000000001\n", false),
            ("SigIgn:\tnonsense\n", false),
            ("", false),
        ] {
            assert_eq!(ignores_ctrl_c(status), expected, "{status}");
        }
    }

    #[test]
    fn an_interrupted_look_reports_no_work() {
        let help = |kind| broken_off(kind, "").help.unwrap_or_default();
        assert!(!help(Work::Look).contains("kept"));
        assert!(help(Work::Last).contains("what was done is kept"));
        assert!(help(Work::ByDaemon).contains("goes on"));
        let so_far = " while reading articles: 110 of 200 done";
        let help = broken_off(Work::Last, so_far).help.unwrap_or_default();
        assert!(help.contains("what was read is not kept"), "{help}");
    }
}
