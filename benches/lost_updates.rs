//! Updates lost while two mirrors and a dashboard write at once: `cargo bench --bench lost_updates`.
//!
//! The API has no conditional write, so a PUT can overwrite an edit that arrives between the read before it and the
//! PUT itself. This benchmark counts such edits. Two mirrors, each with a process of its own, and a dashboard in this
//! process append words to a paragraph of their own in randomly chosen articles. In the end each word must be on the
//! service or in a file of a mirror, conflict copies included; the others are lost.
//!
//! Two loads: calm (60 articles, 12 edits a second) and saturated (12 articles, 50 edits a second), each with daemons
//! and with `kbsync sync` in a loop. `--edits 1000` sets the edits of one load, `--guard 15s` the guard window.

#[expect(dead_code, reason = "each benchmark uses its part of the stage")]
mod stage;

use anyhow::Context as _;
use kbsync::sandbox::{Options, Sandbox};
use stage::{command, option};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use uuid::Uuid;

/// The paragraphs that only one writer changes, apart from each other, so that two edits never touch one hunk.
const BODY: &str = "<p>one</p>\n<p>a</p>\n<p>b</p>\n<p>c</p>\n<p>two</p>\n<p>d</p>\n<p>e</p>\n<p>f</p>\n<p>dashboard</p>\n";

/// The mirrors.
const MIRRORS: [&str; 2] = ["one", "two"];

/// The most syncs that the two mirrors take to agree after the last edit.
const SETTLING: usize = 12;

struct Load {
    name: &'static str,
    articles: usize,
    edits_per_second: u32,
}

const LOADS: [Load; 2] = [
    Load {
        name: "calm",
        articles: 60,
        edits_per_second: 12,
    },
    Load {
        name: "saturated",
        articles: 12,
        edits_per_second: 50,
    },
];

#[expect(clippy::print_stdout, reason = "a benchmark tells its figures")]
fn main() -> anyhow::Result<()> {
    let edits = option("--edits", 1000);
    let guard = option("--guard", "15s".to_owned());
    println!("{edits} edits a load, guard window {guard}");
    for load in LOADS {
        for with_daemons in [true, false] {
            let result = run(&load, edits, &guard, with_daemons)?;
            let how = if with_daemons {
                "daemons"
            } else {
                "sync in a loop"
            };
            let rate = 1000.0 * f64::from(result.lost) / f64::from(result.words);
            println!(
                "{:10} {how:15} {:>5} edits {:>5} PUTs {:>3} lost {rate:>6.1} per 1,000",
                load.name, result.words, result.puts, result.lost
            );
        }
    }
    Ok(())
}

struct Counts {
    words: u32,
    puts: usize,
    lost: u32,
}

