//! How long an edit is on its way: `cargo bench --bench latency [-- --articles 10000 --edits 50]`.
//!
//! One way, from the moment that an editor's file is renamed over the old one to the PUT's arrival at the
//! service, without the quiet period that the daemon waits on purpose. The other way, from a colleague's
//! edit and `kbsync sync`, handed to the daemon, to the file. Beside that stands what of it is not kbsync's: the
//! time that it takes to download the same listing and let it go; and the daemon's processor time, which
//! hardly depends on what else the machine does.

#[expect(dead_code, reason = "each benchmark uses its part of the stage")]
mod stage;

use anyhow::Context as _;
use kbsync::sandbox::{Fault, FaultKind, Hook, Matcher};
use stage::{Stage, option};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// What the daemon waits for more events of a path: the default of `quiet_period`.
const QUIET: Duration = Duration::from_millis(200);

/// Longer than any of it takes.
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

/// Saves one file after the other.
fn towards_service(stage: &Stage, edits: usize) -> anyhow::Result<Vec<Duration>> {
    let (to, arrivals) = channel();
    let note = Hook::new(move |_| {
        // Nobody listens any more once the edits are done.
        to.send(Instant::now()).ok();
    });
    let puts = Matcher::new("PUT", "/api/article/");
    stage
        .sandbox
        .inject(Fault::always(puts, FaultKind::Hook(note)));
    let files: Vec<_> = stage.files()?.into_values().collect();
    let mut times = Vec::new();
    for round in 0..edits {
        // A prime walks through all of them without a pattern.
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

/// Edits one article after the other on the service. Gives the times until the file has it, and those of
/// a command that finds nothing new.
fn towards_mirror(stage: &Stage, edits: usize) -> anyhow::Result<(Vec<Duration>, Vec<Duration>)> {
    let files: Vec<_> = stage.files()?.into_iter().collect();
    let (mut whole, mut alone) = (Vec::new(), Vec::new());
    for round in 0..edits {
        let (id, file) = &files[round * 7919 % files.len()];
        let words = format!("<p>A colleague's edit {round}.</p>");
        // Whoever opens a file that is watched wakes the daemon up: its stamp tells as much.
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
