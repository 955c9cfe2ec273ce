//! What is held is let pass; and beside it the sharper case that is still found.

use super::database::binding;
use super::held;
use super::judged_sides::pushing;
use super::relations::{Relation, differ};
use super::run::Bench;
use super::trace::Recorded;
use kbsync::engine::report::{Line, Report, Status};
use kbsync::model::{ArticleId, Side};
use kbsync::reconcile::plan::Kind;
use kbsync::state::Store;

/// Two runs end with other words of one article, and the second one holds what lies at a path.
fn ends_apart(held: &str) -> Option<&'static str> {
    let text = "Service Post at=alpha/a token=1 shown=true
Service Post at=alpha/b token=2 shown=true
Run Sync";
    let run = || {
        let Ok(recorded) = Recorded::parse(text) else {
            panic!("it cannot be read: {text}");
        };
        recorded.run(&mut Bench::new())
    };
    let (first, mut second) = (run(), run());
    for line in &mut second.end {
        *line = line.replace("zq002z", "zq003z");
    }
    second
        .held
        .add(vec![(None, held.to_owned(), String::new())]);
    differ(Relation::Killed { after: 1 }, &first, &second).map(|violation| violation.invariant)
}

#[test]
fn what_one_of_two_runs_holds_is_not_compared_and_all_else_is() {
    assert_eq!(ends_apart("alpha/b.html"), None);
    assert_eq!(ends_apart("alpha/_category.yaml"), None);
    assert_eq!(ends_apart("alpha/a.html"), Some("I7"));
    assert_eq!(ends_apart("beta/b.html"), Some("I7"));
}

/// An article without a file is held, with that for a reason.
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
