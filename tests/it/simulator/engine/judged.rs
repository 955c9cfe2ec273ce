//! The exceptions of the judges, and beside each the sharper case that they still find.

use super::command::differs;
use super::kb::By;
use super::mirror::Mirror;
use super::step::{At, Call, Colleague, PLAIN, Part, Save, Writer};
use super::token::Tokens;
use super::tree::Tree;
use super::world::{Side, World};
use kbsync::engine::report::{Line, Report, Status};
use kbsync::model::Side::{Both, Local, Remote};
use kbsync::model::{ArticleId, Place};
use kbsync::reconcile::plan::{Kind, Problem};
use kbsync::service::{ArticlePatch, NewArticle};
use std::collections::BTreeSet;

const A: At = At(0, 0);
const B: At = At(0, 1);

pub(super) fn world() -> World {
    World::new(PLAIN, Mirror::Memory(Box::new(Tree::new(0))), 0)
}

pub(super) fn found(world: World) -> Option<&'static str> {
    world.ledger.violation.map(|violation| violation.invariant)
}

/// Returns the violation by the removal of a file in the first folder.
pub(super) fn removal(world: &mut World, name: &str) -> Option<&'static str> {
    let wrong = world.judge_removal("alpha", name, None);
    wrong.map(|violation| violation.invariant)
}

/// Returns an article of kbsync's own in the first category.
pub(super) fn born(world: &mut World, slug: &str, text: &str, enabled: bool) -> ArticleId {
    let new = new_article(world, slug, text, enabled);
    world.kb.create(&new, By::Us).expect("created").id
}

fn new_article(world: &mut World, slug: &str, text: &str, enabled: bool) -> NewArticle {
    world.colleague(Colleague::Found { folder: 0 });
    NewArticle {
        category: world.kb.category_at("alpha").expect("it is there"),
        title: slug.to_owned(),
        slug: slug.to_owned(),
        text: text.to_owned(),
        introtext: String::new(),
        keywords: String::new(),
        enabled,
        draft: false,
    }
}

/// A writer puts a removed file back, and then kbsync deletes its article. kbsync scanned the mirror before the file
/// was back, or after its first request, or not at all.
fn put_back(scanned: bool, asked_before: bool) -> Option<&'static str> {
    let mut world = world();
    let write = Writer::Write {
        at: A,
        token: 1,
        enabled: true,
    };
    world.writer(write);
    let id = born(&mut world, "a", "zq001z", true);
    world.begin();
    world.writer(Writer::Remove { at: A });
    world.kb.requests.total += u64::from(asked_before);
    if scanned {
        world.enter(Call::Listing, "");
    }
    world.now += 1;
    world.saw([id]);
    world.writer(write);
    world
        .write("DELETE", Some(id), |kb| kb.delete(id, By::Us))
        .expect("deleted");
    found(world)
}

#[test]
fn what_the_writer_put_back_after_the_scan_goes_with_a_cause() {
    assert_eq!(put_back(true, false), None);
    assert_eq!(put_back(false, false), Some("I4"));
    assert_eq!(put_back(true, true), Some("I4"));
}

/// An article's file comes back under another name, and the article is deleted.
fn came_back(looked_after: bool, asked_since: bool) -> Option<&'static str> {
    let mut world = world();
    let id = born(&mut world, "a", "zq001z", true);
    let text = format!("---\nid: {id}\ntitle: A\n---\nzq001z\n").into_bytes();
    let save = |world: &mut World, at: At| {
        let bytes = text.clone();
        world.human(Side::Mirror, |world| {
            world
                .mirror
                .save(at.folder(), &at.file(), bytes, Save::RenameOver);
        });
    };
    save(&mut world, A);
    world.writer(Writer::Remove { at: A });
    world.begin();
    world.ledger.limit = 1;
    world.now += 1;
    world.looked("alpha", "");
    world.now += 1;
    save(&mut world, B);
    if looked_after {
        world.looked("alpha", "");
    }
    world.kb.requests.total += u64::from(asked_since);
    world.kb.requests.total += 1;
    world.judge_delete(id);
    found(world)
}

