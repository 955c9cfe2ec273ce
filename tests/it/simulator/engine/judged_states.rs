//! The exceptions for a state that was rolled back, and beside each the sharper case that is still found.

use super::database::binding;
use super::judged::{born, found, world};
use super::judged_deaths::row;
use super::kb::By;
use super::oracle;
use super::step::{At, Save};
use super::token::Tokens;
use super::world::{Side, World};
use kbsync::model::{ArticleId, Timestamp};
use kbsync::service::ArticlePatch;
use kbsync::state::Store;

const A: At = At(0, 0);
const WORDS: &str = "zq001z";

/// A conflict copy shows words that the writer had removed.
fn shown_in_a_copy() -> (World, ArticleId) {
    let mut world = world();
    let id = born(&mut world, "a", WORDS, true);
    world.ledger.removed.add(&Tokens::of(WORDS.as_bytes()));
    world.begin();
    let (folder, copy) = (A.folder(), "a.conflict.html");
    world
        .mirror
        .save(folder, copy, WORDS.into(), Save::RenameOver);
    let path = format!("Publish {folder}/{copy}");
    world.effect(Side::Mirror, &Tokens::default(), &path, None);
    (world, id)
}

/// The file is sent without these words.
fn sent(mut world: World, id: ArticleId) -> Option<&'static str> {
    world.begin();
    world.saw([id]);
    let patch = ArticlePatch {
        text: Some(String::new()),
        ..ArticlePatch::default()
    };
    world
        .write("PUT", Some(id), |kb| kb.update(id, &patch, By::Us))
        .expect("updated");
    found(world)
}

#[test]
fn what_only_a_conflict_showed_again_is_removed_for_a_state_that_does_not_know_it() {
    let (mut world, id) = shown_in_a_copy();
    world.forget_conflicts(&Tokens::default());
    assert_eq!(sent(world, id), None);
}

#[test]
fn what_a_conflict_shows_is_not_written_over() {
    let (world, id) = shown_in_a_copy();
    assert_eq!(sent(world, id), Some("I4"));
    // The state that was rolled back knows of the conflict, too.
    let (mut world, id) = shown_in_a_copy();
    world.forget_conflicts(&Tokens::of(WORDS.as_bytes()));
    assert_eq!(sent(world, id), Some("I4"));
    // Or a file has the words by then.
    let (mut world, id) = shown_in_a_copy();
    let file = A.file();
    world
        .mirror
        .save(A.folder(), &file, WORDS.into(), Save::RenameOver);
    world.forget_conflicts(&Tokens::default());
    assert_eq!(sent(world, id), Some("I4"));
}

/// A rolled-back state knows an article as `known`, while its file has other words; a PUT removes the words.
fn sent_for(known: &str) -> Option<&'static str> {
    let mut world = world();
    let id = born(&mut world, "a", WORDS, true);
    let taken = Tokens::of(known.as_bytes());
    world.ledger.taken_for_edits.insert(id, taken);
    sent(world, id)
}

#[test]
fn what_a_colleague_brought_back_is_what_a_state_that_was_put_back_last_saw() {
    assert_eq!(sent_for(WORDS), None);
    assert_eq!(sent_for("zq002z"), Some("I4"));
}

/// kbsync deleted an article whose file the writer put back, and removes the file: its state was lost meanwhile, and a
/// replica showed the article since.
fn put_back(lost: bool, late: bool) -> Option<&'static str> {
    let mut world = world();
    let id = born(&mut world, "a", WORDS, true);
    world.saw([id]);
    world.kb.delete(id, By::Us).expect("deleted");
    if lost {
        world.ledger.unremembered.insert(id);
    }
    if late {
        world.answered_late();
    }
    removed(world)
}

/// kbsync removes a file.
fn removed(mut world: World) -> Option<&'static str> {
    let (folder, file) = (A.folder(), A.file());
    world
        .mirror
        .save(folder, &file, WORDS.into(), Save::RenameOver);
    world.begin();
    let before = world.tokens(Side::Mirror);
    world.mirror.remove(folder, &file);
    let what = format!("RemoveFile {folder}/{file}");
    world.effect(Side::Mirror, &before, &what, None);
    found(world)
}

#[test]
fn a_file_goes_whose_article_kbsync_does_not_remember_to_have_deleted() {
    assert_eq!(put_back(true, true), None);
    assert_eq!(put_back(true, false), Some("I4"));
    assert_eq!(put_back(false, true), Some("I4"));
}

/// A state that was put back knows an article, and kbsync removes its file.
fn known(is_gone: bool) -> Option<&'static str> {
    let mut world = world();
    let id = born(&mut world, "a", WORDS, true);
    if is_gone {
        world.kb.delete(id, By::Us).expect("deleted");
    }
    let mut store = Store::in_memory(&binding()).expect("a state");
    let written = store.write_at(Timestamp::default(), |tx| {
        tx.put_body(WORDS)?;
        tx.put_article(&row(id, WORDS))
    });
    written.expect("written");
    let gone = oracle::gone(&world, &store);
    world.ledger.count_as_deleted(&gone);
    removed(world)
}

#[test]
fn a_file_goes_whose_article_was_deleted_since_a_state_that_was_put_back() {
    assert_eq!(known(true), None);
    assert_eq!(known(false), Some("I4"));
}
