//! Ctrl-C while a command works: it ends at once, and says what that means.
//!
//! What is dropped here could have been killed just as well: every step is written down before its effect, and the
//! next run finishes or takes back what was under way.

use super::{exit::ExitCode, failure::Failure};
use rustix::process::{Signal, getpid, kill_process};
use std::future::Future;
use tokio::{signal::ctrl_c, sync::oneshot};
use tokio_util::task::AbortOnDropHandle;

/// Works until it is done or a person breaks it off. `so_far` tells how far it has come then. Work that takes no notice
/// for a while is ended by a second Ctrl-C.
pub(super) async fn unless_interrupted<T>(
    work: impl Future<Output = Result<T, Failure>>,
    so_far: impl FnOnce() -> String,
) -> Result<T, Failure> {
    let (tell, told) = oneshot::channel();
    let watch = AbortOnDropHandle::new(tokio::spawn(listen(tell)));
    let interrupted = async {
        if told.await.is_err() {
            // Nobody listens: then the system ends the process, as ever.
            std::future::pending::<()>().await;
        }
    };
    let done = tokio::select! {
        done = work => done,
        () = interrupted => Err(broken_off(&so_far())),
    };
    drop(watch);
    done
}

async fn listen(tell: oneshot::Sender<()>) {
    if ctrl_c().await.is_err() || tell.send(()).is_err() {
        return;
    }
    if ctrl_c().await.is_ok() {
        // As if it had been killed: whoever cannot be told is ended by the system.
        kill_process(getpid(), Signal::TERM).ok();
    }
}

fn broken_off(so_far: &str) -> Failure {
    let message = format!("broken off{so_far}");
    Failure {
        code: ExitCode::Interrupted,
        ..Failure::failed(anyhow::Error::msg(message))
    }
    .help(
        "what was done is recorded, and nothing stays half done: the next `kbsync sync` finishes or takes back \
         what was under way, and goes on",
    )
}