#[test]
fn a_file_that_came_back_after_the_last_look_before_a_delete_is_not_seen() {
    assert_eq!(came_back(false, false), None);
    assert_eq!(came_back(true, false), Some("I5"));
    assert_eq!(came_back(false, true), Some("I5"));
}

/// A file is removed before its id is in it, a colleague adds a word to its article, and the article is deleted.
fn taken_away(removed: bool, looked_since: bool) -> Option<&'static str> {
    let mut world = world();
    let write = Writer::Write {
        at: A,
        token: 1,
        enabled: true,
    };
    world.writer(write);
    let id = born(&mut world, "a", "zq001z", true);
    if removed {
        world.writer(Writer::Remove { at: A });
    }
    world.begin();
    world.ledger.limit = 1;
    world.now += 1;
    world.saw([id]);
    world.now += 1;
    world.colleague(Colleague::Change {
        at: A,
        part: Part::Keywords,
        token: 2,
    });
    if looked_since {
        world.now += 1;
        world.saw([id]);
    }
    world.judge_delete(id);
    found(world)
}

#[test]
fn what_came_into_an_article_after_the_last_look_before_a_delete_is_not_seen() {
    assert_eq!(taken_away(true, false), None);
    assert_eq!(taken_away(true, true), Some("I5"));
    assert_eq!(taken_away(false, false), Some("I5"));
}

/// A copy is removed before its own id is in it. The words come back in the file of its original, which is gone, or in
/// a file without an id, or at the copy's own place; and then the copy's article is deleted.
fn copy_taken_away(back: At, named: bool) -> Option<&'static str> {
    let mut world = world();
    let original = born(&mut world, "a", "zq001z", true);
    pulled(&mut world, original, "zq001z");
    world.writer(Writer::Hide { at: A });
    world.kb.delete(original, By::Us).expect("deleted");
    let id = born(&mut world, "b", "zq001z", true);
    let front = if named {
        format!("id: {original}\n")
    } else {
        String::new()
    };
    let text = format!("---\n{front}title: A\n---\nzq001z\n").into_bytes();
    world.human(Side::Mirror, |world| {
        let file = back.file();
        world
            .mirror
            .save(back.folder(), &file, text, Save::RenameOver);
    });
    world.begin();
    world.ledger.limit = 1;
    world.saw([id]);
    world.judge_delete(id);
    found(world)
}

#[test]
fn what_came_back_as_another_articles_file_is_not_the_file_of_a_deleted_one() {
    assert_eq!(copy_taken_away(A, true), None);
    assert_eq!(copy_taken_away(A, false), Some("I5"));
    assert_eq!(copy_taken_away(B, true), Some("I5"));
}

/// The file of an article that kbsync created, at the time when kbsync creates another article with the same words.
#[derive(Clone, Copy)]
enum First {
    /// The file has its id.
    Named,
    /// The file was moved.
    Moved,
    /// The first article was created in the same cycle.
    Now,
    /// The file was moved, and has another title.
    Edited,
    /// The file was moved, and another file without an id has its place.
    Replaced,
    /// The file was moved, and another file at its place got its id in the cycle that creates the second article.
    Claimed,
    /// Another file at the file's place got its id in an earlier cycle, while a file without an id had its words: at
    /// another place or not, edited or not.
    LeftBehind { moved: bool, edited: bool },
    /// A colleague moved the article, and its file was pulled, while the file without an id stayed at its place: the
    /// service had rewritten the text or not.
    MovedThere { rewritten: bool },
}

