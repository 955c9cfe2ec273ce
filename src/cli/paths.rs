//! Translates between paths of the command line and paths below the mirror.

use super::failure::Failure;
use std::path::{Component, Path, PathBuf};

/// Returns the path below the mirror that an argument means, with `/`; `""` is the mirror itself.
///
/// Relative paths start at the current folder, or at the mirror if only the mirror has the path's first name: reports
/// print such paths, and people paste them. The file need not exist, because a removed file can be named, too.
pub(super) fn in_mirror(mirror: &Path, current: &Path, path: &Path) -> Result<String, Failure> {
    let from = if is_pasted(mirror, current, path) {
        mirror
    } else {
        current
    };
    let full = plain(&from.join(path));
    let below = match full.strip_prefix(plain(mirror)) {
        Ok(below) => Some(below.to_owned()),
        // Both may be the same folder through a symbolic link.
        Err(_) => real(&full)
            .zip(real(mirror))
            .and_then(|(full, mirror)| full.strip_prefix(mirror).ok().map(Path::to_owned)),
    };
    below.as_deref().map(slashed).ok_or_else(|| {
        Failure::usage(
            format!(
                "{} is not in the mirror {}",
                path.display(),
                mirror.display()
            ),
            "name a file or folder in it, or the mirror with -C",
        )
    })
}

/// Returns whether the first name of a path exists in the mirror and not in the current folder. Below the mirror, a
/// single name is always one in the current folder: it may be that of a removed file.
fn is_pasted(mirror: &Path, current: &Path, path: &Path) -> bool {
    let mut names = path.components();
    let Some(Component::Normal(first)) = names.next() else {
        return false;
    };
    let is_in = |place: &Path| place.join(first).symlink_metadata().is_ok();
    let is_below = || {
        real(current)
            .zip(real(mirror))
            .is_some_and(|(at, top)| at.starts_with(top))
    };
    !is_in(current) && is_in(mirror) && (names.next().is_some() || !is_below())
}

/// Returns a path below the mirror for display: relative if it is below the current folder.
pub(super) fn from_current(mirror: &Path, current: &Path, below: &str) -> PathBuf {
    let full = plain(&mirror.join(below));
    match full.strip_prefix(plain(current)) {
        Ok(near) => near.to_owned(),
        Err(_) => full,
    }
}

/// Joins the names of a relative path with `/`.
pub(super) fn slashed(path: &Path) -> String {
    let names: Vec<_> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    names.join("/")
}

/// Resolves `.` and `..` without reading the disk.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// Resolves symbolic links in the existing part of a path.
fn real(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|known| {
        let rest = path.strip_prefix(known).ok()?;
        Some(known.canonicalize().ok()?.join(rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_from_the_current_folder() {
        let mirror = Path::new("/srv/help");
        for (current, path, expected) in [
            (
                "/srv/help",
                "billing/refunds.html",
                Some("billing/refunds.html"),
            ),
            (
                "/srv/help/billing",
                "refunds.html",
                Some("billing/refunds.html"),
            ),
            (
                "/srv/help/billing",
                "../start/./a.html",
                Some("start/a.html"),
            ),
            ("/srv", "help", Some("")),
            ("/srv", "/srv/help/a", Some("a")),
            ("/srv/help", "../other/a.html", None),
            ("/srv/help", "/etc/passwd", None),
        ] {
            let found = in_mirror(mirror, Path::new(current), Path::new(path)).ok();
            assert_eq!(found.as_deref(), expected, "{path} in {current}");
        }
    }

    #[test]
    fn paths_that_count_from_the_mirror_are_understood_where_no_other_is_meant() {
        let dir = tempfile::tempdir().expect("a folder");
        let mirror = dir.path();
        for folder in ["billing/faq", "start"] {
            std::fs::create_dir_all(mirror.join(folder)).expect("a folder");
        }
        for (current, path, expected) in [
            ("billing", "start/a.html", "start/a.html"),
            ("billing", "billing/gone.html", "billing/gone.html"),
            // A folder that exists in the current folder wins; a folder that exists nowhere is below the current
            // folder.
            ("billing", "faq/a.html", "billing/faq/a.html"),
            ("billing", "other/a.html", "billing/other/a.html"),
            ("billing", "start", "billing/start"),
            ("billing", "./start/a.html", "billing/start/a.html"),
        ] {
            let found = in_mirror(mirror, &mirror.join(current), Path::new(path)).ok();
            assert_eq!(found.as_deref(), Some(expected), "{path} in {current}");
        }
        let elsewhere = tempfile::tempdir().expect("a folder");
        let found = in_mirror(mirror, elsewhere.path(), Path::new("start/a.html")).ok();
        assert_eq!(found.as_deref(), Some("start/a.html"));
        let found = in_mirror(mirror, elsewhere.path(), Path::new("start")).ok();
        assert_eq!(found.as_deref(), Some("start"));
        assert!(in_mirror(mirror, elsewhere.path(), Path::new("other")).is_err());
    }

    #[test]
    fn near_paths_are_shown_short() {
        let mirror = Path::new("/srv/help");
        for (current, expected) in [
            ("/srv", "help/a/b.html"),
            ("/srv/help", "a/b.html"),
            ("/home", "/srv/help/a/b.html"),
        ] {
            let shown = from_current(mirror, Path::new(current), "a/b.html");
            assert_eq!(shown, Path::new(expected));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_linked_mirror_is_the_same_mirror() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(dir.path().join("real")).expect("a folder");
        std::os::unix::fs::symlink("real", dir.path().join("link")).expect("a link");
        let found = in_mirror(
            &dir.path().join("link"),
            &dir.path().join("real"),
            Path::new("gone/a.html"),
        );
        assert_eq!(found.expect("below"), "gone/a.html");
    }
}
