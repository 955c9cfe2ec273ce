//! The scan: read files, skipped files, and unknown places.

use super::*;
use crate::mirror::disk::{Area, Content, Durability, Entry, Expect, Listing, RealDisk, Slot};
use std::{fs, os::unix::fs::symlink};
use tempfile::TempDir;
use uuid::Uuid;

const ID: &str = "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";

/// A real folder that counts reads, and fails on demand.
struct Watched {
    inner: RealDisk,
    reads: AtomicUsize,
    broken: Option<&'static str>,
}

fn not_here<T>() -> Result<T, DiskError> {
    Err(DiskError::new(DiskErrorKind::Other, "scan", "only"))
}

impl Disk for Watched {
    fn list(&self, at: At<'_>) -> Result<Listing, DiskError> {
        match at {
            At::Folder(name) if self.broken == Some(name) => {
                Err(DiskError::new(DiskErrorKind::Denied, "list", name))
            }
            At::Root | At::Folder(_) => self.inner.list(at),
        }
    }

    fn read(&self, at: At<'_>, name: &str, limit: usize) -> Result<Content, DiskError> {
        if self.broken == Some(name) {
            return Err(DiskError::new(DiskErrorKind::Other, "read", name));
        }
        if name != IGNORE_FILE {
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
        self.inner.read(at, name, limit)
    }

    fn holds(&self, folder: &Place, wanted: &dyn Fn(&str) -> bool) -> bool {
        self.inner.holds(folder, wanted)
    }

    fn look(&self, at: At<'_>, name: &str) -> Result<Option<Entry>, DiskError> {
        self.inner.look(at, name)
    }

    fn stage(&self, _: Slot, _: At<'_>, _: &[u8], _: Durability) -> Result<(), DiskError> {
        not_here()
    }

    fn publish(&self, _: Slot, _: At<'_>, _: &str, _: Expect) -> Result<Stamp, DiskError> {
        not_here()
    }

    fn take(&self, _: Slot, _: At<'_>, _: &str, _: Expect) -> Result<(), DiskError> {
        not_here()
    }

    fn set_beside(&self, _: Area, _: Slot, _: At<'_>, _: &str) -> Result<String, DiskError> {
        not_here()
    }

    fn look_aside(&self, _: Area, _: Slot, _: At<'_>) -> Result<Option<Stamp>, DiskError> {
        not_here()
    }

    fn read_aside(&self, _: Area, _: Slot, _: At<'_>, _: usize) -> Result<Content, DiskError> {
        not_here()
    }

    fn displace(&self, _: Slot, _: At<'_>) -> Result<(), DiskError> {
        not_here()
    }

    fn discard(&self, _: Area, _: Slot, _: At<'_>) -> Result<(), DiskError> {
        not_here()
    }

    fn create_folder(&self, _: &str) -> Result<(), DiskError> {
        not_here()
    }

    fn rename_folder(&self, _: &str, _: &str) -> Result<(), DiskError> {
        not_here()
    }

    fn remove_folder(&self, _: &str) -> Result<(), DiskError> {
        not_here()
    }

    fn sync_folder(&self, _: At<'_>) -> Result<(), DiskError> {
        not_here()
    }

    fn flush(&self) -> Result<(), DiskError> {
        not_here()
    }

    fn sweep(&self, _: &BTreeMap<Slot, Place>, _: bool) -> usize {
        unreachable!("a scan only reads")
    }
}

/// A mirror with the given files; a name that ends in `/` is a folder.
fn mirror(files: &[(&str, &str)]) -> (TempDir, Watched) {
    let top = TempDir::new().expect("a folder");
    for (name, text) in files {
        let path = top.path().join(name);
        if name.ends_with('/') {
            fs::create_dir_all(path).expect("a folder");
        } else {
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
    }
    let disk = Watched {
        inner: RealDisk::open(top.path()).expect("the mirror"),
        reads: AtomicUsize::new(0),
        broken: None,
    };
    (top, disk)
}

type Files = BTreeMap<String, ScannedFile>;

fn look(disk: &Watched, known: &BTreeMap<Place, Stamp>) -> (Scan, Files) {
    let mut files = Files::new();
    let yaml = known
        .iter()
        .filter(|(place, _)| place.file == "_category.yaml");
    let known_categories = yaml.map(|(place, stamp)| (place.folder.as_str(), Some(*stamp)));
    let known_categories = known_categories.collect();
    // The n-th known file belongs to article n.
    let known_file = |folder: &str, file: &str| {
        let mut known = known.iter().zip(0..);
        let ((_, stamp), number) =
            known.find(|((place, _), _)| place.folder == folder && place.file == file)?;
        Some((ArticleId::new(Uuid::from_u128(number)), *stamp))
    };
    let place_of = |file: &ScannedFile| {
        if let ScannedFile::Unchanged { id, .. } = file {
            let number = usize::try_from(id.uuid().as_u128()).expect("a number");
            return known.keys().nth(number).expect("a known file").to_string();
        }
        file.place().expect("a place").to_string()
    };
    let scan = scan(disk, &known_file, &known_categories, &mut |file| {
        files.insert(place_of(&file), file);
    });
    (scan.expect("a scan"), files)
}

fn article(title: &str) -> String {
    format!("---\ntitle: {title}\n---\n<p>x</p>\n")
}

/// Returns one line for each file, category, problem and copy.
fn told(scan: &Scan, files: &Files) -> Vec<String> {
    let mut lines: Vec<String> = files
        .iter()
        .map(|(place, file)| match file {
            ScannedFile::Unchanged { .. } => format!("{place} unchanged"),
            ScannedFile::Ready { document, .. } => format!("{place} ready {}", document.title()),
            ScannedFile::NotReady {
                problem, lenient, ..
            } => {
                let id = problem.id.map(|_| " with id").unwrap_or_default();
                let markers = lenient.as_ref().map(|_| " (waivable)").unwrap_or_default();
                format!("{place} not ready{id}{markers}: {}", problem.message)
            }
            ScannedFile::Present { .. } => format!("{place} present"),
        })
        .collect();
    for category in &scan.categories {
        let content = match &category.content {
            CategoryContent::Unchanged => "unchanged".to_owned(),
            CategoryContent::Ready(document) => format!("ready {}", document.name().unwrap_or("-")),
            CategoryContent::Missing => "missing".to_owned(),
            CategoryContent::NotReady(problem) => format!("not ready: {}", problem.message),
        };
        lines.push(format!("category {} {content}", category.folder));
    }
    lines.extend(
        scan.problems
            .iter()
            .map(|(path, problem)| format!("problem {path}: {problem}")),
    );
    lines.extend(
        scan.conflict_copies
            .keys()
            .map(|place| format!("copy {place}")),
    );
    lines
}

#[test]
fn a_mirror_is_told_as_it_is() {
    let broken = format!("---\nid: {ID}\ntitle: \"open\n---\n");
    let markers = format!("---\nid: {ID}\ntitle: T\n---\n<<<<<<< a\n=======\n>>>>>>> b\n");
    let install = article("Install");
    let (top, disk) = mirror(&[
        ("kbsync.yaml", "service: x\n"),
        (".kbsync/state.db", "x"),
        (".git/config.html", "x"),
        ("_drafts/a.html", "x"),
        ("root.html", "x"),
        ("start/_category.yaml", "name: Getting started\n"),
        ("start/install.html", &install),
        ("start/install.conflict.html", "x"),
        ("start/broken.html", &broken),
        ("start/markers.html", &markers),
        ("start/plain.html", "<h1>x</h1>"),
        ("start/.hidden.html", "x"),
        ("start/notes.txt", "x"),
        ("start/folder.html/", ""),
        ("start/_folder.html/", ""),
        ("start/deeper/", ""),
        ("start/deeper/_old.html", "x"),
        ("start/deeper/.git/a.html", "x"),
        ("start/images/logo.png", "x"),
        ("start/images/icons/down.svg", "x"),
        ("start/older/notes.txt", "x"),
        ("start/older/2019/install.html", "x"),
        ("billing/_category.yaml", "name: [\n"),
        ("empty/", ""),
    ]);
    symlink("/etc/passwd", top.path().join("start/link.html")).expect("a link");
    let (scan, files) = look(&disk, &BTreeMap::new());
    let expected = [
        "start/.hidden.html present",
        "start/_folder.html present",
        "start/broken.html not ready with id: column 8: the YAML cannot be read: ",
        "start/folder.html present",
        "start/install.html ready Install",
        "start/link.html present",
        "start/markers.html not ready with id (waivable): the body has conflict markers of git",
        "start/plain.html not ready: there is no front matter",
        "category billing not ready: column 8: the YAML cannot be read",
        "category empty missing",
        "category start ready Getting started",
        "problem root.html: an article must be in a category's folder; move it there",
        "problem start/folder.html: a folder",
        "problem start/link.html: a symbolic link; links are never followed",
        "copy start/install.conflict.html",
    ];
    let told = told(&scan, &files);
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for (told, expected) in told.iter().zip(expected) {
        let expected = expected.split("column").next().unwrap_or(expected);
        assert!(told.starts_with(expected), "{told:?} is not {expected:?}");
    }
    assert_eq!(scan.inner, [Place::new("start", "older")]);
    assert!(scan.complete);
    assert!(scan.names["start"].contains("notes.txt"));
}

#[test]
fn a_file_whose_stamp_is_known_is_not_opened() {
    let (top, disk) = mirror(&[
        ("a/_category.yaml", "name: A\n"),
        ("a/one.html", &article("One")),
        ("a/two.html", &article("Two")),
        ("b/three.html", &article("Three")),
    ]);
    let (scan, files) = look(&disk, &BTreeMap::new());
    assert_eq!(disk.reads.swap(0, Ordering::Relaxed), 4);
    let mut known = BTreeMap::new();
    for file in files.values() {
        if let ScannedFile::Ready { place, stamp, .. } = file {
            known.insert(place.clone(), *stamp);
        }
    }
    for category in &scan.categories {
        if let Some(stamp) = category.stamp {
            known.insert(Place::new(category.folder.clone(), "_category.yaml"), stamp);
        }
    }
    assert_eq!(known.len(), 4);
    let (scan, files) = look(&disk, &known);
    assert_eq!(disk.reads.load(Ordering::Relaxed), 0);
    assert!(
        files
            .values()
            .all(|file| matches!(file, ScannedFile::Unchanged { .. }))
    );
    assert!(matches!(
        scan.categories[0].content,
        CategoryContent::Unchanged
    ));

    fs::write(top.path().join("a/two.html"), article("Twice")).expect("written");
    let (_, files) = look(&disk, &known);
    assert_eq!(disk.reads.load(Ordering::Relaxed), 1);
    assert!(
        matches!(&files["a/two.html"], ScannedFile::Ready { document, .. } if document.title() == "Twice")
    );
}

#[test]
fn f097_what_cannot_be_read_is_not_absent() {
    let (top, mut disk) = mirror(&[
        ("a/one.html", &article("One")),
        ("b/two.html", &article("Two")),
        ("c", "a file"),
    ]);
    fs::write(top.path().join(IGNORE_FILE), "hidden/\n").expect("written");
    disk.broken = Some("a");
    let (scan, files) = look(&disk, &BTreeMap::new());
    assert!(!scan.complete);
    assert_eq!(scan.unreadable.len(), 1);
    assert_eq!(files.keys().collect::<Vec<_>>(), ["b/two.html"]);
    for (place, absent) in [
        (("a", "one.html"), false),
        (("a", "none.html"), false),
        (("b", "two.html"), false),
        (("b", "none.html"), true),
        (("c", "none.html"), false),
        (("gone", "none.html"), true),
        (("hidden", "none.html"), false),
        (("b", "_x.html"), false),
    ] {
        assert_eq!(
            scan.proves_absent(&Place::new(place.0, place.1)),
            absent,
            "{place:?}"
        );
    }
    disk.broken = Some("two.html");
    let (scan, files) = look(&disk, &BTreeMap::new());
    assert!(matches!(&files["b/two.html"], ScannedFile::Present { .. }));
    assert!(!scan.proves_absent(&Place::new("b", "two.html")));
}

#[test]
fn f097_a_missing_mirror_or_unreadable_rules_are_no_scan() {
    let (top, mut disk) = mirror(&[("a/one.html", "x"), (IGNORE_FILE, "a/\n")]);
    let nothing = |disk: &Watched| scan(disk, &|_, _| None, &KnownCategories::new(), &mut |_| {});
    assert!(nothing(&disk).expect("a scan").categories.is_empty());
    disk.broken = Some(IGNORE_FILE);
    assert!(matches!(nothing(&disk), Err(ScanError::Root(_))));
    disk.broken = None;
    fs::remove_dir_all(top.path()).expect("removed");
    let error = nothing(&disk).expect_err("no mirror");
    assert!(
        error.to_string().contains("gone or was replaced"),
        "{error}"
    );
}

#[test]
fn f130_a_category_folder_that_became_a_link_is_unknown() {
    let (top, disk) = mirror(&[("outside/one.html", &article("One"))]);
    symlink(top.path().join("outside"), top.path().join("a")).expect("a link");
    let (scan, files) = look(&disk, &BTreeMap::new());
    assert_eq!(files.keys().collect::<Vec<_>>(), ["outside/one.html"]);
    assert!(!scan.proves_absent(&Place::new("a", "one.html")));
}

#[test]
fn f128_a_file_over_the_limit_is_isolated_and_its_id_is_found() {
    let large = format!(
        "---\nid: {ID}\ntitle: T\n---\n{}",
        "x".repeat(17 * 1024 * 1024)
    );
    let (_top, disk) = mirror(&[("a/large.html", &large), ("a/one.html", &article("One"))]);
    let (_, files) = look(&disk, &BTreeMap::new());
    assert!(
        matches!(&files["a/large.html"], ScannedFile::NotReady { problem, .. } if problem.id.is_some() && problem.message.contains("16 MiB"))
    );
    assert!(matches!(&files["a/one.html"], ScannedFile::Ready { .. }));
}

#[test]
fn many_folders_and_files_are_all_told_once() {
    let names: Vec<(String, String)> = (0..40)
        .flat_map(|folder| {
            (0..30).map(move |file| (format!("f{folder}/a{file}.html"), article("T")))
        })
        .collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let (_top, disk) = mirror(&files);
    let mut count = 0;
    let scan = scan(&disk, &|_, _| None, &KnownCategories::new(), &mut |file| {
        assert!(matches!(file, ScannedFile::Ready { .. }));
        count += 1;
    });
    assert_eq!(count, 1200);
    assert_eq!(scan.expect("a scan").categories.len(), 40);
}

#[test]
fn f097_an_id_counts_in_a_file_that_is_no_article() {
    let with_id = format!("---\nid: {ID}\ntitle: T\n---\n<p>x</p>\n");
    let broken = format!("---\nid: {ID}\ntitle: \"open\n---\n");
    let (_top, mut disk) = mirror(&[
        ("root.html", &with_id),
        ("kbsync.yaml", "x"),
        ("a/_hidden.html", &broken),
        ("a/case.HTML", &with_id),
        ("a/none.htm", "<p>x</p>"),
        ("a/notes.txt", &with_id),
        ("a/.kbsync-tmp-1-1-was-a.html", &with_id),
        ("a/unreadable.html", &with_id),
    ]);
    disk.broken = Some("unreadable.html");
    let (scan, _) = look(&disk, &BTreeMap::new());
    let found = find_strays(&disk, &scan.layout, &|_, _| false).expect("listed");
    let mut places: Vec<String> = found
        .ids
        .iter()
        .map(|(place, _)| place.to_string())
        .collect();
    places.sort();
    assert_eq!(places, ["/root.html", "a/_hidden.html", "a/case.HTML"]);
    assert_eq!(found.unreadable, [Place::new("a", "unreadable.html")]);
}
