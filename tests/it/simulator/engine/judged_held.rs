//! The exceptions for held actions, and beside each the sharper case that is still found.

use super::database::binding;
use super::held::{self, Held};
use super::judged_sides::pushing;
use super::relations::{Relation, differ};
use super::run::{Bench, Outcome};
use super::token::Tokens;
use super::trace::Recorded;
use kbsync::engine::report::{Line, Report, Status};
use kbsync::model::{ArticleId, Side};
use kbsync::reconcile::plan::{Kind, Problem};
use kbsync::state::Store;

/// Runs the same world twice.
fn twice() -> (Outcome, Outcome) {
    let text = "Service Post at=alpha/a token=1 shown=true
Service Post at=alpha/b token=2 shown=true
Run Sync";
    let run = || {
        let Ok(recorded) = Recorded::parse(text) else {
            panic!("it cannot be read: {text}");
        };
        recorded.run(&mut Bench::new())
    };
    (run(), run())
}

/// Returns the violation by a difference after a kill.
fn apart(first: &Outcome, second: &Outcome) -> Option<&'static str> {
    let violation = differ(Relation::Killed { after: 1 }, first, second);
    violation.map(|violation| violation.invariant)
}

/// Two runs end with different words of one article, and the second run holds the file at a path, with or without a
/// reason.
fn ends_apart(held: &str, reason: &str) -> Option<&'static str> {
    let (first, mut second) = twice();
    for line in &mut second.end {
        *line = line.replace("zq002z", "zq003z");
    }
    let mut report = Report::new(false);
    report.problems.push(Problem {
        path: held.to_owned(),
        id: None,
        message: reason.to_owned(),
    });
    second.held = Held::of(&pushing().0, &report);
    apart(&first, &second)
}

#[test]
fn what_one_of_two_runs_holds_is_not_compared_and_all_else_is() {
    assert_eq!(ends_apart("alpha/b.html", "it is large"), None);
    assert_eq!(ends_apart("alpha/_category.yaml", "it is large"), None);
    assert_eq!(ends_apart("alpha/b.html", ""), Some("I7"));
    assert_eq!(ends_apart("alpha/a.html", "it is large"), Some("I7"));
    assert_eq!(ends_apart("beta/b.html", "it is large"), Some("I7"));
}

#[test]
fn what_is_held_after_a_kill_is_neither_lost_nor_there_twice() {
    let (first, mut second) = twice();
    second.left.reachable = Tokens::of(b"zq001z");
    assert_eq!(apart(&first, &second), Some("I7"));
    second.left.reachable = first.left.words;
    assert_eq!(apart(&first, &second), None);
    let another = "00000000-0000-4000-8000-000000000001";
    second.left.articles.push(another.parse().expect("an id"));
    assert_eq!(apart(&first, &second), Some("I7"));
}

/// An article without a file is held for this reason.
fn held_because(reason: Option<&str>, id: Option<ArticleId>) -> Option<String> {
    let (mut world, own) = pushing();
    let mut report = Report::new(false);
    report.actions.push(Line {
        action: Kind::Create,
        side: Side::Local,
        path: "beta/x.html".to_owned(),
        id: id.or(Some(own)),
        fields: Vec::new(),
        status: Status::Held,
        reason: reason.map(str::to_owned),
        rule: None,
        fingerprint: None,
    });
    let store = Store::in_memory(&binding()).expect("a state");
    held::i12_told(&mut world, &store, &report);
    world.ledger.violation.map(|violation| violation.message)
}

#[test]
fn what_is_held_is_told_in_words() {
    assert_eq!(held_because(Some("it is too large"), None), None);
    for mute in [None, Some("")] {
        let message = held_because(mute, None).expect("it is found");
        assert!(message.contains("held without a word"), "{message}");
    }
    let another = "00000000-0000-4000-8000-000000000001".parse().ok();
    let message = held_because(Some("it is too large"), another).expect("it is found");
    assert!(message.contains("says nothing of it"), "{message}");
}