/// kbsync creates a second article; the state may know the first article, and the report may say that it waits.
fn created_twice(file: First, known: bool, told: bool) -> Option<&'static str> {
    let mut world = world();
    let create = |world: &mut World, slug: &str, title: &str| {
        let title = title.to_owned();
        let new = NewArticle {
            title,
            ..new_article(world, slug, "zq001z", true)
        };
        let id = world.kb.create(&new, By::Us).expect("created").id;
        world.note_birth(id, &new);
        id
    };
    let first = create(&mut world, "a", "A");
    let save = |world: &mut World, at: At, front: &str| {
        let text = format!("---\n{front}\n---\nzq001z\n").into_bytes();
        let file = at.file();
        world
            .mirror
            .save(at.folder(), &file, text, Save::RenameOver);
    };
    match file {
        First::Named => save(&mut world, A, &format!("id: {first}\ntitle: A")),
        First::Replaced => save(&mut world, A, "title: B"),
        First::Moved
        | First::Now
        | First::Edited
        | First::Claimed
        | First::LeftBehind { .. }
        | First::MovedThere { .. } => {}
    }
    if known {
        let place = Place::new(A.folder(), A.file());
        world.ledger.births.known.insert(first, place);
    }
    if !matches!(file, First::Now) {
        world.begin();
    }
    if matches!(file, First::Claimed) {
        save(&mut world, A, &format!("id: {first}\ntitle: B"));
    }
    let pulled = match file {
        First::LeftBehind { moved: true, .. } => Some((A, B)),
        First::LeftBehind { .. } | First::MovedThere { .. } => Some((B, A)),
        First::Named
        | First::Moved
        | First::Now
        | First::Edited
        | First::Replaced
        | First::Claimed => None,
    };
    if let First::MovedThere { rewritten } = file {
        let article = world.kb.articles.get_mut(&first).expect("it is there");
        article.slug = "d".to_owned();
        if rewritten {
            article.text.push_str("<!-- -->");
        }
    }
    if let Some((own, other)) = pulled {
        save(&mut world, own, &format!("id: {first}\ntitle: A"));
        save(&mut world, other, "title: B");
        world.begin();
    }
    let is_edited = matches!(file, First::Edited | First::LeftBehind { edited: true, .. });
    create(&mut world, "b", if is_edited { "B" } else { "A" });
    let told: BTreeSet<ArticleId> = told.then_some(first).into_iter().collect();
    world.judge_births(&told);
    found(world)
}

fn left_behind(moved: bool, edited: bool) -> First {
    First::LeftBehind { moved, edited }
}

#[test]
fn an_article_is_there_twice_only_where_nothing_told_whose_the_file_was_or_the_report_did() {
    for (file, known, told, expected) in [
        (First::Moved, true, false, Some("I8")),
        (First::Moved, true, true, None),
        (First::Moved, false, false, None),
        (First::Now, false, false, Some("I8")),
        (First::Edited, true, false, None),
        (First::Replaced, true, false, None),
        (First::Claimed, true, false, None),
        (left_behind(true, true), true, false, None),
        (left_behind(true, false), true, false, Some("I8")),
        (left_behind(false, true), true, false, Some("I8")),
        (First::MovedThere { rewritten: true }, true, false, None),
        (
            First::MovedThere { rewritten: false },
            true,
            false,
            Some("I8"),
        ),
        (First::Named, true, false, Some("I8")),
        (First::Named, true, true, Some("I8")),
        (First::Named, false, false, Some("I8")),
    ] {
        assert_eq!(created_twice(file, known, told), expected);
    }
}

/// kbsync writes a new article's id into its file, and then the file's words over the article. The file that exchanged
/// places with it has another article's id, or none.
fn swapped(before_the_id: bool, named: bool) -> Option<&'static str> {
    let mut world = world();
    for (at, token) in [(A, 1), (B, 2)] {
        let enabled = true;
        world.writer(Writer::Write { at, token, enabled });
    }
    let id = born(&mut world, "a", "zq001z", true);
    if named {
        let other = born(&mut world, "b", "zq002z", true);
        let text = format!("---\nid: {other}\ntitle: B\n---\nzq002z\n").into_bytes();
        let file = B.file();
        world.mirror.save(B.folder(), &file, text, Save::RenameOver);
    }
    world.begin();
    if before_the_id {
        world.writer(Writer::Swap { one: A, other: B });
    }
    let staged = format!("---\nid: {id}\ntitle: A\n---\n").into_bytes();
    world.judge_file("alpha", "a.html", &staged);
    let patch = ArticlePatch {
        text: Some("zq002z".to_owned()),
        ..ArticlePatch::default()
    };
    world
        .write("PUT", Some(id), |kb| kb.update(id, &patch, By::Us))
        .expect("updated");
    found(world)
}

