//! The cost of an idle daemon: `cargo bench --bench idle [-- --minutes 10 --articles 10000]`.
//!
//! Prints the processor time, the memory and the writes of a daemon that has synced once and was asked for three polls.
//! Processor time and memory come from Linux's `/proc`.

#[expect(dead_code, reason = "each benchmark uses its part of the stage")]
mod stage;

use anyhow::Context as _;
use notify::{EventKind, RecursiveMode, Watcher as _};
use rustix::process::{Pid, Signal, kill_process};
use stage::{Stage, option};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[expect(clippy::print_stdout, reason = "a benchmark tells its figures")]
fn main() -> anyhow::Result<()> {
    let minutes: f64 = option("--minutes", 0.2);
    let articles = option("--articles", 10_000);
    let started = Instant::now();
    let stage = Stage::start(articles)?;
    stage.cycle("trigger=startup")?;
    stage.rest();
    let pid = stage.pid();
    println!("{articles} articles in 50 categories");
    tell(
        &format!("first sync, {:.1} s", started.elapsed().as_secs_f64()),
        pid,
    )?;
    for _ in 0..3 {
        let pid = Pid::from_raw(i32::try_from(pid)?).context("a process id")?;
        kill_process(pid, Signal::USR1)?;
        stage.cycle("trigger=manual")?;
    }
    tell("after three polls", pid)?;

    let written = Arc::new(Mutex::new(BTreeSet::new()));
    let _watch = watch(stage.dir(), &written)?;
    // The watcher reports the writes of the last poll with a delay.
    std::thread::sleep(Duration::from_secs(2));
    written
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clear();
    let before = stage.processor_seconds()?;
    std::thread::sleep(Duration::from_secs_f64(minutes * 60.0));
    let used = stage.processor_seconds()? - before;
    tell(&format!("idle for {minutes} minutes"), pid)?;
    println!("{:28} {used:.2} s of processor time", "");
    let written = written.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{:28} {} files written: {written:?}", "", written.len());
    Ok(())
}

/// Collects every file that is created, changed or deleted, except the database.
fn watch(dir: &Path, written: &Arc<Mutex<BTreeSet<PathBuf>>>) -> anyhow::Result<impl Sized> {
    let written = Arc::clone(written);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let paths = match event {
            Ok(event) => match event.kind {
                EventKind::Access(_) => return,
                EventKind::Any
                | EventKind::Create(_)
                | EventKind::Modify(_)
                | EventKind::Remove(_)
                | EventKind::Other => event.paths,
            },
            Err(error) => vec![PathBuf::from(error.to_string())],
        };
        let is_database = |path: &PathBuf| path.to_string_lossy().contains(".kbsync/state.db");
        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
        written.extend(paths.into_iter().filter(|path| !is_database(path)));
    })?;
    watcher.watch(dir, RecursiveMode::Recursive)?;
    Ok(watcher)
}

#[expect(clippy::print_stdout, reason = "a benchmark tells its figures")]
fn tell(what: &str, pid: u32) -> anyhow::Result<()> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let mib = |name: &str| -> anyhow::Result<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line
            .context(name.to_owned())?
            .trim()
            .trim_end_matches(" kB");
        Ok(kib.parse::<f64>()? / 1024.0)
    };
    println!(
        "{what:28} {:.1} MiB resident ({:.1} of its own), {:.1} at most",
        mib("VmRSS:")?,
        mib("RssAnon:")?,
        mib("VmHWM:")?
    );
    Ok(())
}
