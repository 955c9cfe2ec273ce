//! The exceptions for stale reads after a PUT with a lost response, and beside each the sharper case that is still
//! found.

use super::judged::{born, found};
use super::kb::By;
use super::mirror::Mirror;
use super::oracle::is_unknown;
use super::step::{At, Colleague, PLAIN, Part, Probing, Setup};
use super::tree::Tree;
use super::world::World;
use kbsync::model::ArticleId;
use kbsync::service::ArticlePatch;

const A: At = At(0, 0);

/// The stale reads of a case, and whether the PUT had a response.
#[derive(Clone, Copy)]
struct Case {
    probing: Probing,
    answered: bool,
    listed_late: bool,
    read_late: bool,
}

const HIDDEN: Case = Case {
    probing: Probing::Forbidden,
    answered: false,
    listed_late: true,
    read_late: true,
};

fn send(world: &mut World, id: ArticleId) {
    let patch = ArticlePatch {
        title: Some("zq003z".to_owned()),
        ..ArticlePatch::default()
    };
    world
        .write("PUT", Some(id), |kb| kb.update(id, &patch, By::Us))
        .expect("updated");
}

/// A PUT, a colleague's edit over it, and the same PUT again.
fn sent_again(case: Case) -> Option<&'static str> {
    let setup = Setup {
        probing: case.probing,
        ..PLAIN
    };
    let mut world = World::new(setup, Mirror::Memory(Box::new(Tree::new(0))), 0);
    let id = born(&mut world, "a", "zq001z", true);
    world.begin();
    send(&mut world, id);
    world.ledger.hidden.put(id, case.answered);
    world.colleague(Colleague::Change {
        at: A,
        part: Part::Title,
        token: 2,
    });
    world.begin();
    world.ledger.hidden.listed(&[id], case.listed_late);
    world.read_by_itself(id, case.read_late);
    world.saw([id]);
    send(&mut world, id);
    found(world)
}

#[test]
fn what_two_old_answers_hide_where_nothing_else_tells_may_be_written_over() {
    assert_eq!(sent_again(HIDDEN), None);
    let sharper = [
        Case {
            probing: Probing::Allowed,
            ..HIDDEN
        },
        Case {
            answered: true,
            ..HIDDEN
        },
        Case {
            listed_late: false,
            ..HIDDEN
        },
        Case {
            read_late: false,
            ..HIDDEN
        },
    ];
    for case in sharper {
        assert_eq!(sent_again(case), Some("I4"));
    }
}

/// An article is there although its DELETE got no answer, and reads of that cycle and of the next one are stale or not.
fn is_believed_gone(probing: Probing, is_answered: bool, stale: [bool; 2]) -> bool {
    let setup = Setup { probing, ..PLAIN };
    let mut world = World::new(setup, Mirror::Memory(Box::new(Tree::new(0))), 0);
    let id = born(&mut world, "a", "zq001z", true);
    if !is_answered {
        world.ledger.unanswered_deletes.insert(id, false);
    }
    world.read_by_itself(id, stale[0]);
    world.begin();
    world.read_by_itself(id, stale[1]);
    let difference = (Some(id), String::new(), "it has no file".to_owned());
    is_unknown(&world, &difference)
}

#[test]
fn an_article_may_outlive_its_deletion_only_where_a_stale_read_follows_a_lost_answer_without_probes()
 {
    let stale = [true, true];
    assert!(is_believed_gone(Probing::Off, false, stale));
    assert!(!is_believed_gone(Probing::Allowed, false, stale));
    assert!(!is_believed_gone(Probing::Off, true, stale));
    assert!(is_believed_gone(Probing::Off, false, [false, true]));
    assert!(!is_believed_gone(Probing::Off, false, [true, false]));
}
