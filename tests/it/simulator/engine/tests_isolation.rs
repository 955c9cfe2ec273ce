//! The judge of I13: it accepts faults that stop one article, and finds faults that stop others.

use super::isolation;
use super::relations::{self, Relation};
use super::run::{Bench, Ground, Source};
use super::seed;
use super::step::{At, Call, Colleague, Command, PLAIN, Part, Save, Step, What, Writer};

const SYNC: Step = Step::Run {
    command: Command::Sync,
};

/// Two articles are edited, and a fault strikes the first PUT.
fn struck_by(what: What) -> Option<&'static str> {
    let post = |at, token| Step::Service {
        deed: Colleague::Post {
            at,
            token,
            shown: true,
        },
    };
    let edit = |at, token| Step::Mirror {
        deed: Writer::Edit {
            at,
            part: Part::First,
            token,
            save: Save::RenameOver,
        },
    };
    let (one, other) = (At(0, 0), At(1, 1));
    let mut steps = vec![
        post(one, 1),
        post(other, 2),
        SYNC,
        edit(one, 3),
        edit(other, 4),
        SYNC,
    ];
    let mut bench = Bench::new();
    let first = bench.run(PLAIN, Source::Steps(&steps), Ground::Memory);
    let call = Call::Update;
    steps.insert(5, Step::Fault { call, nth: 0, what });
    let second = bench.run(PLAIN, Source::Steps(&steps), Ground::Memory);
    assert!(second.struck.is_some(), "{what:?}");
    isolation::differ(&first, &second).map(|violation| violation.invariant)
}

#[test]
fn a_refused_article_stops_only_itself_and_a_network_that_is_down_is_found_to_stop_others() {
    assert_eq!(struck_by(What::Refused), None);
    assert_eq!(struck_by(What::Forbidden), None);
    assert_eq!(struck_by(What::Down { requests: 20 }), Some("I13"));
    assert_eq!(struck_by(What::Unauthorized), Some("I13"));
}

#[test]
fn what_goes_wrong_with_one_article_delays_it_alone() {
    let mut bench = Bench::new();
    let mut compared = 0;
    for number in 1..=60 {
        let outcome = seed(&mut bench, number);
        let number = u16::try_from(number).unwrap_or_default();
        let relation = Relation::Struck { number };
        let Some((first, second)) = relations::other(&mut bench, relation, &outcome) else {
            continue;
        };
        compared += 1;
        let found = relations::differ(relation, &first, &second);
        assert_eq!(found, None, "seed {number}");
    }
    assert!(compared >= 10, "{compared} are compared");
}

/// An article is deleted on one side, and on the other side the disk refuses a file, or the service refuses its
/// article.
fn struck_beside_a_deletion(call: Call, what: What) -> Option<&'static str> {
    let post = |at, token| Step::Service {
        deed: Colleague::Post {
            at,
            token,
            shown: true,
        },
    };
    let (one, other) = (At(0, 0), At(1, 1));
    let mut steps = vec![
        post(one, 1),
        post(other, 2),
        SYNC,
        Step::Mirror {
            deed: Writer::Remove { at: other },
        },
        SYNC,
    ];
    let edit = if call.is_request() {
        Step::Mirror {
            deed: Writer::Edit {
                at: one,
                part: Part::First,
                token: 3,
                save: Save::RenameOver,
            },
        }
    } else {
        Step::Service {
            deed: Colleague::Change {
                at: one,
                part: Part::First,
                token: 3,
            },
        }
    };
    steps.insert(4, edit);
    let mut bench = Bench::new();
    let first = bench.run(PLAIN, Source::Steps(&steps), Ground::Memory);
    steps.insert(5, Step::Fault { call, nth: 0, what });
    let second = bench.run(PLAIN, Source::Steps(&steps), Ground::Memory);
    assert!(second.struck.is_some(), "{what:?}");
    assert!(first.halfway != second.halfway, "{what:?}");
    isolation::differ(&first, &second).map(|violation| violation.invariant)
}

#[test]
fn a_deletion_waits_for_a_disk_that_failed_and_for_no_refusal() {
    let denied = struck_beside_a_deletion(Call::Publish, What::Denied);
    assert_eq!(denied, None);
    let refused = struck_beside_a_deletion(Call::Update, What::Refused);
    assert_eq!(refused, None);
    let down = struck_beside_a_deletion(Call::Update, What::Down { requests: 20 });
    assert_eq!(down, Some("I13"));
}
