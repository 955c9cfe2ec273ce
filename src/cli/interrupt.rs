//! The end of a command by Ctrl-C or SIGTERM, with a message about the consequences.
//!
//! A cycle is asked to stop, and has a moment to do so: it writes what it has read, and reports what was done. The work
//! may also be dropped at any time, as if it had been killed: every step is recorded before its effect, and the next
//! run finishes or undoes the step.

use super::{ExitCode, failure::Failure};
use crate::drill::failpoint;
use std::{
    future::Future,
    pin::pin,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    signal::{
        ctrl_c,
        unix::{Signal, SignalKind, signal},
    },
    sync::oneshot,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// The most time for work that was asked to stop.
const GRACE: Duration = Duration::from_secs(3);

/// The kind of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// The work changes nothing.
    Look,
    /// The work changes something; the next run continues it.
    Change,
    /// The daemon does the work, and does not notice Ctrl-C.
    ByDaemon,
}

/// Runs the work until its end or a signal. A signal cancels `stop`. Work that then ends in time still returns its
/// result, together with the failure that explains the signal. Without `stop` the work is dropped. `so_far` returns the
/// progress for the message. A second signal ends work that does not yield.
pub(super) async fn until_stopped<T>(
    kind: Work,
    stop: Option<CancellationToken>,
    work: impl Future<Output = Result<T, Failure>>,
    so_far: impl FnOnce() -> String,
) -> Result<(T, Option<Failure>), Failure> {
    let (tell, told) = oneshot::channel();
    listen_by(listen(tell));
    unless_told(kind, stop, work, so_far, told).await
}

async fn unless_told<T>(
    kind: Work,
    stop: Option<CancellationToken>,
    work: impl Future<Output = Result<T, Failure>>,
    so_far: impl FnOnce() -> String,
    mut told: oneshot::Receiver<ExitCode>,
) -> Result<(T, Option<Failure>), Failure> {
    let mut work = pin!(work);
    tokio::select! {
        done = &mut work => Ok((done?, None)),
        // If no handler could be installed, this branch is disabled, and the system ends the process.
        Ok(code) = &mut told => {
            let failure = broken_off(kind, code, &so_far());
            let Some(stop) = stop else {
                return Err(failure);
            };
            stop.cancel();
            match tokio::time::timeout(failpoint::wait(GRACE), work).await {
                Ok(done) => Ok((done?, Some(failure))),
                Err(_elapsed) => Err(failure),
            }
        }
    }
}

/// Lets Ctrl-C at a question call `interrupted`. SIGTERM ends the process.
pub(super) fn at_question(interrupted: impl FnOnce() + Send + 'static) {
    let signals = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    );
    listen_by(async move {
        let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
            return;
        };
        tokio::select! {
            _ = interrupt.recv() => {
                interrupted();
                terminate.recv().await;
            }
            _ = terminate.recv() => {}
        }
        end(ExitCode::Terminated);
    });
}

/// Lets Ctrl-C end the process again, until other work listens.
pub(super) fn after_question() {
    listen_by(async {
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            end(next(&mut terminate).await);
        }
    });
}

fn listen_by(task: impl Future<Output = ()> + Send + 'static) {
    let listener = AbortOnDropHandle::new(tokio::spawn(task));
    // The assignment ends the listener of the previous work.
    *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
}

/// The task that waits for signals. An installed handler stays, so there is a task until the process ends.
static LISTENER: Mutex<Option<AbortOnDropHandle<()>>> = Mutex::new(None);

/// Reports the first signal, and ends the process at a second one. After the work, SIGTERM ends the process as without
/// a handler; Ctrl-C then belongs to a question or a pager.
async fn listen(mut tell: oneshot::Sender<ExitCode>) {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return;
    };
    tokio::select! {
        code = next(&mut terminate) => {
            if tell.send(code).is_ok() {
                end(next(&mut terminate).await);
            }
        }
        () = tell.closed() => {
            terminate.recv().await;
        }
    }
    end(ExitCode::Terminated);
}

/// Waits for a signal, and returns its exit code.
async fn next(terminate: &mut Signal) -> ExitCode {
    tokio::select! {
        Ok(()) = ctrl_c() => ExitCode::Interrupted,
        _ = terminate.recv() => ExitCode::Terminated,
    }
}

/// Ends the process by `exit`: a signal to itself would have no effect on the first process of a container.
fn end(code: ExitCode) -> ! {
    std::process::exit(code.number().into())
}

fn broken_off(kind: Work, code: ExitCode, so_far: &str) -> Failure {
    let help = match kind {
        Work::Look => "nothing was changed on either side",
        Work::ByDaemon => {
            "the daemon continues with the command: `kbsync log` and `kbsync status` show what it did"
        }
        Work::Change => "what was done is kept; the next `kbsync sync` continues",
    };
    Failure::new(code, format!("stopped{so_far}"), help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_that_ends_when_it_is_told_to_has_its_result() {
        for (heeds, expected) in [(true, Some(110)), (false, None)] {
            let (tell, told) = oneshot::channel();
            let stop = CancellationToken::new();
            let stopped = stop.clone();
            let work = async {
                tell.send(ExitCode::Interrupted).expect("somebody listens");
                stopped.cancelled().await;
                if !heeds {
                    std::future::pending::<()>().await;
                }
                Ok(110)
            };
            let ended = unless_told(Work::Change, Some(stop), work, String::new, told).await;
            match ended {
                Ok((done, Some(failure))) => {
                    assert_eq!(expected, Some(done));
                    assert_eq!(failure.code, ExitCode::Interrupted);
                }
                Ok((_, None)) => panic!("Ctrl-C came"),
                Err(failure) => {
                    assert_eq!(expected, None);
                    assert_eq!(failure.code, ExitCode::Interrupted);
                }
            }
        }
    }

    #[tokio::test]
    async fn work_that_nobody_can_break_off_is_done() {
        let (tell, told) = oneshot::channel::<ExitCode>();
        drop(tell);
        let work = async {
            tokio::task::yield_now().await;
            Ok(())
        };
        let done = unless_told(Work::Change, None, work, String::new, told).await;
        done.expect("it is done");
    }

    #[test]
    fn an_interrupted_look_reports_no_work() {
        let help = |kind| {
            broken_off(kind, ExitCode::Interrupted, "")
                .help
                .unwrap_or_default()
        };
        assert!(!help(Work::Look).contains("kept"));
        assert!(help(Work::Change).contains("what was done is kept"));
        assert!(help(Work::ByDaemon).contains("continues with"));
    }
}
