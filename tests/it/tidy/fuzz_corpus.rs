//! The laws of the fuzz targets, checked with their corpora: the same code without a fuzzer.

#[path = "../../../fuzz/laws/front_matter.rs"]
mod front_matter;
#[path = "../../../fuzz/laws/listing.rs"]
mod listing;
#[path = "../../../fuzz/laws/merge.rs"]
mod merge;
#[path = "../../../fuzz/laws/names.rs"]
mod names;
#[path = "../../../fuzz/laws/retry_after.rs"]
mod retry_after;
#[path = "../../../fuzz/laws/settings.rs"]
mod settings;

use kbsync::reconcile::merge::{TextMerge, merge_text};
use std::path::Path;

/// The name of a target and of its corpus, and the law that holds for any bytes and panics where it is broken.
type Law = (&'static str, fn(&[u8]));

const LAWS: [Law; 6] = [
    ("front_matter", front_matter::hold),
    ("listing", listing::hold),
    ("merge", merge::hold),
    ("names", names::hold),
    ("retry_after", retry_after::hold),
    ("settings", settings::hold),
];

#[test]
#[expect(
    clippy::print_stdout,
    reason = "names the file whose law fails; shown only then"
)]
fn the_laws_hold_for_every_file_of_their_corpus() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, hold) in LAWS {
        let folder = corpora.join(name);
        let files = std::fs::read_dir(&folder).expect("each target has a corpus");
        let mut held = 0;
        for file in files {
            let path = file.expect("the folder can be read").path();
            let bytes = std::fs::read(&path).expect("the file can be read");
            println!("{}", path.display());
            hold(&bytes);
            held += 1;
        }
        assert!(held >= 5, "the corpus of {name} has only {held} files");
    }
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "names the file whose law fails; shown only then"
)]
fn the_laws_hold_for_the_beginnings_of_every_file_of_their_corpus() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, hold) in LAWS {
        for file in std::fs::read_dir(corpora.join(name)).expect("each target has a corpus") {
            let path = file.expect("the folder can be read").path();
            let bytes = std::fs::read(&path).expect("the file can be read");
            println!("{}", path.display());
            // A beginning stands for a truncated answer, or for a file that is still being written.
            let step = bytes.len() / 16 + 1;
            (0..bytes.len())
                .step_by(step)
                .for_each(|end| hold(&bytes[..end]));
        }
    }
}

/// Triples of documents made of blocks: each side deletes, changes and adds some. Every run uses the same triples.
#[test]
fn the_law_of_merges_holds_for_edits_of_blocks() {
    let mut merged = 0;
    let mut dice = Dice(0x5d0c_3c1e);
    for round in 0..3_200 {
        let line_end = ["", "\n", "\n\n"][dice.roll(3)];
        let repeats = [1, 3, 1_000][dice.roll(3)];
        let blocks: Vec<String> = (0..2 + dice.roll(7))
            .map(|block| format!("<p>{}</p>{line_end}", block % repeats))
            .collect();
        // Some of the blocks are within a frame.
        let from = dice.roll(blocks.len());
        let frame = from..from + 1 + dice.roll(blocks.len() - from);
        let base = framed(&blocks, &frame);
        let mut side = |by| {
            let frame = match dice.roll(5) {
                0 => 0..0,
                1 => 0..frame.end,
                2 => frame.start..blocks.len(),
                _ => frame.clone(),
            };
            if round % 2 == 0 {
                return framed(&blocks, &frame).concat();
            }
            edited(&framed(&blocks, &frame), &mut dice, by)
        };
        let local = side("mine");
        let remote = side("theirs");
        let base = base.concat();
        merge::hold(
            [base.as_bytes(), local.as_bytes(), remote.as_bytes()]
                .join(&0xff)
                .as_slice(),
        );
        let outcome = merge_text(&base, &local, &remote);
        merged +=
            usize::from(base != local && base != remote && matches!(outcome, TextMerge::Merged(_)));
        assert!(round < 100 || merged > 0, "nothing merges");
    }
    assert!(merged > 300, "{merged} real merges");
}

/// A source of small pseudo-random numbers, the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }
}

/// Blocks, some of them within a `<div>`.
fn framed(blocks: &[String], frame: &std::ops::Range<usize>) -> Vec<String> {
    let mut framed = blocks.to_vec();
    if !frame.is_empty() {
        framed.insert(frame.end, "</div>".to_owned());
        framed.insert(frame.start, "<div>".to_owned());
    }
    framed
}

fn edited(base: &[String], dice: &mut Dice, by: &str) -> String {
    let mut text = String::new();
    for block in base {
        match dice.roll(8) {
            0 => {}
            1 => text += &block.replace("</p>", &format!(" {by}</p>")),
            2 => text += &block.replace("<p>", "<div>").replace("</p>", "</div>"),
            3 => {
                text += block;
                text += &block.replace("<p>", &format!("<p>new, {by} "));
            }
            4 => {
                text += &block.replace("</p>", ["", "</p></div>", "<b>", "</b></p>"][dice.roll(4)]);
            }
            _ => text += block,
        }
    }
    text
}

/// The law distinguishes wrong merges from right merges.
#[test]
fn the_law_of_merges_refuses_what_loses_doubles_or_moves() {
    let sources = [
        "<p>a</p><p>b</p><p>c</p>",
        "<p>A</p><p>b</p><p>c</p>",
        "<p>a</p><p>b</p><p>C</p>",
    ];
    assert_eq!(merge::judge(sources, "<p>A</p><p>b</p><p>C</p>"), Ok(()));
    for wrong in [
        sources[0],
        sources[1],
        sources[2],
        "",
        "<p>A</p><p>b</p><p>C</p><p>C</p>",
        "<p>A</p><p>C</p>",
        "<p>A</p><p>a</p><p>b</p><p>C</p>",
        "<p>b</p><p>A</p><p>C</p>",
        "<p>A</p><p>b</p><p>C</p><p>d</p>",
        "<p>A</p><p>b</p><p>C",
    ] {
        assert!(merge::judge(sources, wrong).is_err(), "{wrong:?} passes");
    }
    let opened = [
        "<div><p>a</p><p>b</p></div>",
        "<div><p>a</p></div><p>b</p>",
        "<p>a</p><div><p>b</p></div>",
    ];
    assert!(merge::judge(opened, "<p>a</p></div><p>b</p></div>").is_err());
}

#[test]
fn every_target_has_its_law() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).expect("the manifest can be read");
    for (name, _) in LAWS {
        assert!(
            manifest.contains(&format!("name = \"{name}\"")),
            "{name} is no target"
        );
    }
    assert_eq!(manifest.matches("[[bin]]").count(), LAWS.len());
}
