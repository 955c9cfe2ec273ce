//! The meaning of file system events for the mirror. Pure, except for three questions to the disk.

use super::Root;
use crate::{
    daemon::debounce::Touch,
    mirror::layout::IGNORE_FILE,
    model::path::{CATEGORY_FILE, CONFLICT_EXTENSION, EXTENSION, is_ignored},
};
use notify::{
    EventKind,
    event::{ModifyKind, RemoveKind, RenameMode},
};
use std::path::Path;

/// The meaning of an event for the mirror.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// A path was touched.
    Touched(String, Touch),
    /// A folder in a root appeared, and must be watched and scanned, or it disappeared.
    Folder {
        /// The index of the root.
        root: usize,
        /// The folder's name.
        name: String,
        /// Whether it is there.
        touch: Touch,
    },
    /// The ignore rules changed.
    Rules,
    /// A root itself disappeared.
    RootWent,
    /// The queue of events overflowed.
    Overflow,
}

/// The questions to the disk.
pub(super) struct OnDisk<'f> {
    /// Returns whether there is a file at a path.
    pub(super) file: &'f dyn Fn(&Path) -> bool,
    /// Returns whether there is a folder at a path.
    pub(super) folder: &'f dyn Fn(&Path) -> bool,
    /// Returns whether there was a folder at a path, as the watch remembers: a removed path cannot be examined.
    pub(super) was_folder: &'f dyn Fn(&Path) -> bool,
}

/// Interprets an event.
pub(super) fn interpret(
    event: &notify::Event,
    roots: &[Root],
    on_disk: &OnDisk<'_>,
) -> Vec<Meaning> {
    if event.need_rescan() {
        return vec![Meaning::Overflow];
    }
    let touch = |at: usize| match event.kind {
        EventKind::Access(_) => None,
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
            Some(Touch::Removed)
        }
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) if at == 0 => Some(Touch::Removed),
        EventKind::Create(_) | EventKind::Modify(_) | EventKind::Any | EventKind::Other => {
            Some(Touch::Changed)
        }
    };
    let folder_went = matches!(event.kind, EventKind::Remove(RemoveKind::Folder));
    let mut found = Vec::new();
    for (at, path) in event.paths.iter().enumerate() {
        if let Some(touch) = touch(at) {
            found.extend(interpret_path(path, touch, folder_went, roots, on_disk));
        }
    }
    found
}

fn interpret_path(
    path: &Path,
    touch: Touch,
    folder_went: bool,
    roots: &[Root],
    on_disk: &OnDisk<'_>,
) -> Option<Meaning> {
    // The innermost root, if one workspace's folder is below another's.
    let (root, below) = roots
        .iter()
        .enumerate()
        .filter_map(|(at, root)| Some((at, path.strip_prefix(&root.path).ok()?)))
        .min_by_key(|(_, below)| below.components().count())?;
    let names: Vec<&str> = below
        .components()
        .map(|component| component.as_os_str().to_str())
        .collect::<Option<_>>()?;
    match (names.as_slice(), touch) {
        ([], Touch::Removed) => Some(Meaning::RootWent),
        ([name], _) if *name == IGNORE_FILE => Some(Meaning::Rules),
        ([name], _) if name.starts_with(['.', '_']) => None,
        // A removed folder that is there was exchanged with another one, or made again.
        ([name], _) if (on_disk.folder)(path) => Some(Meaning::Folder {
            root,
            name: (*name).to_owned(),
            touch: Touch::Changed,
        }),
        ([name], Touch::Removed) if folder_went || (on_disk.was_folder)(path) => {
            Some(Meaning::Folder {
                root,
                name: (*name).to_owned(),
                touch,
            })
        }
        ([folder, name], touch) => {
            let touch = match touch {
                // Two names were exchanged, as in kbsync's own writes: there is another file at the path.
                Touch::Removed if (on_disk.file)(path) => Touch::Changed,
                Touch::Removed | Touch::Changed => touch,
            };
            let place = relevant_name(name, touch)?;
            let prefix = &roots[root].prefix;
            Some(Meaning::Touched(
                format!("{prefix}{folder}/{}", place.0),
                place.1,
            ))
        }
        ([] | [_] | [_, _, ..], _) => None,
    }
}

