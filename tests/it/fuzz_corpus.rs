//! The laws of the fuzz targets, checked with their corpora: the same code, without a fuzzer.

#[path = "../../fuzz/laws/front_matter.rs"]
mod front_matter;
#[path = "../../fuzz/laws/listing.rs"]
mod listing;
#[path = "../../fuzz/laws/merge.rs"]
mod merge;
#[path = "../../fuzz/laws/names.rs"]
mod names;
#[path = "../../fuzz/laws/retry_after.rs"]
mod retry_after;
#[path = "../../fuzz/laws/settings.rs"]
mod settings;

use std::path::Path;

/// The name of a target and of its corpus, and what holds for any bytes: it panics where that is not so.
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
            // An answer that breaks off, a file that is being written.
            let step = bytes.len() / 16 + 1;
            (0..bytes.len())
                .step_by(step)
                .for_each(|end| hold(&bytes[..end]));
        }
    }
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
