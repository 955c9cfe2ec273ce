//! What came between a look and the write that it was for: want of budget, an old copy, a write of our own.

use super::regressions::{PLAIN, compares, holds};
use super::relations::Relation;
use super::run::{Bench, Ground, Source};
use super::step::{At, Call, Colleague, Command, Part, Probing, Save, Setup, Step, What, Writer};

const SYNC: Step = Step::Run {
    command: Command::Sync {},
};

fn write(at: At, token: u16, enabled: bool) -> Step {
    let deed = Writer::Write { at, token, enabled };
    Step::Mirror { deed }
}

/// A file goes back to what it was before the last push. There is no room for the PUT yet, and the look before the next
/// try shows an old copy, which says just what is to be sent.
#[test]
fn an_old_copy_says_what_was_not_sent_for_want_of_budget() {
    let at = At(0, 4);
    let post = Colleague::Post {
        at,
        token: 1,
        shown: true,
    };
    let edit = Writer::Edit {
        at,
        part: Part::First,
        token: 2,
        save: Save::RenameOver,
    };
    let setup = Setup {
        thrifty: true,
        ..PLAIN
    };
    for before in 0..5 {
        for quiet in 0..5 {
            let mut steps = vec![Step::Service { deed: post }, SYNC];
            steps.push(Step::Mirror {
                deed: Writer::Stash {},
            });
            steps.extend(vec![SYNC; before]);
            steps.extend([Step::Mirror { deed: edit }, SYNC]);
            steps.extend(vec![SYNC; quiet]);
            steps.extend([
                Step::Mirror { deed: Writer::Checkout {} },
                Step::Fault { call: Call::Read, nth: 0, what: What::Stale {} },
                SYNC,
            ]);
            holds(setup, &steps);
        }
    }
}

/// Two addresses are swapped, long after the listing: one of them is freed first, and that is no colleague's doing.
#[test]
fn two_addresses_are_swapped_in_one_cycle_though_all_was_listed_once_more() {
    let (one, other) = (At(0, 0), At(0, 1));
    let swap = Writer::Swap { one, other };
    let slow = Step::Fault {
        call: Call::CreateCategory,
        nth: 0,
        what: What::Slow { seconds: 60 },
    };
    let mut steps = vec![write(one, 1, true), write(other, 2, true), SYNC];
    steps.extend([Step::Mirror { deed: swap }, write(At(1, 2), 3, true)]);
    steps.extend([slow, SYNC]);
    let mut bench = Bench::new();
    bench.talk = true;
    let outcome = bench.run(PLAIN, Source::Steps(&steps), Ground::Memory);
    let log = outcome.log.join("\n");
    assert_eq!(outcome.violation, None, "what happened:\n{log}");
    assert!(
        log.contains("so that two addresses can be swapped"),
        "{log}"
    );
    assert!(!log.contains("Skipped"), "{log}");
}

/// Two addresses are swapped, and a colleague has published one of the articles: the address that is freed for a moment
/// does not hide that.
#[test]
fn an_article_was_published_whose_address_is_freed_for_a_moment() {
    let (one, other) = (At(0, 0), At(0, 1));
    let show = Step::Service {
        deed: Colleague::Show {
            at: other,
            on: true,
        },
    };
    let swap = Step::Mirror {
        deed: Writer::Swap { one, other },
    };
    let set_up = [write(one, 1, false), write(other, 2, false), SYNC];
    for after in 0..60 {
        let mut steps = set_up.to_vec();
        steps.extend([swap, show, Step::Kill { after }, SYNC]);
        holds(PLAIN, &steps);
    }
    let setup = Setup {
        thrifty: true,
        ..PLAIN
    };
    holds(setup, &[&set_up[..], &[swap, show]].concat());
}

