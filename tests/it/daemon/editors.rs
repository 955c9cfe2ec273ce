//! The ways in which editors save, and the requests that the real daemon makes for each.
//!
//! Each scene makes the system calls of a program. In the end the service has the new text, at exactly the price of one
//! save, whatever the number of files and names: one read and one write.

use crate::support::daemon::{Daemon, unlimited, until};
use crate::support::kb::{Kb, Service};
use kbsync::sandbox::RequestRecord;
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use uuid::Uuid;

/// A daemon, the edited article, and a marker article that shows that earlier events are handled.
struct Desk {
    service: Service,
    kb: Kb,
    daemon: Daemon,
    category: Uuid,
    article: Uuid,
    mark: Uuid,
    marks: u32,
    scenes: u32,
}

impl Desk {
    fn new(settings: &str) -> Self {
        let service = Service::empty();
        let category = service.category("a");
        let marks = service.category("marks");
        let article = service.article(category, "b", "<p>Scene 0.</p>");
        let mark = service.article(marks, "mark", "<p>Mark 0.</p>");
        let kb = unlimited(&service);
        let settings = kb
            .read("kbsync.yaml")
            .replace("delete_grace: 50ms", "delete_grace: 10s")
            .replace("quiet_period: 20ms\npush_interval: 0s\n", settings);
        kb.write("kbsync.yaml", &settings);
        let daemon = Daemon::start(&kb, &[]);
        let mut desk = Self {
            service,
            kb,
            daemon,
            category,
            article,
            mark,
            marks: 0,
            scenes: 0,
        };
        // The daemon's own first files also cause events.
        desk.settle();
        desk
    }

    fn path(&self, path: &str) -> PathBuf {
        self.kb.mirror().join(path)
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).expect("renamed");
    }

    /// Saves the marker article, and waits until it is live; all earlier events are handled by then.
    fn settle(&mut self) {
        let (before, now) = (
            format!("Mark {}.", self.marks),
            format!("Mark {}.", self.marks + 1),
        );
        self.marks += 1;
        self.kb.edit("marks/mark.html", &before, &now);
        until(&now, || self.service.text(self.mark).contains(&now));
    }

    /// Returns the requests except those for the marker.
    fn requests(&self) -> Vec<String> {
        let mark = self.mark.to_string();
        let told = |request: &RequestRecord| format!("{} {}", request.method, request.path);
        let requests = self.service.sandbox.requests();
        let others = requests
            .iter()
            .filter(|request| !request.path.contains(&mark));
        others.map(told).collect()
    }

    fn writes(&self) -> Vec<String> {
        let requests = self.requests().into_iter();
        requests.filter(|told| !told.starts_with("GET ")).collect()
    }

    /// Saves `a/b.html` with a given text as a program would, and checks the requests.
    #[track_caller]
    fn saves(&mut self, program: &str, save: impl FnOnce(&Self, &str)) {
        let (before, now) = (
            format!("Scene {}.", self.scenes),
            format!("Scene {}.", self.scenes + 1),
        );
        self.service.sandbox.clear_requests();
        let text = self.kb.read("a/b.html");
        assert!(text.contains(&before), "{program}: {text}");
        save(self, &text.replace(&before, &now));
        until(program, || self.service.text(self.article).contains(&now));
        self.settle();
        self.scenes += 1;
        let path = format!("/api/article/{}", self.article);
        let expected = [format!("GET {path}"), format!("PUT {path}")];
        assert_eq!(
            self.requests(),
            expected,
            "{program}\n{}",
            self.daemon.log()
        );
    }
}

/// A quiet period that is longer than the pauses within one save on a busy machine.
const CALM: &str = "quiet_period: 300ms\npush_interval: 0s\n";

