//! The exceptions for articles in other folders, and beside each the sharper case that the judges still find.

use super::database::binding;
use super::held;
use super::judged_sides::pushing;
use super::kb::By;
use super::step::{At, Colleague, Save, Writer};
use super::world::World;
use kbsync::engine::report::Report;
use kbsync::model::ArticleId;
use kbsync::reconcile::plan::Problem;
use kbsync::state::Store;

const A: At = At(0, 0);

/// An article's file in the first folder, which has the name of the article's own category, or of another category.
fn filed(named: &str) -> (World, ArticleId) {
    let (mut world, id) = pushing();
    world.colleague(Colleague::Found { folder: 1 });
    let category = world.kb.category_at(named).expect("it is there");
    let file = format!("---\nid: {id}\ntitle: A\n---\n<p>first</p>\n");
    let yaml = format!("id: {category}\nname: A\n");
    for (name, bytes) in [(A.file(), file), ("_category.yaml".to_owned(), yaml)] {
        world
            .mirror
            .save(A.folder(), &name, bytes.into_bytes(), Save::RenameOver);
    }
    (world, id)
}

/// An article in conflict whose file nobody touched, and which a colleague deleted. The writer may have deleted its
/// folder's `_category.yaml` before, once or twice.
fn is_conflict_found(named: &str, unnamed: u8) -> bool {
    let (mut world, id) = filed(named);
    for _ in 0..unnamed {
        world.writer(Writer::Unname { folder: 0 });
    }
    world.kb.delete(id, By::Colleague).expect("deleted");
    world.judge_conflict(id, "alpha/a.html");
    world
        .ledger
        .violation
        .is_some_and(|violation| violation.invariant == "I7")
}

#[test]
fn a_folder_is_no_known_place_while_the_creation_of_its_category_has_no_answer() {
    let is_found = |answered: bool, named: bool| {
        let (mut world, id) = filed("alpha");
        if !named {
            world.writer(Writer::Unname { folder: 0 });
        }
        let category = world.kb.category_at("alpha").filter(|_| !answered);
        world.ledger.unanswered_categories.extend(category);
        world.kb.delete(id, By::Colleague).expect("deleted");
        world.judge_conflict(id, "alpha/a.html");
        world.ledger.violation.is_some()
    };
    assert!(!is_found(false, false));
    assert!(is_found(true, false));
    // The id in the folder names the category.
    assert!(is_found(false, true));
}

#[test]
fn a_conflict_without_a_change_here_is_found_unless_its_folder_is_another_category_s_or_was_until_now()
 {
    assert!(is_conflict_found("alpha", 0));
    assert!(is_conflict_found("alpha", 1));
    assert!(!is_conflict_found("alpha", 2));
    assert!(!is_conflict_found("beta", 0));
    assert!(!is_conflict_found("beta", 1));
}

/// An article without a file, and a problem with the `_category.yaml` of a folder that may be the article's category.
fn told_of_category(named: &str, removed: bool) -> Option<&'static str> {
    let (mut world, _) = filed(named);
    if removed {
        world.writer(Writer::Remove { at: A });
    }
    let store = Store::in_memory(&binding()).expect("a state");
    let mut report = Report::new(false);
    report.problems.push(Problem {
        path: "gamma/_category.yaml".to_owned(),
        id: None,
        message: "the same category id is in another folder, too".to_owned(),
    });
    let yaml = world.mirror.bytes(A.folder(), "_category.yaml");
    let yaml = yaml.expect("it is there");
    world.writer(Writer::Unname { folder: 0 });
    world
        .mirror
        .save("gamma", "_category.yaml", yaml, Save::RenameOver);
    held::i12_told(&mut world, &store, &report);
    world.ledger.violation.map(|violation| violation.invariant)
}

#[test]
fn what_has_no_file_is_told_of_by_what_is_wrong_with_its_category_wherever_that_is() {
    assert_eq!(told_of_category("alpha", true), None);
    assert_eq!(told_of_category("beta", true), Some("I12"));
    assert_eq!(told_of_category("alpha", false), Some("I12"));
}