#[test]
fn words_that_the_writer_replaced_before_the_id_was_in_the_file_go_with_a_cause() {
    for named in [true, false] {
        assert_eq!(swapped(true, named), None);
        assert_eq!(swapped(false, named), Some("I4"));
    }
}

/// kbsync replaces a conflict copy, or an article's file.
fn copy_replaced(path: &str, on_the_service: bool) -> Option<&'static str> {
    let mut world = world();
    world.colleague(Colleague::Post {
        at: A,
        token: 1,
        shown: true,
    });
    if !on_the_service {
        world.colleague(Colleague::Change {
            at: A,
            part: Part::First,
            token: 2,
        });
        world.ledger.removed_there = Tokens::default();
    }
    world.begin();
    let before = Tokens::of(b"zq001z");
    world.effect(Side::Mirror, &before, &format!("Publish {path}"), None);
    found(world)
}

#[test]
fn a_copy_of_what_the_service_has_is_no_word_of_the_mirror() {
    assert_eq!(copy_replaced("alpha/a.conflict.html", true), None);
    assert_eq!(copy_replaced("alpha/a.conflict.html", false), Some("I4"));
    assert_eq!(copy_replaced("alpha/a.html", true), Some("I4"));
}

#[test]
fn a_cycle_that_asked_for_as_many_articles_as_it_may_leaves_the_rest_to_the_next_one() {
    let mut world = world();
    let ids = ["a", "b", "c"].map(|slug| born(&mut world, slug, "", false));
    world.ledger.limit = 3;
    world.asked.extend([ids[0], ids[1], ids[0]]);
    assert!(!world.is_rationed());
    world.asked.insert(ids[2]);
    assert!(world.is_rationed());
    world.begin();
    assert!(!world.is_rationed());
}

#[test]
fn a_dry_run_plans_all_but_what_a_category_says_or_a_count_releases_after_a_wait() {
    let line = |action, side| Line {
        action,
        side,
        path: "alpha".to_owned(),
        id: None,
        fields: Vec::new(),
        status: Status::Done,
        reason: None,
        rule: None,
        fingerprint: None,
    };
    let report = |action, side| {
        let mut report = Report::new(false);
        report.actions.push(line(action, side));
        report
    };
    for (kind, waited, same) in [
        (Kind::UpdateCategory, true, true),
        (Kind::UpdateCategory, false, false),
        (Kind::CreateCategory, true, false),
    ] {
        let (planned, done) = (report(kind, Remote), report(kind, Both));
        let found = differs(&planned, &done, waited, false);
        assert_eq!(found.is_none(), same, "{kind:?} {waited} {found:?}");
    }
    let (mut planned, done) = (report(Kind::Delete, Remote), report(Kind::Delete, Remote));
    planned.actions[0].status = Status::Held;
    assert!(differs(&planned, &done, true, false).is_some());
    assert_eq!(differs(&planned, &done, false, true), None);
    // More is held than was planned.
    assert!(differs(&done, &planned, false, true).is_some());
}

/// A sync creates the folder alpha, and puts an article into a folder; the dry run planned neither, and may have said
/// that the last request about the article has no answer.
fn folder_is_new(side: kbsync::model::Side, path: &str, pending: bool) -> bool {
    let mut world = world();
    let id = born(&mut world, "a", "zq001z", true);
    let line = |action, side, path: &str, id| Line {
        action,
        side,
        path: path.to_owned(),
        id,
        fields: Vec::new(),
        status: Status::Done,
        reason: None,
        rule: None,
        fingerprint: None,
    };
    let (mut planned, mut done) = (Report::new(false), Report::new(false));
    if pending {
        let message = "it is unknown whether the last change of this article reached the service";
        let problem = Problem {
            path: "beta/a.html".to_owned(),
            id: Some(id),
            message: message.to_owned(),
        };
        planned.problems.push(problem);
    }
    let folder = line(Kind::CreateCategory, side, "alpha", None);
    done.actions = vec![folder, line(Kind::Move, Local, path, Some(id))];
    differs(&planned, &done, false, false).is_none()
}

