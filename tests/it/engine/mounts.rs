//! A mirror on its own disk: read-only, and not mounted.

use crate::support::canary;
use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher};
use crate::support::kb::{Kb, Service, TOKEN};
use kbsync::model::path::EXTENSION;
use kbsync::sandbox::Sandbox;
use std::process::{Command, Output};

/// Runs a command in a namespace of its own, after a shell script; `None`: namespaces are not available here.
pub(crate) fn apart_from(
    flags: &[&str],
    script: &str,
    probe: &str,
    kb: &Kb,
    arguments: &[&str],
) -> Option<Output> {
    let wrap = |plain: &Command, then: &str| {
        let mut command = Command::new("unshare");
        let script = format!("{script} {then}");
        command.args(flags).args(["sh", "-c", &script]);
        command.arg(plain.get_program()).args(plain.get_args());
        command.current_dir(kb.mirror()).env_clear();
        command.envs(
            plain
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    };
    let plain = kb.process(arguments);
    let tried = wrap(&plain, probe).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        return None;
    }
    let output = wrap(&plain, "exec \"$0\" \"$@\"")
        .output()
        .expect("it runs");
    canary::silent(&String::from_utf8_lossy(&output.stdout));
    canary::silent(&String::from_utf8_lossy(&output.stderr));
    Some(output)
}

/// Runs a command on a read-only mirror; `None`: namespaces are not available here.
fn read_only(kb: &Kb, arguments: &[&str]) -> Option<Output> {
    let script = "mount --bind . . && mount -o remount,ro,bind . && cd \"$PWD\" &&";
    apart_from(&OWN_MOUNTS, script, "! touch probe", kb, arguments)
}

/// The flags of a namespace in which mounts are allowed.
pub(crate) const OWN_MOUNTS: [&str; 3] = ["--user", "--map-root-user", "--mount"];

#[expect(clippy::print_stderr, reason = "a test that is left out says so")]
pub(crate) fn left_out() {
    eprintln!("left out: nothing can be mounted here");
}

/// A mirror with its state elsewhere, as in a container with two volumes.
fn apart(service: &Service) -> Kb {
    let mut kb = service.mirror();
    kb.set("KBSYNC_SERVICE", &service.url);
    kb.set("KBSYNC_WORKSPACE", &service.workspace);
    let state = kb.mirror().with_file_name("database");
    kb.set("KBSYNC_STATE_DIR", &state.to_string_lossy());
    kb.remove("kbsync.yaml");
    kb.run(&["sync"]).exits(0);
    kb
}

