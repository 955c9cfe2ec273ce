//! `kbsync run`: assembles the daemon. [`crate::daemon`] does the work.

use super::{
    ExitCode, Outcome, consent, context::Context, daemon_clients::Clients, failure::Failure, locks,
    logging::Style,
};
use crate::{
    config::{Config, Need, TokenSource, parse_listen},
    daemon::{
        control::{self, ProgressSink},
        engines::{Engines, Reload, Reloaded},
        event_loop::Ended,
        settings_mark::SettingsMark,
        sources::Signals,
        start::{self, Daemon},
        watch,
        workspaces::WorkspaceEngine,
    },
    engine::{Progress, Teller, open},
    mirror::{RealDisk, lock},
    service::client::Client,
    web::{self, shared_status::SharedStatus},
};
use anyhow::Context as _;
use std::{net::SocketAddr, panic::set_hook, sync::Arc};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Serve health and metrics on this address, or this port of 127.0.0.1: /healthz, /readyz, /metrics
    /// [default: KBSYNC_LISTEN]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
}

pub(super) async fn run(args: &Args, context: &Context) -> Outcome {
    end_the_process_after_a_panic();
    let config = context.config(Need::Workspace)?;
    let listen = args.listen.as_deref().map(parse_listen).transpose();
    let listen = listen.map_err(|wrong| wrong.given_by("--listen"))?;
    consent::settle(context, &config)?;
    consent::warn_of_limits(&config);
    let settings = config.options.clone();
    let locks = locks::take(&config, control::LOCK_LABEL, None)?;
    // From here on, a signal ends the daemon in order.
    let signals = Signals::take().context("failed to listen for signals")?;
    let private = lock::private_folder(&config.mirror)?;
    let status = Arc::new(SharedStatus::new(chrono::Utc::now()));
    let token = config.token.as_ref().map(TokenSource::name);
    let token = token.unwrap_or_default();
    let (stop, progress) = (CancellationToken::new(), ProgressSink::default());
    let mut clients = Clients::new(context, &config, &status, &progress, &stop);
    let rescan = watch::Rescan::new(settings.rescan);
    let watch = watch::Options::new(config.roots(), private.clone(), rescan);
    let services = clients.connect()?;
    let workspaces = config
        .roots()
        .iter()
        .zip(services)
        .map(|(root, service)| {
            let engine = open::write_state(&config, root)
                .and_then(|store| open::engine(&config, root, service, store))?
                .with_teller(progress_callback(&progress, &status));
            Ok(WorkspaceEngine {
                root: root.clone(),
                engine,
            })
        })
        .collect::<Result<Vec<WorkspaceEngine<Client, RealDisk>>, Failure>>()?;
    let listen = match listen.or(config.listen) {
        Some(address) => Some(bind(address).await?),
        None => None,
    };
    let control = match control::listen(&private) {
        Ok(listening) => Some(listening),
        Err(error) => {
            tracing::warn!(%error, "the daemon accepts no commands: there is no socket in .kbsync");
            None
        }
    };
    let budget = clients.budget_source();
    let reconnect = Box::new(move || clients.reconnect().map_err(|failure| failure.with_remedy()));
    let reload = reload(context, &config);
    let mark = SettingsMark::of(&config);
    let daemon = Daemon {
        cycles: Engines::new(workspaces, locks, mark, token, reload, reconnect),
        watch,
        settings,
        signals,
        control,
        listen,
        budget,
        status,
        progress,
        stop,
    };
    if Style::of(&context.global, false) == Style::ForPeople {
        context.out.note(format!(
            "Watching {}, which mirrors {}. Save a file, and it is live; Ctrl-C ends this.",
            config.mirror.display(),
            config.service
        ));
    } else {
        tracing::info!(mirror = %config.mirror.display(), service = config.service, "started");
    }
    if let Some(Ok(address)) = daemon.listen.as_ref().map(TcpListener::local_addr) {
        tracing::info!("listening on {}", web::shown_address(address));
    }
    over(Box::pin(start::run(daemon)).await)
}

fn over(ended: Ended) -> Outcome {
    match ended {
        Ended::Stopped => {
            tracing::info!("stopped");
            Ok(ExitCode::Done)
        }
        Ended::GaveUp => {
            tracing::warn!(
                "stopped; a request in flight was not answered in time; the next start finds out whether it arrived"
            );
            Ok(ExitCode::Done)
        }
        Ended::AtOnce => Ok(ExitCode::Failed),
        // The reason is in the log.
        Ended::Lost => Err(Failure::failed(
            "the lock or the state of the mirror was removed or replaced, so the daemon stopped",
            "start it again: files and articles are paired anew, and nothing is deleted",
        )),
        Ended::Alone => Err(Failure::failed(
            "every event source stopped",
            "start it again",
        )),
    }
}

fn progress_callback(progress: &ProgressSink, status: &Arc<SharedStatus>) -> Teller {
    let (progress, status) = (progress.clone(), status.clone());
    Arc::new(move |step: Progress| {
        let now = tokio::time::Instant::now();
        status.update(|status| status.progress = now);
        progress.send(step);
    })
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("failed to listen on {address}"));
    listener.map_err(|error| {
        Failure::from(error)
            .help("name another address with --listen, or stop the program that uses this one")
    })
}

/// Reads the settings again. The service, the workspaces and the token cannot change.
fn reload<'r>(context: &'r Context, config: &'r Config) -> Reload<'r> {
    Box::new(move || {
        let fresh = context.config(Need::Workspace);
        let fresh = fresh.map_err(|failure| failure.with_remedy())?;
        let same = fresh.service == config.service
            && fresh.workspaces == config.workspaces
            && fresh.token == config.token
            && fresh.options.budget == config.options.budget
            && fresh.state_dir == config.state_dir;
        if !same {
            return Err(
                "a change of the service, workspaces, token, budget or state folder needs a restart"
                    .to_owned(),
            );
        }
        consent::warn_of_limits(&fresh);
        let engines = fresh
            .roots()
            .iter()
            .map(|root| open::settings(&fresh, root))
            .collect();
        Ok(Reloaded {
            mark: SettingsMark::of(&fresh),
            options: fresh.options,
            engines,
        })
    })
}

/// Makes a panic of any thread end the process, with a line in the log, whatever the build's panic strategy is. A
/// daemon that lost one thread would keep running without noticing changes. The supervisor starts the daemon again, and
/// the start recovers as after a kill.
fn end_the_process_after_a_panic() {
    set_hook(Box::new(|panic| {
        let current = std::thread::current();
        let place = panic.location().map(ToString::to_string);
        tracing::error!(
            thread = current.name().unwrap_or("unnamed"),
            place = place.as_deref(),
            "internal error (panic), stopping: {}",
            panic.payload_as_str().unwrap_or("no message")
        );
        std::process::abort();
    }));
}
