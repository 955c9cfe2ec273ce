//! What git has checked out where a mirror lies: read from its files, without running git.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// What `HEAD` of a work tree says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Head {
    /// A branch is checked out, or about to have its first commit.
    Branch(String),
    /// A commit is checked out without a branch.
    Detached,
}

/// What git writes in place of a branch where HEAD is kept in reftables.
const IN_TABLES: &str = ".invalid";

/// Reads what is checked out in the work tree that holds a folder; `None`: there is none.
pub fn head(folder: &Path) -> io::Result<Option<Head>> {
    let Some(git) = folder
        .ancestors()
        .map(|above| above.join(".git"))
        .find(|git| git.exists())
    else {
        return Ok(None);
    };
    let text = fs::read_to_string(git_folder(&git)?.join("HEAD"))?;
    let branch = text.trim().strip_prefix("ref: refs/heads/");
    if branch == Some(IN_TABLES) {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the repository keeps its branches in reftables",
        ));
    }
    Ok(Some(branch.map_or(Head::Detached, |name| {
        Head::Branch(name.to_owned())
    })))
}

/// In a linked work tree and in a submodule `.git` is a file that names the folder.
fn git_folder(git: &Path) -> io::Result<PathBuf> {
    if git.is_dir() {
        return Ok(git.to_owned());
    }
    let text = fs::read_to_string(git)?;
    let named = text.trim().strip_prefix("gitdir: ").ok_or_else(|| {
        let message = format!("{} names no folder of git", git.display());
        io::Error::new(io::ErrorKind::InvalidData, message)
    })?;
    Ok(git.parent().unwrap_or(git).join(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_is_found_above_the_mirror_and_in_linked_work_trees() {
        let dir = tempfile::tempdir().expect("a folder");
        let mirror = dir.path().join("repo/docs/help");
        fs::create_dir_all(&mirror).expect("made");
        let git = dir.path().join("repo/.git");
        fs::create_dir(&git).expect("made");
        for (text, expected) in [
            ("ref: refs/heads/main\n", Head::Branch("main".to_owned())),
            ("ref: refs/heads/a/b\n", Head::Branch("a/b".to_owned())),
            ("4b825dc642cb6eb9a060e54bf8d69288fbee4904\n", Head::Detached),
        ] {
            fs::write(git.join("HEAD"), text).expect("written");
            assert_eq!(head(&mirror).expect("readable"), Some(expected));
        }
        let linked = dir.path().join("linked");
        let own = git.join("worktrees/linked");
        fs::create_dir_all(&own).expect("made");
        fs::create_dir(&linked).expect("made");
        fs::write(own.join("HEAD"), "ref: refs/heads/draft\n").expect("written");
        let pointer = format!("gitdir: {}\n", own.display());
        fs::write(linked.join(".git"), pointer).expect("written");
        assert_eq!(
            head(&linked).expect("readable"),
            Some(Head::Branch("draft".to_owned()))
        );
        fs::write(own.join("HEAD"), "ref: refs/heads/.invalid\n").expect("written");
        let told = head(&linked).expect_err("in tables").to_string();
        assert!(told.contains("reftables"), "{told}");
        fs::write(linked.join(".git"), "nonsense").expect("written");
        assert!(head(&linked).is_err());
    }
}
