//! Promise 1 at the moment that counts: a version that is about to be replaced or removed, on either side, is already
//! in the history.
//!
//! A witness watches every step that changes a side. Before the step it reads the version that the step will end, and
//! checks with a reader of its own that the state has this version.

use crate::support::hostile::{
    Meddler, Moment, Stage, calm, engine, store, sync, sync_with, world,
};
use crate::support::look::{approvable, decision, dry_run};
use crate::support::words::{self, Words};
use crate::support::world::lines;
use kbsync::engine::Clock;
use kbsync::engine::report::Report;
use kbsync::engine::restore::RestoreRequest;
use kbsync::engine::settings::CycleRequest;
use kbsync::model::{ArticleId, CategoryId, Place, TextDigest};
use kbsync::reconcile::snapshot::{Direction, Keep, OnConflict};
use kbsync::sandbox::Sandbox;
use kbsync::state::{Store, StoredVersion, Subject};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use uuid::Uuid;

/// The sides that the witness watches, and its record.
struct Witness {
    mirror: PathBuf,
    sandbox: Sandbox,
    seen: AtomicUsize,
    /// The contents of the files that are being renamed.
    moving: Mutex<Vec<String>>,
    /// The kinds of steps that moved files.
    moved: Mutex<BTreeSet<&'static str>>,
}

impl Witness {
    fn of(stage: &Stage) -> Arc<Self> {
        Arc::new(Self {
            mirror: stage.folder.path().to_owned(),
            sandbox: stage.sandbox().clone(),
            seen: AtomicUsize::new(0),
            moving: Mutex::default(),
            moved: Mutex::default(),
        })
    }

    fn meddler(self: &Arc<Self>) -> Meddler {
        let witness = Arc::clone(self);
        Arc::new(move |moment| {
            if !moment.after {
                witness.look(moment);
            }
            if moment.doing.starts_with("rename") {
                witness.elsewhere(moment);
            }
            Ok(())
        })
    }

    fn look(&self, moment: &Moment) {
        match moment.doing {
            "publish" | "remove" => self.file(&moment.what),
            "PUT" | "DELETE" => {
                let id: Uuid = moment.what.parse().expect("an id");
                self.article(id, moment);
                self.category(id, moment);
            }
            _ => {}
        }
    }

    fn state(&self) -> Store {
        let found = Store::open_read_only(&self.mirror.join(".kbsync"), None);
        found.expect("readable").expect("a state")
    }

    fn file(&self, path: &str) {
        let Ok(bytes) = std::fs::read(self.mirror.join(path)) else {
            return;
        };
        let (folder, name) = path.split_once('/').expect("a place");
        let state = self.state();
        let source = String::from_utf8(bytes).expect("text");
        // The content of a conflict copy belongs to its article.
        let name = name.replace(".conflict.html", ".html");
        let subjects = state.subjects_at(&Place::new(folder, name));
        let mut known = BTreeSet::new();
        let mut whole = false;
        for subject in subjects.expect("read") {
            for kept in state.versions(&subject).expect("read") {
                known.extend(words::in_version(&state, &kept));
                whole |= kept.seen.file == Some(TextDigest::of(&source));
            }
        }
        let said = words::in_file(path, &source);
        // A file that cannot be parsed has no words, so the history must have its bytes.
        let kept = if said.is_empty() {
            whole
        } else {
            said.iter().all(|words| known.contains(words))
        };
        assert!(
            kept,
            "{path} is replaced, and nobody keeps\n{source}\nbut {known:#?}"
        );
        self.seen.fetch_add(1, Ordering::SeqCst);
    }

    /// Checks that a renamed or moved file exists afterwards, and replaced no other file.
    fn elsewhere(&self, moment: &Moment) {
        let mut found = Vec::new();
        contents(&self.mirror, &mut found);
        found.sort();
        let mut moving = self.moving.lock().expect("no panic holds it");
        if moment.after {
            assert_eq!(*moving, found, "{moment:?}");
            let mut moved = self.moved.lock().expect("no panic holds it");
            moved.insert(moment.doing);
        } else {
            *moving = found;
        }
    }