#[test]
fn a_dry_run_need_not_plan_the_folder_of_an_article_whose_request_is_pending() {
    assert!(folder_is_new(Local, "alpha/a.html", true));
    assert!(!folder_is_new(Local, "alpha/a.html", false));
    assert!(!folder_is_new(Local, "gamma/a.html", true));
    assert!(!folder_is_new(Remote, "alpha/a.html", true));
}

#[test]
fn a_dry_run_need_not_plan_what_the_service_refuses() {
    let report = |status, reason: Option<&str>| {
        let mut report = Report::new(false);
        report.actions.push(Line {
            action: Kind::CreateCategory,
            side: Remote,
            path: "alpha".to_owned(),
            id: None,
            fields: Vec::new(),
            status,
            reason: reason.map(str::to_owned),
            rule: None,
            fingerprint: None,
        });
        report
    };
    let planned = report(Status::Planned, None);
    let held = |reason| differs(&planned, &report(Status::Held, Some(reason)), false, false);
    assert_eq!(
        held("it exists (the service says: the slug is taken)"),
        None
    );
    assert!(held("its slug belongs to another").is_some());
}

/// A colleague edits an article, and a cycle sends the file's words over the edit.
fn sent_over(seen: bool, local_wins: bool) -> Option<&'static str> {
    let mut world = world();
    let id = born(&mut world, "a", "zq001z", true);
    world.begin();
    world.now += 20_000_000_000;
    world.ledger.local_wins = local_wins;
    world.ledger.loose = local_wins;
    world.colleague(Colleague::Change {
        at: A,
        part: Part::Title,
        token: 2,
    });
    world.now += 1;
    if seen {
        world.saw([id]);
    }
    let patch = ArticlePatch {
        title: Some("zq003z".to_owned()),
        ..ArticlePatch::default()
    };
    world
        .write("PUT", Some(id), |kb| kb.update(id, &patch, By::Us))
        .expect("updated");
    found(world)
}

#[test]
fn what_a_colleague_wrote_just_now_gives_way_to_the_files_once_it_was_seen() {
    assert_eq!(sent_over(true, true), None);
    assert_eq!(sent_over(true, false), Some("I4"));
    assert_eq!(sent_over(false, true), Some("I4"));
}

/// kbsync writes an article's file with such words.
fn pulled(world: &mut World, id: ArticleId, words: &str) {
    let text = format!("---\nid: {id}\ntitle: A\n---\n{words}\n").into_bytes();
    let file = A.file();
    world.mirror.save(A.folder(), &file, text, Save::RenameOver);
}

/// A writer exchanges an article's file with its copy, or with another file, and then kbsync creates an article with
/// the words of the article's file.
fn swapped_with(its_copy: bool) -> Option<&'static str> {
    let mut world = world();
    let id = born(&mut world, "a", "zq001z", true);
    pulled(&mut world, id, "zq001z");
    world.writer(if its_copy {
        Writer::Copy { from: A, to: B }
    } else {
        Writer::Write {
            at: B,
            token: 3,
            enabled: true,
        }
    });
    pulled(&mut world, id, "zq002z");
    world.writer(Writer::Swap { one: A, other: B });
    let patch = ArticlePatch {
        text: Some("zq002z".to_owned()),
        ..ArticlePatch::default()
    };
    world.kb.update(id, &patch, By::Us).expect("updated");
    born(&mut world, "b", "zq002z", true);
    world.judge_births(&BTreeSet::new());
    found(world)
}

#[test]
fn an_articles_own_file_is_a_copy_once_it_and_its_copy_changed_places() {
    assert_eq!(swapped_with(true), None);
    assert_eq!(swapped_with(false), Some("I8"));
}