#[test]
fn f073_f074_each_editors_save_is_one_look_and_one_write() {
    let mut desk = Desk::new(CALM);
    desk.saves("vim, backup by rename", |d, text| {
        d.kb.write("a/4913", "");
        d.kb.remove("a/4913");
        d.kb.write("a/.b.html.swp", "x");
        d.rename("a/b.html", "a/b.html~");
        d.kb.write("a/b.html", text);
        d.kb.remove("a/b.html~");
        d.kb.remove("a/.b.html.swp");
    });
    desk.saves("vim, backup by copy", |d, text| {
        d.kb.write("a/.b.html.swp", "x");
        fs::copy(d.path("a/b.html"), d.path("a/b.html~")).expect("copied");
        d.kb.write("a/b.html", text);
        d.kb.remove("a/b.html~");
        d.kb.remove("a/.b.html.swp");
    });
    desk.saves("emacs: lock, autosave, backup by rename", |d, text| {
        std::os::unix::fs::symlink("me@host.1", d.path("a/.#b.html")).expect("a link");
        d.kb.write("a/#b.html#", text);
        d.rename("a/b.html", "a/b.html~");
        d.kb.write("a/b.html", text);
        d.kb.remove("a/#b.html#");
        d.kb.remove("a/.#b.html");
    });
    desk.saves("VS Code: in place", |d, text| {
        let file = fs::OpenOptions::new().write(true).open(d.path("a/b.html"));
        let mut file = file.expect("opened");
        file.set_len(0).expect("truncated");
        file.write_all(text.as_bytes()).expect("written");
    });
    desk.saves("JetBrains, safe write", |d, text| {
        d.kb.write("a/b.html___jb_tmp___", text);
        d.rename("a/b.html", "a/b.html___jb_old___");
        d.rename("a/b.html___jb_tmp___", "a/b.html");
        d.kb.remove("a/b.html___jb_old___");
    });
    desk.saves("sed -i", |d, text| {
        d.kb.write("a/sedXyZ12", text);
        d.rename("a/sedXyZ12", "a/b.html");
    });
    desk.saves("nano", |d, text| {
        d.kb.write("a/.b.html.swp", "x");
        d.kb.write("a/b.html", text);
        d.kb.remove("a/.b.html.swp");
    });
    desk.saves("a slow writer", |d, text| {
        let mut file = fs::File::create(d.path("a/b.html")).expect("opened");
        for byte in text.as_bytes() {
            file.write_all(&[*byte]).expect("written");
        }
    });
    desk.daemon.stop();
}

/// A quiet period that is longer than the pauses of the slow writer, and shorter than its whole save.
const SLOW: &str = "quiet_period: 300ms\npush_interval: 0s\n";

#[test]
fn f071_what_is_written_slowly_is_sent_when_it_is_whole() {
    let mut desk = Desk::new(SLOW);
    // On a busy machine, a pause may become so long that the writer seems to have finished.
    for try_number in 1..=5 {
        let (before, now) = (
            format!("Scene {}.", desk.scenes),
            format!("Scene {}.", desk.scenes + 1),
        );
        desk.scenes += 1;
        desk.service.sandbox.clear_requests();
        let text = desk.kb.read("a/b.html").replace(&before, &now);
        let longest = write_slowly(&desk.path("a/b.html"), text.as_bytes());
        until(&now, || desk.service.text(desk.article).contains(&now));
        desk.settle();
        if longest < Duration::from_millis(200) {
            let path = format!("/api/article/{}", desk.article);
            let expected = [format!("GET {path}"), format!("PUT {path}")];
            assert_eq!(desk.requests(), expected, "{}", desk.daemon.log());
            break;
        }
        assert!(try_number < 5, "the machine is too busy: {longest:?}");
    }
    // The writer stops within the front matter.
    desk.service.sandbox.clear_requests();
    let whole = desk.kb.read("a/b.html").replace("Scene", "Act");
    let middle = whole.find("title:").expect("a title") + 3;
    desk.kb.write("a/b.html", &whole[..middle]);
    until("it is told", || {
        let log = desk.daemon.log();
        log.lines()
            .any(|line| line.contains(" WARN line ") && line.contains("a/b.html"))
    });
    assert_eq!(desk.writes(), Vec::<String>::new());
    desk.kb.write("a/b.html", &whole);
    until("it is live", || {
        desk.service.text(desk.article).contains("Act")
    });
    assert_eq!(desk.writes().len(), 1, "{:?}", desk.requests());
    desk.daemon.stop();
}