    fn article(&self, id: Uuid, moment: &Moment) {
        if let Some(article) = self.sandbox.article(id) {
            let subject = Subject::Article(ArticleId::new(id));
            self.keeps(&subject, &words::of_article(&article), moment);
        }
    }

    fn category(&self, id: Uuid, moment: &Moment) {
        if let Some(category) = self.sandbox.category(id) {
            let subject = Subject::category(CategoryId::new(id));
            self.keeps(&subject, &words::of_category(&category), moment);
        }
    }

    /// Checks that the history has these words, and counts them.
    fn keeps(&self, subject: &Subject, wanted: &Words, moment: &Moment) {
        let state = self.state();
        let versions = state.versions(subject).expect("read").into_iter();
        let known: Vec<_> = versions
            .flat_map(|kept| words::in_version(&state, &kept))
            .collect();
        assert!(
            known.contains(wanted),
            "{moment:?}, and nobody keeps {wanted:?}, but {known:#?}"
        );
        self.seen.fetch_add(1, Ordering::SeqCst);
    }
}

/// Collects the contents of all files of a folder except private files.
fn contents(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("listed") {
        let path = entry.expect("an entry").path();
        if path.ends_with(".kbsync") {
            continue;
        }
        if path.is_dir() {
            contents(&path, found);
        } else {
            found.push(std::fs::read_to_string(&path).expect("text"));
        }
    }
}

/// `start/one.html` (with a comment of the writer's) and `start/two.html`, synced.
async fn synced() -> (Stage, Uuid, Uuid) {
    let stage = world().await;
    let start = stage.category("start");
    let one = stage.article(start, "one", "<p>One.</p>\n<p>Tail.</p>");
    let two = stage.article(start, "two", "<p>Two.</p>");
    sync(&stage).await;
    stage.edit("start/one.html", "title: one\n", "title: one # short\n");
    sync(&stage).await;
    (stage, one, two)
}

/// Runs a cycle with a witness. Returns the report, and the number of versions that the witness checked.
async fn witnessed(stage: &Stage, request: &CycleRequest) -> (Report, usize) {
    let witness = Witness::of(stage);
    let report = engine(stage, &witness.meddler())
        .cycle(request)
        .await
        .expect("a cycle");
    (report, witness.seen.load(Ordering::SeqCst))
}

fn both_ways() -> CycleRequest {
    CycleRequest::new(Direction::Both)
}

fn preferring(side: OnConflict) -> CycleRequest {
    CycleRequest {
        prefer: Some(side),
        ..both_ways()
    }
}

fn colleague(stage: &Stage, id: Uuid, text: &str) {
    stage
        .sandbox()
        .edit(id, |article| text.clone_into(&mut article.text));
}

#[tokio::test]
async fn an_edit_is_kept_before_the_other_side_gets_it() {
    let (stage, one, two) = synced().await;
    stage.edit("start/one.html", "One.", "One, here.");
    colleague(&stage, two, "<p>Two, there.</p>");
    let (report, asked) = witnessed(&stage, &both_ways()).await;
    assert_eq!(
        (report.outcome.number(), asked),
        (0, 2),
        "{:?}",
        lines(&report)
    );
    // A file with more than its words is stored as a whole.
    colleague(&stage, one, "<p>One, there.</p>");
    let (report, asked) = witnessed(&stage, &both_ways()).await;
    assert_eq!(
        (report.outcome.number(), asked),
        (0, 1),
        "{:?}",
        lines(&report)
    );
}

#[tokio::test]
async fn both_sides_are_kept_before_a_merge() {
    let (stage, one, _) = synced().await;
    stage.edit("start/one.html", "One.", "One, here.");
    colleague(&stage, one, "<p>One.</p>\n<p>Tail, there.</p>");
    let (report, asked) = witnessed(&stage, &both_ways()).await;
    assert_eq!(
        (report.outcome.number(), asked),
        (0, 2),
        "{:?}",
        lines(&report)
    );
}

