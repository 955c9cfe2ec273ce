//! Checks and adds the rule by which git ignores conflict copies.
//!
//! The check reads the files that git reads: the user's and the repository's exclude files, and each `.gitignore` from
//! the work tree down to the mirror. The rule is only ever appended; a link, or anything else that is not a regular
//! file, stays unchanged.

use crate::files::if_there;
use crate::model::path::CONFLICT_EXTENSION;
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path},
};
use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// The name of git's ignore file in a folder.
pub const GIT_IGNORE: &str = ".gitignore";

/// Returns the rule that makes git ignore conflict copies.
pub fn line() -> String {
    format!("*{CONFLICT_EXTENSION}")
}

/// Returns whether git ignores the conflict copies of a mirror. `exclude`: the repository's exclude file; `None`: in
/// every clone, so only committed rules count.
pub fn leaves_copies_alone(mirror: &Path, work_tree: &Path, exclude: Option<&Path>) -> bool {
    // The nearest file to the mirror comes first.
    let folders = mirror.ancestors();
    let folders = folders.take_while(|folder| folder.starts_with(work_tree));
    let shared = folders.map(|folder| (folder, folder.join(GIT_IGNORE)));
    let own = exclude.map(|exclude| [Some(exclude.to_owned()), gitconfig_excludes_path()]);
    let own = own.into_iter().flatten().flatten();
    let own = own.map(|file| (work_tree, file));
    let copy = mirror.join("x").join(format!("x{CONFLICT_EXTENSION}"));
    for (root, file) in shared.chain(own) {
        match rules(root, &file).matched_path_or_any_parents(&copy, false) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => {}
        }
    }
    false
}

/// Reads the rules of one file; unreadable lines are skipped.
fn rules(root: &Path, file: &Path) -> Gitignore {
    let is_file = fs::metadata(file).is_ok_and(|found| found.is_file());
    let mut builder = GitignoreBuilder::new(root);
    let unread = if is_file { builder.add(file) } else { None };
    if let Some(error) = unread {
        tracing::debug!("{}: {error}", file.display());
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Adds the rule to one of git's files, and returns whether the file lacked the rule. A missing file is created.
pub fn add_line(file: &Path) -> io::Result<bool> {
    match (if_there(fs::symlink_metadata(file))?, file.parent()) {
        (Some(found), _) if !found.is_file() => {
            return Err(io::Error::other("it is not a regular file"));
        }
        (None, Some(folder)) => fs::create_dir_all(folder)?,
        (Some(_), _) | (None, None) => {}
    }
    let nofollow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .custom_flags(nofollow)
        .open(file)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let line = line();
    if bytes
        .split(|byte| *byte == b'\n')
        .any(|known| known.trim_ascii() == line.as_bytes())
    {
        return Ok(false);
    }
    let gap = if bytes.last().is_none_or(|last| *last == b'\n') {
        ""
    } else {
        "\n"
    };
    file.write_all(format!("{gap}{line}\n").as_bytes())?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_added_once_and_behind_whatever_is_there() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("info/exclude");
        for (before, after, added) in [
            (None, "*.conflict.html\n", true),
            (Some("*.tmp\n"), "*.tmp\n*.conflict.html\n", true),
            (Some("*.tmp"), "*.tmp\n*.conflict.html\n", true),
            (
                Some("*.conflict.html\r\n*.tmp\n"),
                "*.conflict.html\r\n*.tmp\n",
                false,
            ),
        ] {
            if let Some(before) = before {
                fs::write(&file, before).expect("written");
            }
            assert_eq!(add_line(&file).expect("added"), added, "{before:?}");
            assert_eq!(fs::read_to_string(&file).expect("text"), after);
            assert!(!add_line(&file).expect("added"));
        }
    }

    #[test]
    fn a_link_and_a_folder_are_left_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let elsewhere = dir.path().join("elsewhere");
        fs::write(&elsewhere, "mine\n").expect("written");
        let link = dir.path().join(GIT_IGNORE);
        std::os::unix::fs::symlink(&elsewhere, &link).expect("a link");
        let refused = |file: &Path| add_line(file).expect_err("no file").to_string();
        assert_eq!(refused(&link), "it is not a regular file");
        assert_eq!(fs::read_to_string(&elsewhere).expect("text"), "mine\n");
        assert_eq!(refused(dir.path()), "it is not a regular file");
    }

    #[test]
    fn the_rule_nearest_to_the_file_counts() {
        let dir = tempfile::tempdir().expect("a folder");
        let (tree, mirror) = (dir.path(), dir.path().join("docs/help"));
        fs::create_dir_all(&mirror).expect("folders");
        let exclude = tree.join("exclude");
        let ignored = || leaves_copies_alone(&mirror, tree, Some(&exclude));
        assert!(!ignored());
        fs::write(&exclude, "*.conflict.html\n").expect("written");
        assert!(ignored());
        fs::write(mirror.join(GIT_IGNORE), "!*.conflict.html\n").expect("written");
        assert!(!ignored());
        fs::write(mirror.join(GIT_IGNORE), "").expect("written");
        fs::remove_file(&exclude).expect("removed");
        fs::write(tree.join(GIT_IGNORE), "/docs/\n").expect("written");
        assert!(ignored(), "what lies in an ignored folder is ignored");
    }
}