/// Writes a file in twelve parts, for longer than the quiet period. Returns the longest pause.
fn write_slowly(path: &Path, bytes: &[u8]) -> Duration {
    let mut file = fs::File::create(path).expect("opened");
    let mut longest = Duration::ZERO;
    for part in bytes.chunks(bytes.len().div_ceil(12)) {
        let begin = Instant::now();
        file.write_all(part).expect("written");
        // The pace of the writer.
        std::thread::sleep(Duration::from_millis(35));
        longest = longest.max(begin.elapsed());
    }
    longest
}

#[test]
fn f076_folders_that_come_and_go_cost_what_they_change() {
    let mut desk = Desk::new(CALM);
    // A new folder with a file at once, and deeper folders, which do not count.
    desk.service.sandbox.clear_requests();
    let text = "---\ntitle: New\n---\n<p>New.</p>\n";
    desk.kb.write("new/x.html", text);
    desk.kb.write("new/deep/er/y.html", text);
    until("it is live", || desk.service.sandbox.articles().len() == 3);
    desk.settle();
    assert_eq!(desk.writes(), ["POST /api/category", "POST /api/article"]);
    // A renamed folder takes its articles along.
    desk.service.sandbox.clear_requests();
    desk.rename("a", "z");
    until("it is renamed", || {
        let category = desk.service.sandbox.category(desk.category);
        category.is_some_and(|category| category.slug == "z")
    });
    desk.settle();
    let renamed = format!("PUT /api/category/{}", desk.category);
    assert_eq!(desk.writes(), [renamed]);
    // The renamed folder is watched like any other.
    desk.service.sandbox.clear_requests();
    desk.kb.edit("z/b.html", "Scene 0.", "In z.");
    until("it is live", || {
        desk.service.text(desk.article).contains("In z.")
    });
    desk.settle();
    assert_eq!(desk.requests().len(), 2, "{:?}", desk.requests());
    desk.daemon.stop();
}

#[test]
fn a_copy_of_many_files_is_one_new_article_each() {
    let mut desk = Desk::new(CALM);
    desk.service.sandbox.clear_requests();
    for number in 0..COPIES {
        let text = format!("---\ntitle: Number {number}\n---\n<p>{number}</p>\n");
        desk.kb.write(&format!("a/n{number:03}.html"), &text);
    }
    until("all are live", || {
        desk.service.sandbox.articles().len() == COPIES + 2
    });
    desk.settle();
    assert_eq!(desk.writes(), vec!["POST /api/article"; COPIES]);
    desk.daemon.stop();
}

/// A number of files that is larger than can be sent while they are written.
const COPIES: usize = 500;

#[test]
fn f082_autosave_is_a_push_per_interval_with_the_last_words() {
    let interval = Duration::from_millis(600);
    let mut desk = Desk::new("quiet_period: 20ms\npush_interval: 600ms\n");
    desk.service.sandbox.clear_requests();
    let text = desk.kb.read("a/b.html");
    let begin = Instant::now();
    let save = |number: u32| {
        let now = text.replace("Scene 0.", &format!("Save {number}."));
        desk.kb.write("a/b.html", &now);
    };
    save(1);
    until("the first save is live", || {
        desk.service.text(desk.article).contains("Save 1.")
    });
    // The interval runs: none of these saves is sent at once.
    (2..=25).for_each(save);
    until("the last words are live", || {
        desk.service.text(desk.article).contains("Save 25.")
    });
    let took = begin.elapsed().as_millis() / interval.as_millis();
    desk.settle();
    let writes = u128::try_from(desk.writes().len()).expect("few");
    assert!(
        (2..=took + 1).contains(&writes),
        "{writes} in {took} intervals"
    );
    desk.daemon.stop();
}