#[tokio::test]
async fn f062_the_loser_of_a_conflict_is_kept_whoever_wins() {
    for side in [OnConflict::Local, OnConflict::Remote] {
        let (stage, one, _) = synced().await;
        stage.edit("start/one.html", "One.", "Mine.");
        colleague(&stage, one, "<p>Theirs.</p>\n<p>Tail.</p>");
        let (report, asked) = witnessed(&stage, &preferring(side)).await;
        assert_eq!(
            (report.outcome.number(), asked),
            (0, 1),
            "{side:?}: {:?}",
            lines(&report)
        );
    }
    for keep in [Keep::Local, Keep::Remote, Keep::Both] {
        let (stage, one, _) = synced().await;
        stage.edit("start/one.html", "One.", "Mine.");
        colleague(&stage, one, "<p>Theirs.</p>\n<p>Tail.</p>");
        let (report, _) = witnessed(&stage, &both_ways()).await;
        assert_eq!(report.outcome.number(), 3);
        let request = CycleRequest {
            resolve: [decision(&stage.path(""), ArticleId::new(one), keep.clone())].into(),
            ..both_ways()
        };
        let (report, asked) = witnessed(&stage, &request).await;
        assert_eq!(report.outcome.number(), 0, "{keep:?}: {:?}", lines(&report));
        assert!(asked >= 1, "{keep:?}");
    }
}

#[tokio::test]
async fn a_deleted_article_is_kept_whichever_side_deletes_it() {
    let (stage, one, two) = synced().await;
    stage.remove("start/one.html");
    stage.sandbox().remove(two);
    let (report, asked) = witnessed(&stage, &both_ways()).await;
    assert_eq!(
        (report.outcome.number(), asked),
        (0, 2),
        "{:?}",
        lines(&report)
    );
    assert!(stage.sandbox().article(one).is_none() && !stage.exists("start/two.html"));
}

#[tokio::test]
async fn f010_without_a_state_what_loses_is_kept_all_the_same() {
    for side in [OnConflict::Local, OnConflict::Remote] {
        let (stage, one, _) = synced().await;
        stage.edit("start/one.html", "One.", "Mine.");
        colleague(&stage, one, "<p>Theirs.</p>\n<p>Tail.</p>");
        for name in ["state.db", "state.db-wal", "state.db-shm"] {
            // Some of these files may not exist.
            std::fs::remove_file(stage.path(&format!(".kbsync/{name}"))).ok();
        }
        let (report, asked) = witnessed(&stage, &preferring(side)).await;
        assert_eq!(report.outcome.number(), 0, "{side:?}: {:?}", lines(&report));
        assert!(asked >= 1, "{side:?}: {:?}", lines(&report));
    }
}

#[tokio::test]
async fn an_edit_of_an_article_whose_file_broke_and_went_is_in_reach() {
    let (stage, one, _) = synced().await;
    stage.write("start/one.html", "half a sa");
    sync(&stage).await;
    stage.remove("start/one.html");
    let (report, asked) = witnessed(&stage, &both_ways()).await;
    assert_eq!(
        (report.outcome.number(), asked),
        (0, 1),
        "{:?}",
        lines(&report)
    );
    assert!(stage.sandbox().article(one).is_none());
}

#[tokio::test]
async fn a_released_roll_back_keeps_what_it_rolls_back() {
    let stage = world().await;
    let start = stage.category("start");
    let ids: Vec<Uuid> = (10..21)
        .map(|number| stage.article(start, &format!("a{number}"), "<p>Old.</p>"))
        .collect();
    sync(&stage).await;
    for number in 10..21 {
        stage.edit(&format!("start/a{number}.html"), "Old.", "New.");
    }
    sync(&stage).await;
    for number in 10..21 {
        stage.edit(&format!("start/a{number}.html"), "New.", "Old.");
    }
    let mut held = engine(&stage, &calm());
    let planned = held.cycle(&dry_run()).await.expect("a plan");
    let (_, _, mut rows) = held.into_parts();
    for (side, mark) in approvable(&planned) {
        rows.write_at(stage.clock.now(), |tx| tx.approve(side, mark))
            .expect("written");
    }
    drop(rows);
    let (report, asked) = witnessed(&stage, &both_ways()).await;
    assert_eq!(
        (report.outcome.number(), asked),
        (0, 11),
        "{:?}",
        lines(&report)
    );
    assert!(
        stage
            .sandbox()
            .article(ids[0])
            .expect("there")
            .text
            .contains("Old.")
    );
}

