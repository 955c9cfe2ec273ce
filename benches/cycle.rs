//! The time of a cycle with many articles: `cargo bench --bench cycle [-- ARTICLES]`.
//!
//! The service is the sandbox on this machine, over a real socket, so the figures include the sandbox's own work.

#[path = "../tests/it/support/faults/mod.rs"]
#[allow(dead_code, reason = "a bench needs a few of the faults")]
mod faults;

use faults::{Fault, FaultKind, Hook, Inject, Matcher};
use kbsync::engine::report::Report;
use kbsync::engine::settings::{CycleRequest, Look, Settings};
use kbsync::engine::{Clock as _, Engine, SystemClock};
use kbsync::mirror::{RealDisk, lock};
use kbsync::model::{Place, WorkspaceId};
use kbsync::reconcile::snapshot::Direction;
use kbsync::sandbox::{Options, Running, Sandbox};
use kbsync::service::budget::{Budget, BudgetLimits, clock};
use kbsync::service::client::{Client, ClientOptions};
use kbsync::service::token::Token;
use kbsync::state::{Binding, Store};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Runs of each step; the median is printed.
const ROUNDS: usize = 9;

fn engine(
    running: &Running,
    workspace: WorkspaceId,
    mirror: &Path,
) -> anyhow::Result<Engine<Client, RealDisk>> {
    let binding = Binding {
        service: running.url.clone(),
        workspace,
    };
    let store = Store::open(&lock::private_folder(mirror)?, &binding, SystemClock.now())?;
    let limits = BudgetLimits {
        per_minute: 1_000_000,
        per_day: 1_000_000,
        reserve_for_pushes: 0,
    };
    let token = Token::new(&running.token())?;
    let client = Client::new(ClientOptions::new(
        &running.url,
        token,
        Budget::in_memory(limits, Arc::new(clock::SystemClock)),
    ))?;
    Ok(Engine::new(
        client,
        RealDisk::open(mirror)?,
        store,
        Settings::new(workspace),
    ))
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "a benchmark tells its figures")]
async fn main() -> anyhow::Result<()> {
    let articles = std::env::args()
        .skip(1)
        .find_map(|word| word.parse().ok())
        .unwrap_or(10_000);
    let running = Sandbox::new(Options::unlimited()).run().await?;
    let workspace = WorkspaceId::new(running.sandbox.seed(articles, 50));
    let mirror = tempfile::tempdir()?;
    let both = CycleRequest::new(Direction::Both);
    println!("{articles} articles in 50 categories");

    let started = Instant::now();
    let report = engine(&running, workspace, mirror.path())?
        .cycle(&both)
        .await?;
    tell("first sync", started.elapsed(), &report);

    for reuse in [false, true] {
        let mut kept = engine(&running, workspace, mirror.path())?;
        let mut times = Vec::new();
        let mut last = None;
        for _ in 0..ROUNDS {
            let started = Instant::now();
            last = Some(if reuse {
                kept.cycle(&both).await?
            } else {
                engine(&running, workspace, mirror.path())?
                    .cycle(&both)
                    .await?
            });
            times.push(started.elapsed());
        }
        let name = if reuse {
            "quiet sync, engine kept"
        } else {
            "quiet sync"
        };
        if let Some(report) = last {
            tell(name, median(times), &report);
        }
    }

    let place = some_article(mirror.path())?;
    let mut times = Vec::new();
    let mut last = None;
    for round in 0..ROUNDS {
        let text = std::fs::read_to_string(&place)?;
        std::fs::write(&place, format!("{text}<p>Round {round}.</p>\n"))?;
        let started = Instant::now();
        last = Some(
            engine(&running, workspace, mirror.path())?
                .cycle(&both)
                .await?,
        );
        times.push(started.elapsed());
    }
    if let Some(report) = last {
        tell("one edit", median(times), &report);
    }
    saved(
        &running,
        engine(&running, workspace, mirror.path())?,
        &place,
    )
    .await
}

/// Measures the daemon's cycle over one saved file after the quiet period: until the PUT arrives, and until the cycle
/// is done.
async fn saved(
    running: &Running,
    mut kept: Engine<Client, RealDisk>,
    path: &Path,
) -> anyhow::Result<()> {
    let arrived = Arc::new(Mutex::new(None));
    let note = arrived.clone();
    let hook = Hook::new(move |_: &Sandbox| {
        if let Ok(mut arrived) = note.lock() {
            *arrived = Some(Instant::now());
        }
    });
    let put = Matcher::new("PUT", "/api/article/");
    running
        .sandbox
        .inject(Fault::always(put, FaultKind::Hook(hook)));
    let name = |path: Option<&Path>| {
        let name = path.and_then(Path::file_name).unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let place = Place::new(name(path.parent()), name(Some(path)));
    let request = CycleRequest {
        scope: vec![place.to_string()],
        look: Look::Files,
        ..CycleRequest::new(Direction::Both)
    };
    let (mut until_sent, mut until_done, mut last) = (Vec::new(), Vec::new(), None);
    for round in 0..ROUNDS * 3 {
        let text = std::fs::read_to_string(path)?;
        std::fs::write(path, format!("{text}<p>Saved {round}.</p>\n"))?;
        let started = Instant::now();
        anyhow::ensure!(!kept.path_check().is_file_known(&place), "nothing new");
        last = Some(kept.cycle(&request).await?);
        until_done.push(started.elapsed());
        let sent = arrived.lock().ok().and_then(|mut arrived| arrived.take());
        until_sent.extend(sent.map(|at| at.duration_since(started)));
    }
    if let Some(report) = last {
        tell("one saved file, sent", median(until_sent), &report);
        tell("one saved file, done", median(until_done), &report);
    }
    Ok(())
}

fn some_article(mirror: &Path) -> anyhow::Result<PathBuf> {
    Ok(std::fs::read_dir(mirror)?
        .filter_map(Result::ok)
        .find(|entry| entry.path().join("_category.yaml").exists())
        .and_then(|entry| {
            let mut files = std::fs::read_dir(entry.path()).ok()?.filter_map(Result::ok);
            files.find(|file| {
                file.path()
                    .extension()
                    .is_some_and(|ending| ending == "html")
            })
        })
        .ok_or_else(|| anyhow::anyhow!("no article to edit"))?
        .path())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[expect(clippy::print_stdout, reason = "a benchmark tells its figures")]
fn tell(name: &str, time: Duration, report: &Report) {
    println!(
        "{name:24} {:>8.1} ms  {} actions, {} requests, {:?}",
        time.as_secs_f64() * 1000.0,
        report.actions.len(),
        report.requests.total,
        report.outcome
    );
}
