//! The planted defects: patches in `tests/zoo`, and a copy of the program that has all of them.
//!
//! A patch begins with the row of `tests/failures.md` and a sentence about the defect. The planted code asks whether
//! its defect is let in, so that one copy is enough for all. The program itself has no planted defect.

use anyhow::{Context as _, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the patches.
const PATCHES: &str = "tests/zoo";

/// A file that exists only in a copy with the defects.
const MARK: &str = "tests/zoo/planted";

/// A defect that can be planted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Defect {
    /// The name of its patch.
    pub(crate) name: String,
    /// The row of the failure table.
    pub(crate) row: u32,
    /// The sentence about the defect.
    pub(crate) words: String,
    /// Whether a part of the defect is in the planner.
    pub(crate) is_planned: bool,
    patch: PathBuf,
}

impl Defect {
    fn read(patch: PathBuf) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(&patch)?;
        let head = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line.with_context(|| format!("{} has no line \"{key}…\"", patch.display()))
        };
        let name = patch.file_stem().unwrap_or_default().to_string_lossy();
        ensure!(
            text.contains(&format!("defect::is(\"{name}\")")),
            "{} does not ask for its own defect",
            patch.display()
        );
        Ok(Self {
            row: head("Row: ")?.parse()?,
            words: head("Defect: ")?.to_owned(),
            is_planned: text.contains("\n+++ b/src/reconcile/"),
            name: name.into_owned(),
            patch,
        })
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns whether this program is a copy with the defects.
#[cfg_attr(test, expect(dead_code, reason = "the command calls it"))]
pub(crate) fn is_planted() -> bool {
    root().join(MARK).exists()
}

/// Returns the defects, by row and name.
pub(crate) fn defects() -> anyhow::Result<Vec<Defect>> {
    let mut defects = Vec::new();
    for entry in std::fs::read_dir(root().join(PATCHES))? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "patch")
        {
            defects.push(Defect::read(path)?);
        }
    }
    defects.sort_by(|one, other| (one.row, &one.name).cmp(&(other.row, &other.name)));
    Ok(defects)
}

/// Copies the program's files into a folder, and plants all defects there.
pub(crate) fn plant(into: &Path) -> anyhow::Result<()> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output()
        .context("failed to run git")?;
    ensure!(
        listed.status.success(),
        "failed to list the program's files"
    );
    for name in String::from_utf8(listed.stdout)?.split_terminator('\0') {
        let (from, to) = (root().join(name), into.join(name));
        // `git ls-files` also lists files that were removed since the last commit.
        if from.is_file() {
            copy_if_changed(&from, &to).with_context(|| format!("failed to copy {name}"))?;
        }
    }
    for defect in defects()? {
        let applied = Command::new("git")
            .args(["apply", "--recount", "-C1"])
            .arg(&defect.patch)
            .current_dir(into)
            // The copy may be inside the repository, whose files must not change.
            .env("GIT_CEILING_DIRECTORIES", into.parent().unwrap_or(into))
            .output()?;
        ensure!(
            applied.status.success(),
            "{} does not fit the program any more: {}",
            defect.patch.display(),
            String::from_utf8_lossy(&applied.stderr)
        );
    }
    std::fs::write(into.join(MARK), "")?;
    Ok(())
}

/// Copies a file. An unchanged file keeps its time, so that it is not compiled again.
fn copy_if_changed(from: &Path, to: &Path) -> std::io::Result<()> {
    let bytes = std::fs::read(from)?;
    if std::fs::read(to).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(to, bytes)
}

#[cfg(test)]
mod tests {
    use super::{defects, plant};
    use std::process::Command;

    #[test]
    fn every_defect_can_be_planted() {
        let copy = tempfile::tempdir().expect("a folder");
        plant(copy.path()).expect("all patches fit");
        for defect in defects().expect("the patches can be read") {
            let asks = format!("defect::is(\"{}\")", defect.name);
            let is_there = |file: &str| {
                let text = std::fs::read_to_string(copy.path().join(file));
                text.is_ok_and(|text| text.contains(&asks))
            };
            let patch = std::fs::read_to_string(&defect.patch).expect("a patch");
            let mut files = patch.lines().filter_map(|line| line.strip_prefix("+++ b/"));
            assert!(files.any(is_there), "{}", defect.name);
        }
    }

    #[test]
    #[ignore = "compiles the program once more; CI runs it"]
    fn a_program_with_all_defects_compiles() {
        let copy = tempfile::tempdir().expect("a folder");
        plant(copy.path()).expect("all patches fit");
        let target = std::env::current_exe().expect("a path");
        let target = target.ancestors().nth(3).expect("the target's folder");
        let checked = Command::new(env!("CARGO"))
            .args([
                "check",
                "--locked",
                "--offline",
                "--lib",
                "--features",
                "drill",
            ])
            .current_dir(copy.path())
            .env("CARGO_TARGET_DIR", target)
            .output()
            .expect("cargo runs");
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{said}");
    }
}