#[test]
fn f096_a_mirror_that_may_only_be_read_is_told_and_left_as_it_is() {
    for elsewhere in [false, true] {
        let service = Service::start();
        let kb = if elsewhere {
            apart(&service)
        } else {
            let kb = service.mirror();
            kb.run(&["sync"]).exits(0);
            kb
        };
        let mut articles = service.sandbox.articles().into_iter();
        let (one, two) = (
            articles.next().expect("one").id,
            articles.next().expect("two").id,
        );
        let theirs = service
            .sandbox
            .edit(one, |article| article.text = "<p>theirs</p>".into());
        assert!(theirs.is_some());
        let path = kb
            .articles()
            .into_iter()
            .find(|(_, text)| text.contains(&two.to_string()));
        let (path, text) = path.expect("its file");
        kb.write(&path, &(text + "<p>mine</p>\n"));
        let before = kb.articles();
        let Some(output) = read_only(&kb, &["sync"]) else {
            return left_out();
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for words in ["Read-only file system", "for writing"] {
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(kb.articles(), before);
        assert!(!service.text(two).contains("mine"));
        kb.run(&["sync"]).exits(0);
        assert!(
            kb.articles()
                .iter()
                .any(|(_, text)| text.contains("theirs"))
        );
        assert!(service.text(two).contains("mine"));
    }
}

#[test]
fn f040_a_mirror_that_is_not_mounted_deletes_nothing() {
    let service = Service::start();
    let kb = apart(&service);
    let before = kb.articles();
    let (one, _) = before
        .iter()
        .find(|(path, _)| path.ends_with(EXTENSION))
        .expect("a file");
    let away = kb.mirror().with_file_name("away");
    std::fs::rename(kb.mirror(), &away).expect("unmounted");
    std::fs::create_dir(kb.mirror()).expect("what it was mounted on");
    for command in ["sync", "push", "run", "sync"] {
        kb.run(&[command]).exits(1).complains(
            "has no articles, and the state in",
            "mount the mirror's disk",
        );
        // If only one file came back, the other files would count as removed.
        kb.run(&["restore", one])
            .exits(1)
            .complains("has no articles, and the state in", "`kbsync restore .`");
        assert_eq!(service.sandbox.articles().len(), 3, "{command}");
        let made = std::fs::read_dir(kb.mirror()).expect("listed").count();
        assert_eq!(made, 0, "{command}");
    }
    std::fs::remove_dir_all(kb.mirror()).expect("removed");
    std::fs::rename(&away, kb.mirror()).expect("mounted again");
    kb.run(&["sync"]).exits(0);
    assert_eq!(kb.articles(), before);
}

#[test]
fn f040_an_emptied_mirror_gets_its_files_back_from_a_state_that_was_kept() {
    let service = Service::start();
    let kb = apart(&service);
    let before = kb.articles();
    std::fs::remove_dir_all(kb.mirror()).expect("gone");
    std::fs::create_dir(kb.mirror()).expect("an empty folder");
    kb.run(&["sync"])
        .exits(1)
        .complains("has no articles, and the state in", "`kbsync restore .`");
    kb.run(&["restore", "."]).exits(0);
    assert_eq!(kb.articles(), before);
    assert_eq!(service.sandbox.articles().len(), 3);
    kb.run(&["sync"]).exits(0);
    assert_eq!(kb.articles(), before);
}

#[test]
fn f040_a_restore_that_is_broken_off_before_its_first_file_deletes_nothing() {
    let service = Service::start();
    let kb = apart(&service);
    let before = kb.articles();
    std::fs::remove_dir_all(kb.mirror()).expect("gone");
    std::fs::create_dir(kb.mirror()).expect("an empty folder");
    let private = kb.mirror().join(".kbsync");
    std::os::unix::fs::symlink("nowhere", &private).expect("no lock can be made");
    kb.run(&["restore", "."]).exits(1);
    // The remains of a process that had just created its lock.
    std::fs::remove_file(&private).expect("removed");
    std::fs::create_dir(&private).expect("made");
    let ran = kb.run(&["sync"]).exits(3);
    assert!(ran.stdout.contains("was interrupted"), "{ran:#?}");
    assert_eq!(service.sandbox.articles().len(), 3);
    kb.run(&["restore", "."]).exits(0);
    assert_eq!(kb.articles(), before);
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 3);
}

#[test]
fn f040_an_empty_file_system_over_a_category_deletes_nothing() {
    let service = Service::start();
    let kb = apart(&service);
    let (path, _) = kb.articles().into_iter().next().expect("one");
    let (folder, _) = path.split_once('/').expect("a folder");
    let hide = format!("mount -t tmpfs none {folder} &&");
    let Some(output) = apart_from(&OWN_MOUNTS, &hide, "true", &kb, &["sync"]) else {
        return left_out();
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{output:#?}");
    assert!(
        said.contains("another file system is mounted there, and it is empty"),
        "{said}"
    );
    assert_eq!(service.sandbox.articles().len(), 3);
    kb.run(&["sync"]).exits(0);
}

#[test]
fn f040_several_emptied_workspaces_are_filled_one_by_one() {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "one", "<p>One.</p>");
    let german = service.sandbox.add_workspace("Hilfe");
    let anfang = service.sandbox.add_category(german, "Anfang", "anfang");
    service.article(anfang, "eins", "<p>Eins.</p>");
    let settings = format!(
        "service: {}\nworkspaces: [{{id: {}, folder: en}}, {{id: {german}, folder: de}}]\n",
        service.url, service.workspace
    );
    let mut kb = Kb::with_settings(&settings);
    kb.set("KBSYNC_TOKEN", TOKEN);
    kb.trust();
    let state = kb.mirror().with_file_name("database");
    kb.set("KBSYNC_STATE_DIR", &state.to_string_lossy());
    kb.run(&["sync"]).exits(0);
    let before = kb.articles();
    for folder in ["en", "de"] {
        let folder = kb.mirror().join(folder);
        std::fs::remove_dir_all(&folder).expect("gone");
        std::fs::create_dir(&folder).expect("an empty folder");
    }
    for (folder, other) in [("de", "en"), ("en", "de")] {
        kb.run(&["sync"])
            .exits(1)
            .complains("has no articles, and the state in", "`kbsync restore .`");
        let made = |name: &str| kb.exists(&format!("{name}/.kbsync"));
        assert!(!made(folder));
        let was = made(other);
        kb.run(&["restore", folder]).exits(0);
        assert!(made(folder));
        assert_eq!(made(other), was, "what it does not touch stays as it is");
    }
    kb.run(&["sync"]).exits(0);
    assert_eq!(kb.articles(), before);
    assert_eq!(service.sandbox.articles().len(), 2);
}

/// `git clean -fdx` removes the lock in the middle of a sync; the state is in another folder, and stays.
#[test]
fn f116_a_sync_without_its_lock_sends_nothing_more() {
    let service = Service::start();
    let kb = apart(&service);
    let files = kb.articles().into_iter();
    for (path, text) in files.filter(|(path, _)| path.ends_with(EXTENSION)) {
        kb.write(&path, &(text + "<p>mine</p>\n"));
    }
    let private = kb.mirror().join(".kbsync");
    let removed = move |_: &Sandbox| std::fs::remove_dir_all(&private).expect("removed");
    let put = Matcher::new("PUT", "/api/article/");
    let hook = FaultKind::HookAfter(Hook::new(removed));
    service.sandbox.inject(Fault::once(put, hook));
    let sent = || {
        let articles = service.sandbox.articles().into_iter();
        articles
            .filter(|article| article.text.contains("mine"))
            .count()
    };
    let said = kb.run(&["sync"]).exits(1).stderr;
    let lost = ".kbsync/lock: it was removed or replaced";
    assert!(said.contains(lost), "{said}");
    assert_eq!(sent(), 1);
    kb.run(&["sync"]).exits(0);
    assert_eq!(sent(), service.sandbox.articles().len());
}

/// A CI job stores the state, and begins with a fresh checkout.
#[test]
fn f040_a_fresh_checkout_goes_on_with_a_state_that_was_kept() {
    let service = Service::start();
    let kb = apart(&service);
    std::fs::remove_dir_all(kb.mirror().join(".kbsync")).expect("removed");
    let (path, text) = kb
        .articles()
        .into_iter()
        .find(|(path, _)| path.ends_with(EXTENSION))
        .expect("one");
    kb.write(&path, &(text + "<p>mine</p>\n"));
    kb.run(&["sync"]).exits(0);
    let articles = service.sandbox.articles();
    assert!(articles.iter().any(|article| article.text.contains("mine")));
}

/// Syncs while the folder of one category is a separate mount; `None`: namespaces are not available here.
fn sync_with_mount(kb: &Kb, folder: &str) -> Option<Output> {
    let script = format!("mount --bind {folder} {folder} &&");
    apart_from(&OWN_MOUNTS, &script, "true", kb, &["sync"])
}

/// A mirror in which the service moved an article into a folder that is a separate mount. Returns the article's new
/// path.
fn moved_between_mounts(service: &Service) -> (Kb, String) {
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let slug = "install-a-team-member";
    let articles = service.sandbox.articles();
    let article = articles.iter().find(|article| article.slug == slug);
    let categories = service.sandbox.categories();
    let billing = categories
        .iter()
        .find(|category| category.slug == "billing");
    let billing = billing.expect("a category").id;
    let moved = article.and_then(|article| {
        service
            .sandbox
            .edit(article.id, |article| article.category_id = billing)
    });
    moved.expect("it is there");
    (kb, format!("getting-started/{slug}{EXTENSION}"))
}

#[test]
fn f081_a_file_that_leaves_a_mount_is_displaced_there() {
    let service = Service::start();
    let (kb, path) = moved_between_mounts(&service);
    let before = kb.read(&path);
    let Some(output) = sync_with_mount(&kb, "billing") else {
        return left_out();
    };
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let now: Vec<_> = kb.articles().into_iter().map(|(path, _)| path).collect();
    let to = path.replace("getting-started", "billing");
    assert!(
        now.contains(&to) && !now.contains(&path),
        "{now:?} {output:?}"
    );
    let displaced: Vec<_> = kb
        .files()
        .into_iter()
        .filter(|(path, _)| path.to_string_lossy().contains(".kbsync/displaced/"))
        .collect();
    let is_kept = displaced
        .iter()
        .any(|(_, bytes)| *bytes == before.as_bytes());
    assert!(is_kept, "{displaced:?}");
}

#[test]
fn f001_f080_a_save_that_was_caught_on_another_mount_is_kept() {
    let service = Service::start();
    let (mut kb, path) = moved_between_mounts(&service);
    kb.set("KBSYNC_DRILL_PANIC_AT", "disk: file moved away");
    let Some(output) = sync_with_mount(&kb, "billing") else {
        return left_out();
    };
    assert!(!output.status.success() && !kb.exists(&path), "{output:?}");
    kb.set("KBSYNC_DRILL_PANIC_AT", "");
    // An editor saved at that moment, so the file that was taken away is the save.
    let stage = kb.mirror().join(".kbsync/stage");
    let mut caught = std::fs::read_dir(stage).expect("the stage");
    let caught = caught.next().expect("a file").expect("readable").path();
    std::fs::write(&caught, "---\ntitle: T\n---\n<p>Caught.</p>\n").expect("written");
    for _ in 0..2 {
        let output = sync_with_mount(&kb, "billing").expect("as before");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let files = kb.files();
        let is_there = files.iter().any(|(path, bytes)| {
            !path.to_string_lossy().contains("/.kbsync/") && contains(bytes, "Caught.")
        });
        assert!(is_there, "{said}");
    }
    assert_eq!(service.sandbox.articles().len(), 3);
}

/// Returns whether a file has a text.
fn contains(bytes: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(bytes).contains(text)
}