/// Two addresses are swapped, a colleague has changed one of the articles, and the run is killed on the way. The next one
/// is shown what was there before one of the addresses was freed.
#[test]
fn an_old_copy_is_shown_of_an_article_whose_address_is_freed() {
    let (one, other) = (At(0, 3), At(1, 1));
    let post = |at: At, token: u16| Step::Service {
        deed: Colleague::Post {
            at,
            token,
            shown: true,
        },
    };
    let stale = Step::Fault {
        call: Call::List,
        nth: 0,
        what: What::Stale {},
    };
    for (at, away) in [(one, other), (other, one)] {
        for after in 10..70 {
            let change = Colleague::Change {
                at,
                part: Part::First,
                token: 3,
            };
            let edit = Writer::Edit {
                at,
                part: Part::Third,
                token: 4,
                save: Save::RenameOver,
            };
            let later = Colleague::Change {
                at: away,
                part: Part::First,
                token: 5,
            };
            holds(
                PLAIN,
                &[
                    post(one, 1),
                    post(other, 2),
                    SYNC,
                    Step::Service { deed: change },
                    Step::Mirror { deed: edit },
                    Step::Mirror { deed: Writer::Swap { one, other } },
                    Step::Kill { after },
                    SYNC,
                    Step::Service { deed: later },
                    stale,
                    SYNC,
                ],
            );
        }
    }
}

/// The answer to a POST is lost, and a colleague gives the article that it made another address and other words: a dry
/// run keeps nothing, and tells which one it is all the same.
#[test]
fn a_dry_run_knows_what_a_killed_run_posted() {
    let (to, from) = (At(0, 3), At(1, 3));
    let post = Colleague::Post {
        at: to,
        token: 3,
        shown: true,
    };
    let change = Colleague::Change {
        at: to,
        part: Part::First,
        token: 5,
    };
    let dry_run = Step::Run {
        command: Command::DryThenSync {},
    };
    for after in 0..60 {
        holds(
            PLAIN,
            &[
                write(At(1, 0), 2, true),
                Step::Service { deed: post },
                SYNC,
                write(from, 4, true),
                Step::Kill { after },
                SYNC,
                Step::Service { deed: Colleague::Delete { at: to } },
                Step::Service { deed: Colleague::Readdress { from, to } },
                Step::Service { deed: change },
                dry_run,
            ],
        );
    }
}

/// The answer to a POST of a hidden article is lost, and its file is given the address of another one whose file goes:
/// that is not new words of the other one's.
#[test]
fn a_file_without_an_answer_gets_the_address_of_another_one() {
    let (one, other) = (At(0, 0), At(0, 5));
    let slug = |at: At| Step::Mirror {
        deed: Writer::Slug { at, name: 3 },
    };
    let lost = Step::Fault {
        call: Call::Create,
        nth: 0,
        what: What::LostAfter {},
    };
    let hide = Step::Mirror {
        deed: Writer::Hide { at: other },
    };
    let remove = Step::Mirror {
        deed: Writer::Remove { at: other },
    };
    for goes in [hide, remove] {
        for enabled in [false, true] {
            holds(
                PLAIN,
                &[
                    write(one, 1, enabled),
                    write(other, 2, true),
                    slug(other),
                    lost,
                    SYNC,
                    slug(one),
                    goes,
                    SYNC,
                    SYNC,
                ],
            );
        }
    }
}

/// A copy that became an article, and never got its id, goes by that one's end, with a key of the writer's own.
#[test]
fn seed_47879330676() {
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(1, 3), token: 2, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Copy { from: At(1, 3), to: At(1, 2) } },
        Step::Service { deed: Colleague::Reslug { from: 1, to: 0 } },
        Step::Kill { after: 31 },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(1, 2), part: Part::Owner, token: 12, save: Save::RenameOver } },
        Step::Service { deed: Colleague::Delete { at: At(0, 2) } },
    ];
    holds(PLAIN, &steps);
}