/// Returns the name in a folder that an event concerns; for a conflict copy, the article's name. `None`: the event
/// does not matter.
pub(super) fn relevant_name(name: &str, touch: Touch) -> Option<(String, Touch)> {
    if name == CATEGORY_FILE {
        return Some((name.to_owned(), touch));
    }
    if name.starts_with(['.', '_']) {
        return None;
    }
    let lower = name.to_lowercase();
    if lower.ends_with(CONFLICT_EXTENSION) {
        let stem = name.get(..name.len() - CONFLICT_EXTENSION.len())?;
        return Some((format!("{stem}{EXTENSION}"), Touch::Changed));
    }
    (name.ends_with(EXTENSION) && !is_ignored(name)).then(|| (name.to_owned(), touch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::WorkspaceId;
    use notify::event::{AccessKind, CreateKind, DataChange, Flag, MetadataKind};
    use std::path::PathBuf;
    use uuid::Uuid;

    fn check(kind: EventKind, paths: &[&str], expected: &[Meaning]) {
        let roots = ["en", "de"].map(|folder| Root {
            workspace: WorkspaceId::new(Uuid::nil()),
            prefix: format!("{folder}/"),
            path: Path::new("/m").join(folder),
            state: PathBuf::new(),
        });
        let mut event = notify::Event::new(kind);
        for path in paths {
            event = event.add_path(PathBuf::from(path));
        }
        let on_disk = OnDisk {
            file: &|path| path.ends_with("there.html"),
            folder: &|path| path.ends_with("billing"),
            was_folder: &|path| {
                path.ends_with("billing") || path.ends_with("old") || path.ends_with("v2.0")
            },
        };
        assert_eq!(interpret(&event, &roots, &on_disk), expected, "{event:?}");
    }

    fn changed(path: &str) -> Meaning {
        Meaning::Touched(path.to_owned(), Touch::Changed)
    }

    fn removed(path: &str) -> Meaning {
        Meaning::Touched(path.to_owned(), Touch::Removed)
    }

    #[test]
    fn f072_events_mark_paths() {
        let data = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let meta = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
        let file = EventKind::Create(CreateKind::File);
        let gone = EventKind::Remove(RemoveKind::File);
        check(data, &["/m/en/a/b.html"], &[changed("en/a/b.html")]);
        check(meta, &["/m/de/a/b.html"], &[changed("de/a/b.html")]);
        check(
            file,
            &["/m/en/a/_category.yaml"],
            &[changed("en/a/_category.yaml")],
        );
        check(gone, &["/m/en/a/b.html"], &[removed("en/a/b.html")]);
        let name = |mode| EventKind::Modify(ModifyKind::Name(mode));
        let two = ["/m/en/a/x.html", "/m/en/a/y.html"];
        check(
            name(RenameMode::Both),
            &two,
            &[removed("en/a/x.html"), changed("en/a/y.html")],
        );
        check(name(RenameMode::From), &two[..1], &[removed("en/a/x.html")]);
        check(name(RenameMode::To), &two[..1], &[changed("en/a/x.html")]);
    }

    #[test]
    fn f079_a_name_that_was_exchanged_is_not_gone() {
        let name = |mode| EventKind::Modify(ModifyKind::Name(mode));
        let two = ["/m/en/a/there.html", "/m/en/a/.kbsync-tmp-1"];
        check(name(RenameMode::Both), &two, &[changed("en/a/there.html")]);
        check(
            name(RenameMode::From),
            &two[..1],
            &[changed("en/a/there.html")],
        );
    }

    #[test]
    fn f074_editors_files_are_ignored() {
        let any = EventKind::Any;
        for name in [
            "4913",
            "b.html~",
            ".b.html.swp",
            ".#b.html",
            "#b.html#",
            "b.tmp",
            ".kbsync-tmp-1",
            "b.html___jb_tmp___",
            "b.html___jb_old___",
            "deep/er/b.html",
        ] {
            check(any, &[&format!("/m/en/a/{name}")], &[]);
        }
        let access = EventKind::Access(AccessKind::Any);
        check(access, &["/m/en/a/b.html"], &[]);
        check(any, &["/m/en/.git/index"], &[]);
        check(any, &["/m/en/.kbsync/state.db"], &[]);
        check(any, &["/elsewhere/a.html"], &[]);
    }

    #[test]
    fn a_conflicts_copy_is_about_its_article() {
        let gone = EventKind::Remove(RemoveKind::File);
        check(
            gone,
            &["/m/en/a/b.conflict.html"],
            &[changed("en/a/b.html")],
        );
    }

    #[test]
    fn f076_folders_come_and_go() {
        let folder = |name: &str, touch| Meaning::Folder {
            root: 0,
            name: name.to_owned(),
            touch,
        };
        let came = folder("billing", Touch::Changed);
        let went = folder("old", Touch::Removed);
        check(
            EventKind::Create(CreateKind::Folder),
            &["/m/en/billing"],
            std::slice::from_ref(&came),
        );
        check(
            EventKind::Remove(RemoveKind::Folder),
            &["/m/en/old"],
            std::slice::from_ref(&went),
        );
        let both = EventKind::Modify(ModifyKind::Name(RenameMode::Both));
        check(
            both,
            &["/m/en/old", "/m/en/billing"],
            &[went.clone(), came.clone()],
        );
        let from = EventKind::Modify(ModifyKind::Name(RenameMode::From));
        check(from, &["/m/en/old"], &[went]);
        // Exchanged with another folder.
        check(from, &["/m/en/billing"], &[came]);
        let dotted = folder("v2.0", Touch::Removed);
        check(from, &["/m/en/v2.0"], &[dotted]);
        // A file, whatever its name looks like.
        check(from, &["/m/en/Makefile"], &[]);
        check(
            EventKind::Remove(RemoveKind::Folder),
            &["/m/en"],
            &[Meaning::RootWent],
        );
        check(EventKind::Any, &["/m/en/.kbsyncignore"], &[Meaning::Rules]);
        check(EventKind::Any, &["/m/en/kbsync.yaml"], &[]);
    }

    #[test]
    fn f075_an_overflow_has_no_path_and_is_heard() {
        let roots = [];
        let event = notify::Event::new(EventKind::Other).set_flag(Flag::Rescan);
        let on_disk = OnDisk {
            file: &|_| false,
            folder: &|_| false,
            was_folder: &|_| false,
        };
        assert_eq!(interpret(&event, &roots, &on_disk), [Meaning::Overflow]);
    }
}