/// A writer checks a file out beside the moved file of its article, or over it; then kbsync creates an article with the
/// words of the moved file.
fn checked_out(moved: bool) -> Option<&'static str> {
    let mut world = world();
    let id = born(&mut world, "a", "zq001z", true);
    pulled(&mut world, id, "zq001z");
    world.writer(Writer::Stash);
    pulled(&mut world, id, "zq002z");
    if moved {
        world.writer(Writer::Move { from: A, to: B });
    }
    world.writer(Writer::Checkout);
    pulled(&mut world, id, "zq002z");
    let patch = ArticlePatch {
        text: Some("zq002z".to_owned()),
        ..ArticlePatch::default()
    };
    world.kb.update(id, &patch, By::Us).expect("updated");
    born(&mut world, "b", "zq002z", true);
    world.judge_births(&BTreeSet::new());
    found(world)
}

#[test]
fn an_articles_own_file_is_a_copy_once_another_one_is_checked_out_beside_it() {
    assert_eq!(checked_out(true), None);
    assert_eq!(checked_out(false), Some("I8"));
}

/// kbsync removes a file with the id of an existing article.
fn removed(other_words: Option<&str>, was_copied: bool) -> Option<&'static str> {
    let mut world = world();
    let id = born(&mut world, "a", "zq001z", true);
    let text = |words: &str| format!("---\nid: {id}\ntitle: A\n---\n{words}\n").into_bytes();
    let mut save = |at: At, words: &str| {
        let file = at.file();
        world
            .mirror
            .save(at.folder(), &file, text(words), Save::RenameOver);
    };
    save(A, "zq001z");
    if let Some(words) = other_words {
        save(B, words);
    }
    if was_copied {
        world.ledger.copied.add(&Tokens::of(b"zq001z"));
    }
    removal(&mut world, "a.html")
}

/// kbsync removes a file with the words, and with the id of an existing article; a colleague has deleted another
/// article.
fn removed_after_its_own(words: &str, other_words: Option<&str>) -> Option<&'static str> {
    removed_with_its_own(words, other_words, false)
}

/// Like [`removed_after_its_own`]; the words may have been copied.
fn removed_with_its_own(
    words: &str,
    other_words: Option<&str>,
    was_copied: bool,
) -> Option<&'static str> {
    let mut world = world();
    let id = born(&mut world, "b", "zq002z", true);
    born(&mut world, "a", "zq003z", true);
    if was_copied {
        world.ledger.copied.add(&Tokens::of(words.as_bytes()));
    }
    let mut save = |at: At, words: &str| {
        let text = format!("---\nid: {id}\ntitle: A\n---\n{words}\n").into_bytes();
        let file = at.file();
        world
            .mirror
            .save(at.folder(), &file, text, Save::RenameOver);
    };
    save(A, words);
    if let Some(words) = other_words {
        save(B, words);
    }
    world.colleague(Colleague::Delete { at: A });
    world.listed(vec![id]);
    removal(&mut world, "a.html")
}

/// The same, except that the colleague only removed the words from the other article.
fn removed_after_an_edit() -> Option<&'static str> {
    let mut world = world();
    let id = born(&mut world, "b", "zq002z", true);
    let other = born(&mut world, "a", "zq003z", true);
    pulled(&mut world, id, "zq003z");
    let twin = format!("---\nid: {id}\ntitle: A\n---\nzq002z\n").into_bytes();
    world
        .mirror
        .save(B.folder(), &B.file(), twin, Save::RenameOver);
    let patch = ArticlePatch {
        text: Some("zq005z".to_owned()),
        ..ArticlePatch::default()
    };
    let edited = world.human(Side::Service, |world| {
        world.kb.update(other, &patch, By::Colleague).is_ok()
    });
    assert!(edited);
    world.listed(vec![id, other]);
    removal(&mut world, "a.html")
}