#[tokio::test]
async fn a_category_is_kept_before_either_side_changes_it() {
    let (stage, _, _) = synced().await;
    let yaml = "start/_category.yaml";
    stage.edit(yaml, "name: start", "name: Begin # ours");
    let (report, asked) = witnessed(&stage, &both_ways()).await;
    assert_eq!(
        (report.outcome.number(), asked),
        (0, 1),
        "{:?}",
        lines(&report)
    );
    let id = stage.sandbox().categories()[0].id;
    stage
        .sandbox()
        .edit_category(id, |category| category.description = Some("New.".into()));
    stage.clock.advance(Duration::from_hours(25));
    let (report, asked) = witnessed(&stage, &both_ways()).await;
    assert_eq!(
        (report.outcome.number(), asked),
        (0, 1),
        "{:?}",
        lines(&report)
    );
    assert!(stage.read(yaml).contains("description: New."));
    // Both sides changed the same words, and the writer wins.
    stage.edit(yaml, "description: New.", "description: Mine.");
    stage
        .sandbox()
        .edit_category(id, |category| category.description = Some("Theirs.".into()));
    stage.clock.advance(Duration::from_hours(25));
    let (report, asked) = witnessed(&stage, &preferring(OnConflict::Local)).await;
    assert_eq!(
        (report.outcome.number(), asked),
        (0, 1),
        "{:?}",
        lines(&report)
    );
    let category = stage.sandbox().category(id).expect("there");
    assert_eq!(category.description.as_deref(), Some("Mine."));
    stage.rename("start", "beginning");
    let (report, _) = witnessed(&stage, &both_ways()).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    // The history moved along with the folder.
    let versions = store(&stage)
        .versions(&Subject::category(CategoryId::new(id)))
        .expect("read");
    assert!(versions.len() > 3, "{versions:#?}");
}

#[tokio::test]
async fn titles_keywords_and_summaries_are_kept_before_either_side_gets_others() {
    let (stage, one, two) = synced().await;
    stage.edit(
        "start/one.html",
        "title: one # short\n",
        "title: Uno\nkeywords: mine\n# my remark\n",
    );
    let theirs = stage.sandbox().edit(two, |article| {
        article.title = "Dos".into();
        article.introtext = Some("theirs".into());
    });
    assert!(theirs.is_some());
    let (report, asked) = witnessed(&stage, &both_ways()).await;
    assert_eq!(
        (report.outcome.number(), asked),
        (0, 2),
        "{:?}",
        lines(&report)
    );
    // Each field is replaced once more.
    stage.edit(
        "start/two.html",
        "introtext: theirs\n",
        "introtext: mine\nowner: me\n",
    );
    let theirs = stage.sandbox().edit(one, |article| {
        article.title = "Un".into();
        article.keywords = None;
    });
    assert!(theirs.is_some());
    let (report, asked) = witnessed(&stage, &both_ways()).await;
    assert_eq!(
        (report.outcome.number(), asked),
        (0, 2),
        "{:?}",
        lines(&report)
    );
    assert!(stage.read("start/one.html").contains("# my remark"));
    // Both sides changed the same fields, and each side loses once.
    for (side, word) in [(OnConflict::Local, "ours"), (OnConflict::Remote, "yours")] {
        stage.edit(
            "start/two.html",
            "introtext: ",
            &format!("introtext: {word}, "),
        );
        let theirs = stage.sandbox().edit(two, |article| {
            article.introtext = Some(format!("{word} on the web"));
        });
        assert!(theirs.is_some());
        let (report, asked) = witnessed(&stage, &preferring(side)).await;
        assert_eq!(report.outcome.number(), 0, "{side:?}: {:?}", lines(&report));
        assert!(asked >= 1, "{side:?}");
    }
}

