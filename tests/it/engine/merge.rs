//! The merge of bodies against git's merge, where the two have to agree: lines, and edits with an untouched line
//! between them. Runs only where git is installed.

use kbsync::reconcile::merge::{TextMerge, merge_text};
use std::{fs, path::Path, process::Command};

/// The number of random triples; git takes some milliseconds for each.
const CASES: u64 = 120;

/// A small random generator, so that the seed identifies a case.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Returns a base and two sides with edits at least one line apart, and sometimes a line that both sides edited.
fn triple(seed: u64) -> [String; 3] {
    let mut numbers = Numbers(seed * 0x9e37_79b9 + 1);
    let mut texts = [String::new(), String::new(), String::new()];
    for line in 0..numbers.below(30) + 5 {
        let old = format!("line {line}\n");
        let edit = if line % 2 == 0 { numbers.below(12) } else { 11 };
        let sides: &[usize] = match numbers.below(20) {
            0 => &[1, 2],
            at if at % 2 == 0 => &[1],
            _ => &[2],
        };
        for (side, text) in texts.iter_mut().enumerate() {
            let new = match edit {
                _ if !sides.contains(&side) => old.clone(),
                0 | 1 => format!("side {side} of {line}\n"),
                2 => String::new(),
                3 => format!("{old}side {side} below {line}\n"),
                _ => old.clone(),
            };
            text.push_str(&new);
        }
    }
    texts
}

/// Merges with git; `None` is a conflict.
fn git_merge(folder: &Path, [base, local, remote]: &[String; 3]) -> Option<String> {
    for (name, text) in [("base", base), ("local", local), ("remote", remote)] {
        fs::write(folder.join(name), text).expect("a temporary file");
    }
    let output = Command::new("git")
        .args(["merge-file", "-p", "local", "base", "remote"])
        .current_dir(folder)
        .output()
        .expect("git was found before");
    let text = String::from_utf8(output.stdout).expect("text in, text out");
    output.status.success().then_some(text)
}

#[test]
fn merges_of_lines_agree_with_git() {
    if Command::new("git").arg("--version").output().is_err() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut merged, mut clashed) = (0, 0);
    for seed in 1..=CASES {
        let texts = triple(seed);
        let [base, local, remote] = &texts;
        let ours = match merge_text(base, local, remote) {
            TextMerge::Merged(text) => Some(text),
            TextMerge::Clash(_) => None,
        };
        assert_eq!(
            ours,
            git_merge(folder.path(), &texts),
            "seed {seed}: {texts:?}"
        );
        *(if ours.is_some() {
            &mut merged
        } else {
            &mut clashed
        }) += 1;
    }
    assert!(
        merged > 20 && clashed > 5,
        "{merged} merged, {clashed} clashed"
    );
}