/// The writer took a new file away before its id was in it, and a colleague replaced its words in the very cycle that deletes it.
#[test]
fn seed_47879364088() {
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 6), token: 3, enabled: true } },
        Step::Fault { call: Call::Stage, nth: 0, what: What::ByWriter { deed: Writer::Hide { at: At(0, 6) } } },
        Step::Run { command: Command::Sync {} },
        Step::Fault { call: Call::Look, nth: 0, what: What::ByColleague { deed: Colleague::Change { at: At(0, 6), part: Part::First, token: 12 } } },
        Step::Run { command: Command::Sync {} },
    ];
    holds(PLAIN, &steps);
}

/// The file of a POST without an answer was moved and broken, and a new one lies in its place: which of the two it is cannot be told.
#[test]
fn seed_47879489946() {
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 3), token: 2, enabled: true } },
        Step::Kill { after: 42 },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Move { from: At(0, 3), to: At(0, 1) } },
        Step::Mirror { deed: Writer::Break { at: At(0, 1) } },
        Step::Mirror { deed: Writer::Write { at: At(0, 3), token: 10, enabled: true } },
    ];
    holds(PLAIN, &steps);
}

/// A removed file's article that cannot be read counts with the deletions, which are too many by it.
#[test]
fn seed_47879528950() {
    let setup = Setup {
        bodies: false,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(1, 1), token: 1, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(0, 3), token: 2, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(0, 4), token: 3, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 3), token: 4, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::RemoveAll {} },
        Step::Service { deed: Colleague::Change { at: At(0, 4), part: Part::First, token: 17 } },
        Step::Run { command: Command::Sync {} },
    ];
    compares(Relation::Struck(703), setup, &steps);
}

/// A guard read that was answered with an old copy said nothing of what the PUT after it replaced.
#[test]
fn seed_751754120013() {
    let setup = Setup {
        lists_disabled: true,
        probing: Probing::Off,
        no_window: true,
        max_deletes: 3,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 5), token: 1, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Enable { at: At(0, 5), on: false } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(0, 5), part: Part::First, token: 4, save: Save::RenameOver } },
        Step::Fault { call: Call::Read, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

/// Without the state an old copy looks like a colleague's return to an older text, and is merged with an edit.
#[test]
fn seed_751754147723() {
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(1, 1), token: 1, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(1, 1), part: Part::First, token: 10, save: Save::RenameOver } },
        Step::Run { command: Command::Sync {} },
        Step::LoseState {},
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(1, 1), part: Part::Second, token: 14, save: Save::RenameOver } },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(PLAIN, &steps);
}

/// Two new files changed places while one was created, and only the other is synced: the first goes on saying what it said.
#[test]
fn seed_751754201784() {
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(1, 3), token: 1, enabled: true } },
        Step::Mirror { deed: Writer::Write { at: At(1, 2), token: 2, enabled: true } },
        Step::Fault { call: Call::Publish, nth: 0, what: What::ByWriter { deed: Writer::Swap { one: At(1, 3), other: At(1, 2) } } },
        Step::Run { command: Command::Sync {} },
        Step::Run { command: Command::Glance { at: At(1, 3) } },
    ];
    holds(PLAIN, &steps);
}

/// Of four that left the listing at once, one was never in it: its POST was answered since.
#[test]
fn seed_655601350822() {
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 3), token: 2, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 5), token: 3, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 3), token: 4, shown: true } },
        Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 5, enabled: true } },
        Step::Mirror { deed: Writer::Slug { at: At(1, 1), name: 2 } },
        Step::Service { deed: Colleague::Readdress { from: At(1, 3), to: At(0, 0) } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Show { at: At(0, 3), on: false } },
        Step::Service { deed: Colleague::Delete { at: At(1, 2) } },
        Step::Service { deed: Colleague::Delete { at: At(1, 5) } },
        Step::Service { deed: Colleague::Delete { at: At(0, 0) } },
    ];
    holds(PLAIN, &steps);
}