#[tokio::test]
async fn what_gets_another_name_or_place_is_there_afterwards() {
    let (stage, one, two) = synced().await;
    let start = stage.sandbox().categories()[0].id;
    let three = stage.article(start, "three", "<p>Three.</p>");
    let witness = Witness::of(&stage);
    sync_with(&stage, &witness.meddler()).await;
    let slug = |id, slug: &str| {
        stage
            .sandbox()
            .edit(id, |article| slug.clone_into(&mut article.slug))
            .expect("there")
    };
    // Two articles exchange their slugs, and one gets a new slug.
    slug(one, "aside");
    slug(two, "one");
    slug(one, "two");
    slug(three, "drei");
    let report = sync_with(&stage, &witness.meddler()).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    // The folder and the files get new names.
    stage.sandbox().rename_category(start, "Begin", "begin");
    slug(three, "three");
    stage.clock.advance(Duration::from_hours(25));
    let report = sync_with(&stage, &witness.meddler()).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    let files = stage.files();
    let aside = files
        .iter()
        .find(|(path, _)| path.starts_with("begin/two~"));
    assert!(aside.expect("it made way").1.contains("# short"));
    assert!(stage.read("begin/one.html").contains("Two."));
    assert!(stage.read("begin/three.html").contains("Three."));
    let moved = witness.moved.lock().expect("no panic holds it").clone();
    assert_eq!(moved, BTreeSet::from(["rename folder"]));
}

#[tokio::test]
async fn what_a_restore_replaces_is_kept_and_the_next_scan_adds_nothing() {
    let (stage, one, _) = synced().await;
    stage.edit("start/one.html", "One.", "Never synced.");
    let subject = Subject::Article(ArticleId::new(one));
    let witness = Witness::of(&stage);
    let mut restoring = engine(&stage, &witness.meddler());
    let wish = RestoreRequest {
        subject: subject.clone(),
        number: Some(1),
        to: None,
        missing: false,
        shown: None,
    };
    let restored = restoring.restore(&[wish]).await;
    assert!(restored.failed.is_none(), "{restored:?}");
    assert_eq!(restored.places, ["start/one.html"]);
    assert_eq!(restored.lines[0].path, "start/one.html");
    assert_eq!(witness.seen.load(Ordering::SeqCst), 1);
    drop(restoring);
    let before = store(&stage).versions(&subject).expect("read");
    assert_eq!(before[0].seen.cause, "restored from @1");
    sync_with(&stage, &calm()).await;
    let after = store(&stage).versions(&subject).expect("read");
    let added: Vec<&str> = after[..after.len() - before.len()]
        .iter()
        .map(|kept| kept.seen.cause.as_str())
        .collect();
    assert!(!added.contains(&"edited here"), "{added:?}");
    assert!(stage.read("start/one.html").contains("# short"));
}

#[tokio::test]
async fn a_save_in_the_very_moment_of_a_restore_is_not_replaced() {
    let (stage, one, _) = synced().await;
    stage.edit("start/one.html", "One.", "Before.");
    let path = stage.path("start/one.html");
    let meddle: Meddler = Arc::new(move |moment| {
        if moment.doing == "publish" && !moment.after {
            save(&path, "Before.", "In that moment.");
        }
        Ok(())
    });
    let wish = RestoreRequest {
        subject: Subject::Article(ArticleId::new(one)),
        number: Some(1),
        to: None,
        missing: false,
        shown: None,
    };
    let error = engine(&stage, &meddle).restore(&[wish]).await;
    let error = error.failed.expect("refused");
    assert!(format!("{error:#}").contains("start/one.html"), "{error:#}");
    assert!(stage.read("start/one.html").contains("In that moment."));
}

fn save(path: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(path).expect("text");
    std::fs::write(path, text.replace(from, to)).expect("written");
}

#[tokio::test]
async fn what_the_settings_say_of_the_history_is_kept_and_no_more() {
    let (mut stage, _, two) = synced().await;
    stage.settings.keep_days = 1;
    stage.settings.keep_versions = 3;
    let words = |number: usize| format!("<p>Words {number}.</p>");
    for number in 1..=5 {
        colleague(&stage, two, &words(number));
        sync(&stage).await;
    }
    let subject = Subject::Article(ArticleId::new(two));
    let kept = || {
        let reader = store(&stage);
        let versions = reader.versions(&subject).expect("read");
        let text = |kept: &StoredVersion| reader.body(kept.seen.version.text).expect("read");
        versions.iter().map(text).collect::<BTreeSet<_>>()
    };
    // All versions are younger than a day.
    assert_eq!(kept().len(), 6);
    stage.clock.advance(Duration::from_hours(48));
    sync(&stage).await;
    let newest = [3, 4, 5].map(|number| Some(words(number)));
    assert_eq!(kept(), newest.into());
}