#[test]
fn a_file_goes_though_its_article_is_there_only_as_a_copy_of_its_file() {
    assert_eq!(removed(Some("zq001z"), false), None);
    assert_eq!(removed(Some("zq002z"), true), None);
    assert_eq!(removed(Some("zq002z"), false), Some("I5"));
    assert_eq!(removed(None, true), Some("I5"));
    assert_eq!(removed_after_an_edit(), Some("I5"));
    // Or as the file of the copy's own article, which is gone.
    assert_eq!(removed_after_its_own("zq003z", Some("zq002z")), None);
    assert_eq!(removed_after_its_own("zq003z", None), Some("I5"));
    // The original of the copy may be gone.
    assert_eq!(removed_with_its_own("zq003z", None, true), None);
    assert_eq!(removed_with_its_own("zq004z", None, true), Some("I5"));
    assert_eq!(removed_after_its_own("zq004z", Some("zq002z")), Some("I5"));
}

/// Two articles have the same words, and nobody copied them: the file of the first has them as well, or no longer. The
/// file may be unready, or without an id.
fn said_by_two(left: bool, ready: bool, named: bool) -> Option<&'static str> {
    let mut world = world();
    world.colleague(Colleague::Found { folder: 0 });
    let category = world.kb.category_at("alpha").expect("it is there");
    let yaml = format!("id: {category}\nname: A\n").into_bytes();
    world
        .mirror
        .save("alpha", "_category.yaml", yaml, Save::RenameOver);
    let id = born(&mut world, "a", "zq001z", true);
    pulled(&mut world, id, if left { "zq002z" } else { "zq001z" });
    if !named {
        let text = world.mirror.bytes(A.folder(), &A.file());
        let text = String::from_utf8(text.expect("it is there")).expect("a text");
        let text = text.replace(&format!("id: {id}\n"), "").into_bytes();
        world
            .mirror
            .save(A.folder(), &A.file(), text, Save::RenameOver);
    }
    if !ready {
        world.writer(Writer::Break { at: A });
    }
    born(&mut world, "b", "zq001z", true);
    // The folder's name is not the category's slug.
    world.colleague(Colleague::Reslug { from: 0, to: 2 });
    world.judge_births(&BTreeSet::new());
    found(world)
}

/// Two articles have the same words, and the file of one has other words; kbsync scans then, or not; then both files
/// are removed.
fn gone_before_it_was_sent(looks: bool) -> Option<&'static str> {
    let mut world = world();
    for (slug, says) in [("a", "zq002z"), ("b", "zq001z")] {
        let id = born(&mut world, slug, "zq001z", true);
        let text = format!("---\nid: {id}\ntitle: A\n---\n{says}\n").into_bytes();
        let file = format!("{slug}.html");
        world.mirror.save("alpha", &file, text, Save::RenameOver);
    }
    if looks {
        world.judge_births(&BTreeSet::new());
    }
    world.writer(Writer::RemoveAll);
    world.judge_births(&BTreeSet::new());
    found(world)
}

#[test]
fn what_was_about_to_go_from_one_of_two_articles_may_stay_once_the_files_are_gone() {
    assert_eq!(gone_before_it_was_sent(true), None);
    assert_eq!(gone_before_it_was_sent(false), Some("I8"));
}

#[test]
fn what_an_article_says_and_its_file_does_not_any_more_is_said_by_one() {
    for (ready, named) in [(true, true), (false, true), (true, false)] {
        assert_eq!(said_by_two(true, ready, named), None);
        assert_eq!(said_by_two(false, ready, named), Some("I8"));
    }
}

/// A colleague changes an article during the cycle that deletes it; the writer had removed its file, or not.
fn deleted_after_an_edit(removed: bool) -> Option<&'static str> {
    let mut world = world();
    let id = born(&mut world, "a", "zq001z", true);
    world.begin();
    world.ledger.limit = 3;
    world.saw([id]);
    world.now += 1;
    if removed {
        world.ledger.removed.add(&Tokens::of(b"zq001z"));
    }
    let at = A;
    world.colleague(Colleague::Change {
        at,
        part: Part::First,
        token: 2,
    });
    world.judge_delete(id);
    found(world)
}

#[test]
fn what_a_colleague_put_in_place_of_removed_words_nobody_could_know() {
    assert_eq!(deleted_after_an_edit(true), None);
    assert_eq!(deleted_after_an_edit(false), Some("I5"));
}
