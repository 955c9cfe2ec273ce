//! The latency of an edit: `cargo bench --bench latency [-- --articles 10000 --edits 50]`.
//!
//! To the service: from the rename of an editor's file over the old file to the arrival of the PUT, without the
//! daemon's quiet period. To the mirror: from a colleague's edit and `kbsync sync`, handed to the daemon, to the
//! changed file. For comparison, the time of a plain download of the same listing, which is the part that kbsync cannot
//! change, and the daemon's processor time, which hardly depends on the machine's other load.

#[expect(dead_code, reason = "each benchmark uses its part of the stage")]
mod stage;

#[path = "../tests/it/support/faults/mod.rs"]
#[allow(dead_code, reason = "a bench needs a few of the faults")]
mod faults;

use anyhow::Context as _;
use faults::{Fault, FaultKind, Hook, Inject, Matcher};
use stage::{Stage, option};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// The default of `quiet_period`, which the daemon waits for more events of a path.
const QUIET: Duration = Duration::from_millis(200);

/// Longer than any edit takes.
const BOUND: Duration = Duration::from_mins(1);

#[expect(clippy::print_stdout, reason = "a benchmark tells its figures")]
fn main() -> anyhow::Result<()> {
    let articles = option("--articles", 10_000);
    let edits = option("--edits", 50);
    let stage = Stage::start(articles)?;
    stage.cycle("trigger=startup")?;
    stage.rest();
    println!("{articles} articles in 50 categories, {edits} edits each way");
    tell("save to PUT", towards_service(&stage, edits)?);
    let before = stage.processor_seconds()?;
    let (whole, alone) = towards_mirror(&stage, edits)?;
    let used = (stage.processor_seconds()? - before) * 1000.0;
    let commands = f64::from(u32::try_from(whole.len() + alone.len())?);
    tell("dashboard to file", whole);
    tell("kbsync sync, nothing new", alone);
    println!(
        "{:28} {:>7.1} ms of processor time a command",
        "",
        used / commands
    );
    let (mut times, mut bytes) = (Vec::new(), 0);
    for _ in 0..edits {
        let began = Instant::now();
        bytes = stage.download()?;
        times.push(began.elapsed());
    }
    tell(
        &format!("download of {} MB alone", bytes / 1_000_000),
        times,
    );
    Ok(())
}

/// Saves one file after another, and returns the time to each PUT.
fn towards_service(stage: &Stage, edits: usize) -> anyhow::Result<Vec<Duration>> {
    let (to, arrivals) = channel();
    let note = Hook::new(move |_| {
        // The receiver is gone once the edits are done.
        to.send(Instant::now()).ok();
    });
    let puts = Matcher::new("PUT", "/api/article/");
    stage
        .sandbox
        .inject(Fault::always(puts, FaultKind::Hook(note)));
    let files: Vec<_> = stage.files()?.into_values().collect();
    let mut times = Vec::new();
    for round in 0..edits {
        // A prime stride visits all files without a pattern.
        let file = &files[round * 7919 % files.len()];
        let text = std::fs::read_to_string(file)?;
        let saved = file.with_file_name(".saved");
        std::fs::write(&saved, format!("{text}<p>Edit {round}.</p>\n"))?;
        std::fs::rename(&saved, file)?;
        let renamed = Instant::now();
        let arrived = arrivals
            .recv_timeout(BOUND)
            .context("the edit did not arrive")?;
        times.push((arrived - renamed).saturating_sub(QUIET));
        stage.cycle("actions=1")?;
    }
    stage.sandbox.clear_faults();
    Ok(times)
}

/// Edits one article after another on the service. Returns the times until the file has the edit, and the times of a
/// command that finds nothing new.
fn towards_mirror(stage: &Stage, edits: usize) -> anyhow::Result<(Vec<Duration>, Vec<Duration>)> {
    let files: Vec<_> = stage.files()?.into_iter().collect();
    let (mut whole, mut alone) = (Vec::new(), Vec::new());
    for round in 0..edits {
        let (id, file) = &files[round * 7919 % files.len()];
        let words = format!("<p>A colleague's edit {round}.</p>");
        // Opening a watched file would wake the daemon, so an edit is noticed by the file's modification time.
        let stamp = || std::fs::metadata(file)?.modified();
        let before = stamp()?;
        let began = Instant::now();
        stage
            .sandbox
            .edit(*id, |article| article.text.push_str(&words))
            .context("no such article")?;
        let mut command = stage.command().arg("sync").spawn()?;
        while stamp()? == before {
            anyhow::ensure!(began.elapsed() < BOUND, "the edit did not arrive");
            std::thread::sleep(Duration::from_micros(200));
        }
        whole.push(began.elapsed());
        anyhow::ensure!(
            std::fs::read_to_string(file)?.contains(&words),
            "another edit arrived"
        );
        anyhow::ensure!(command.wait()?.success(), "kbsync sync failed");
        stage.cycle("trigger=manual")?;
        let began = Instant::now();
        anyhow::ensure!(
            stage.command().arg("sync").status()?.success(),
            "kbsync sync failed"
        );
        alone.push(began.elapsed());
        stage.cycle("trigger=manual")?;
    }
    Ok((whole, alone))
}

#[expect(clippy::print_stdout, reason = "a benchmark tells its figures")]
fn tell(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |percent: usize| {
        let last = times.len().saturating_sub(1);
        times.get(last * percent / 100).copied().unwrap_or_default()
    };
    println!(
        "{name:28} {:>7.1} ms median, {:.1} ms at 95 %",
        at(50).as_secs_f64() * 1000.0,
        at(95).as_secs_f64() * 1000.0
    );
}