fn run(load: &Load, edits: u32, guard: &str, with_daemons: bool) -> anyhow::Result<Counts> {
    let runtime = Runtime::new()?;
    let sandbox = Sandbox::new(Options::unlimited());
    let workspace = sandbox.seed(load.articles, 1);
    let ids: Vec<Uuid> = sandbox
        .articles()
        .iter()
        .map(|article| article.id)
        .collect();
    for id in &ids {
        sandbox.edit(*id, |article| BODY.clone_into(&mut article.text));
    }
    let running = runtime.block_on(sandbox.run())?;
    let dir = tempfile::tempdir()?;
    let binary = option("--binary", PathBuf::from(env!("CARGO_BIN_EXE_kbsync")));
    let mut files = Vec::new();
    for name in MIRRORS {
        let mirror = dir.path().join(name).join("mirror");
        for folder in ["mirror", "home", "state"] {
            std::fs::create_dir_all(dir.path().join(name).join(folder))?;
        }
        std::fs::write(
            mirror.join("kbsync.yaml"),
            format!(
                "service: {}\nworkspace: {workspace}\npoll: 1m\npush_interval: 0s\nguard_window: {guard}\n\
                 budget: {{per_minute: 100000, per_day: 1000000}}\n",
                running.url
            ),
        )?;
        let kbsync = || command(&binary, &dir.path().join(name), &running.token());
        anyhow::ensure!(
            kbsync().arg("sync").status()?.success(),
            "the first sync failed"
        );
        files.push(stage::files_of(&mirror)?);
    }
    let ended = AtomicBool::new(false);
    let puts_before = puts(&sandbox);
    let kbsync = |name: &str, arguments: &[&str]| -> anyhow::Result<Child> {
        let mut kbsync = command(&binary, &dir.path().join(name), &running.token());
        Ok(kbsync.args(arguments).spawn()?)
    };
    let words = std::thread::scope(|scope| -> anyhow::Result<Vec<String>> {
        let mut daemons = Vec::new();
        for name in MIRRORS {
            if with_daemons {
                daemons.push(kbsync(name, &["run"])?);
            } else {
                scope.spawn(|| {
                    while !ended.load(Ordering::Relaxed) {
                        let sync = kbsync(name, &["sync"]);
                        // A sync that fails is followed by the next.
                        sync.and_then(|mut sync| Ok(sync.wait()?)).ok();
                    }
                });
            }
        }
        let words = write(&sandbox, &ids, &files, load, edits);
        ended.store(true, Ordering::Relaxed);
        std::thread::sleep(Duration::from_secs(2));
        for mut daemon in daemons {
            daemon.kill()?;
            daemon.wait()?;
        }
        words
    })?;
    for round in 0..SETTLING {
        kbsync(MIRRORS[round % 2], &["sync"])?.wait()?;
    }
    let mut found = String::new();
    for article in sandbox.articles() {
        found.push_str(&article.text);
    }
    for name in MIRRORS {
        collect(&dir.path().join(name).join("mirror"), &mut found)?;
    }
    let lost = words.iter().filter(|word| !found.contains(*word)).count();
    Ok(Counts {
        words: edits,
        puts: puts(&sandbox) - puts_before,
        lost: u32::try_from(lost)?,
    })
}

fn puts(sandbox: &Sandbox) -> usize {
    let requests = sandbox.requests();
    let puts = requests.iter().filter(|request| request.method == "PUT");
    puts.count()
}

/// Makes the edits at their pace, by the three writers in turn. Returns the words that were written.
fn write(
    sandbox: &Sandbox,
    ids: &[Uuid],
    files: &[BTreeMap<Uuid, PathBuf>],
    load: &Load,
    edits: u32,
) -> anyhow::Result<Vec<String>> {
    let began = Instant::now();
    let mut words = Vec::new();
    for number in 0..edits {
        let due = Duration::from_secs(1) * number / load.edits_per_second;
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        // Each writer comes to all articles, in an order without a pattern (Knuth's multiplicative hash).
        let mixed = number.wrapping_mul(2_654_435_761) >> 16;
        let id = ids[mixed as usize % ids.len()];
        let word = format!("w{number:05}w");
        if let Some(files) = files.get(number as usize % 3) {
            let paragraph = MIRRORS[number as usize % 3];
            save(files.get(&id).context("a file")?, paragraph, &word)?;
        } else {
            sandbox.edit(id, |article| {
                article.text = appended(&article.text, "dashboard", &word);
            });
        }
        words.push(word);
    }
    Ok(words)
}

/// Saves a file as editors do. A file that was written meanwhile is read again.
fn save(file: &Path, paragraph: &str, word: &str) -> anyhow::Result<()> {
    let saved = file.with_file_name(".saved");
    loop {
        let before = std::fs::read_to_string(file)?;
        std::fs::write(&saved, appended(&before, paragraph, word))?;
        if std::fs::read_to_string(file)? == before {
            return Ok(std::fs::rename(&saved, file)?);
        }
    }
}

fn appended(text: &str, paragraph: &str, word: &str) -> String {
    let begin = format!("<p>{paragraph}");
    let lines = text.lines().map(|line| match line.strip_suffix("</p>") {
        Some(line) if line.starts_with(&begin) => format!("{line} {word}</p>\n"),
        Some(_) | None => format!("{line}\n"),
    });
    lines.collect()
}

/// Adds the text of every file in a mirror, its private folder left out.
fn collect(folder: &Path, found: &mut String) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == ".kbsync" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), found)?;
        } else {
            found.push_str(&String::from_utf8_lossy(&std::fs::read(entry.path())?));
        }
    }
    Ok(())
}
