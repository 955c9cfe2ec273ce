//! The bounded run of the simulator: fixed seeds, in memory and on a real folder.

use super::kb::By;
use super::mirror::Mirror;
use super::relations::Compare;
use super::run::{Bench, Ground, Source};
use super::step::{At, Call, Colleague, Command, PLAIN, Part, Step, What, Writer};
use super::token::Tokens;
use super::tree::Tree;
use super::world::{Side, World};
use super::{author, seed, seeds};
use crate::simulator::planted;
use kbsync::service::ArticlePatch;

/// The seeds that run in memory.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=400;

#[test]
fn in_every_world_everything_holds() {
    let tally = seeds(&mut Bench::new(), SEEDS, Compare::Few, &mut |tally| {
        !tally.failures.is_empty()
    });
    let failures: Vec<String> = tally.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(tally.cycles > 5 * tally.runs, "{} cycles", tally.cycles);
    assert!(
        tally.incremental > tally.runs,
        "{} incremental",
        tally.incremental
    );
    assert!(tally.steps >= 20 * tally.runs, "{} steps", tally.steps);
}

#[test]
fn in_another_order_and_after_kills_it_ends_with_the_same() {
    let tally = seeds(&mut Bench::new(), 1..=60, Compare::Each, &mut |tally| {
        !tally.failures.is_empty()
    });
    let failures: Vec<String> = tally.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(tally.compared > 25, "{} are compared", tally.compared);
}

#[test]
fn the_same_trace_gives_the_same_run() {
    let mut bench = Bench::new();
    for number in 1..=25 {
        let first = seed(&mut bench, number);
        let source = Source::Steps(&first.trace.steps);
        let again = Bench::new().run(author::setup(number), source, Ground::Memory);
        assert_eq!(first.hash, again.hash, "seed {number}");
        assert_eq!(first.trace, again.trace, "seed {number}");
    }
}

#[test]
fn entries_told_again_by_their_bytes_end_as_if_they_were_read() {
    let (mut bench, mut reading) = (Bench::new(), Bench::new());
    reading.reads_all = true;
    for number in 1..=60 {
        let first = seed(&mut bench, number);
        let source = Source::Steps(&first.trace.steps);
        let again = reading.run(first.trace.setup, source, Ground::Memory);
        assert_eq!(first.hash, again.hash, "seed {number}");
        assert_eq!(first.end, again.end, "seed {number}");
    }
}

#[test]
fn cycles_that_compare_a_few_end_as_if_they_had_compared_all() {
    let (mut bench, mut comparing) = (Bench::new(), Bench::new());
    comparing.compares_all = true;
    let mut incremental = 0;
    for number in 1..=60 {
        let mut trace = seed(&mut bench, number).trace;
        // These steps strike at a call by its number, which another way of comparing shifts.
        trace.steps.retain(|step| {
            !matches!(
                step,
                Step::Fault { .. } | Step::Kill { .. } | Step::PowerLoss { .. }
            )
        });
        let run = |bench: &mut Bench| {
            let source = Source::Steps(&trace.steps);
            bench.run(trace.setup, source, Ground::Memory)
        };
        let (few, all) = (run(&mut bench), run(&mut comparing));
        assert_eq!(few.violation, None, "seed {number}");
        assert_eq!(few.end, all.end, "seed {number}");
        incremental += few.incremental;
        assert_eq!(all.incremental, 0, "seed {number}");
    }
    assert!(incremental > 60, "{incremental}");
}

#[test]
fn on_a_real_folder_it_ends_with_the_same() {
    let mut bench = Bench::new();
    let tally = seeds(&mut bench, 1..=20, Compare::OnDisk, &mut |_| false);
    let failures: Vec<String> = tally.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(tally.on_disk > 10, "{} are real", tally.on_disk);
}

#[test]
fn the_table_of_the_zoo_knows_every_defect_and_its_end() {
    let table = include_str!("../../../zoo.md");
    let lines = table.lines().filter(|line| line.starts_with("| "));
    let listed: Vec<String> = lines
        .skip(1)
        .filter_map(|line| Some(line.split('|').nth(1)?.trim().to_owned()))
        .collect();
    let defects = planted::defects().expect("the patches can be read");
    let planted: Vec<String> = defects.into_iter().map(|defect| defect.name).collect();
    assert_eq!(listed, planted);
    assert!(!table.contains("not found"), "{table}");
}

/// A stale listing shows an article again that kbsync deleted.
fn shown_again(forgets: bool) -> Option<&'static str> {
    let sync = Step::Run {
        command: Command::Sync,
    };
    let post = Colleague::Post {
        at: At(0, 2),
        token: 8,
        shown: true,
    };
    let mut steps = vec![
        Step::Service { deed: post },
        sync,
        Step::Mirror {
            deed: Writer::Remove { at: At(0, 2) },
        },
        sync,
    ];
    steps.extend(forgets.then_some(Step::LoseState));
    steps.extend([
        Step::Fault {
            call: Call::List,
            nth: 0,
            what: What::Stale,
        },
        sync,
    ]);
    let outcome = Bench::new().run(PLAIN, Source::Steps(&steps), Ground::Memory);
    outcome.violation.map(|violation| violation.invariant)
}

#[test]
fn a_stale_listing_brings_a_deleted_article_back_only_where_the_state_is_lost() {
    assert_eq!(shown_again(true), None);
    assert_eq!(shown_again(false), None);
}

/// A colleague removes words and puts them back, and then kbsync removes the words from the mirror.
fn taken_back(kbsync_looked: bool) -> Option<&'static str> {
    let mut world = World::new(PLAIN, Mirror::Memory(Box::new(Tree::new(0))), 0);
    let (at, words) = (At(0, 0), Tokens::of(b"zq001z"));
    let post = Colleague::Post {
        at,
        token: 1,
        shown: true,
    };
    world.colleague(post);
    world.begin();
    world.colleague(Colleague::Change {
        at,
        part: Part::First,
        token: 2,
    });
    if kbsync_looked {
        let ids = world.kb.ids();
        world.listed(ids);
    }
    world.colleague(Colleague::Revert { at });
    assert_eq!(world.kb.tokens().and(&words).all(), [1]);
    world.effect(Side::Mirror, &words, "a file is written", None);
    world.ledger.violation.map(|violation| violation.invariant)
}

#[test]
fn a_pull_of_what_a_colleague_took_back_meanwhile_had_a_cause() {
    assert_eq!(taken_back(true), None);
    assert_eq!(taken_back(false), Some("I4"));
}

/// kbsync overwrites an article, and a stale listing shows the superseded version, which removes the words from a side.
fn shown_late(side: Side, forgets: bool, edited_since: bool) -> Option<&'static str> {
    let mut world = World::new(PLAIN, Mirror::Memory(Box::new(Tree::new(0))), 0);
    let (at, words) = (At(0, 0), Tokens::of(b"zq002z"));
    world.colleague(Colleague::Post {
        at,
        token: 1,
        shown: true,
    });
    world.begin();
    let ids = world.kb.ids();
    world.listed(ids.clone());
    let patch = ArticlePatch {
        text: Some("zq002z".to_owned()),
        ..ArticlePatch::default()
    };
    world.kb.update(ids[0], &patch, By::Us).expect("updated");
    if forgets {
        world.ledger.unremembered_words = world.kb.outdated().collect();
    }
    if edited_since {
        world.colleague(Colleague::Touch { at });
    }
    world.answered_late();
    if side == Side::Service {
        world.kb.articles.clear();
    }
    world.effect(side, &words, "something is written", None);
    world.ledger.violation.map(|violation| violation.invariant)
}

#[test]
fn an_old_copy_is_believed_only_where_the_state_is_lost() {
    for side in [Side::Mirror, Side::Service] {
        assert_eq!(shown_late(side, true, false), None);
        assert_eq!(shown_late(side, false, false), Some("I4"));
        assert_eq!(shown_late(side, true, true), Some("I4"));
    }
}

/// kbsync overwrites an article, a stale listing shows the superseded version, and the article is deleted. Returns
/// whether its words are still owed.
fn deleted_late(forgets: bool, removed: bool) -> bool {
    let mut world = World::new(PLAIN, Mirror::Memory(Box::new(Tree::new(0))), 0);
    let (at, words) = (At(0, 0), Tokens::of(b"zq002z"));
    world.colleague(Colleague::Post {
        at,
        token: 1,
        shown: true,
    });
    world.begin();
    let ids = world.kb.ids();
    world.listed(ids.clone());
    let patch = ArticlePatch {
        text: Some("zq002z".to_owned()),
        ..ArticlePatch::default()
    };
    world.kb.update(ids[0], &patch, By::Us).expect("updated");
    world.ledger.owed.add(&words);
    if forgets {
        world.ledger.unremembered_words = world.kb.outdated().collect();
    }
    if removed {
        world.ledger.removed.add(&words);
    }
    world.answered_late();
    world.kb.articles.clear();
    world.effect(Side::Service, &words, "an article is deleted", None);
    !world.ledger.owed.and(&words).is_empty()
}

#[test]
fn what_only_a_lost_state_knew_is_not_owed_once_its_writer_removed_it() {
    assert!(!deleted_late(true, true));
    assert!(deleted_late(false, true));
    assert!(deleted_late(true, false));
}

/// A person approves a mass deletion, and the run is cut off. The next run carries out all deletions.
fn released_once() -> Option<&'static str> {
    let post = |name| Step::Service {
        deed: Colleague::Post {
            at: At(0, name),
            token: u16::from(name),
            shown: true,
        },
    };
    let run = |command| Step::Run { command };
    let mut steps: Vec<Step> = (0..6).map(post).collect();
    steps.push(run(Command::Sync));
    steps.extend((0..4).map(|name| Step::Mirror {
        deed: Writer::Remove { at: At(0, name) },
    }));
    steps.extend([Step::Kill { after: 1 }, run(Command::Approve)]);
    steps.push(run(Command::Sync));
    let outcome = Bench::new().run(PLAIN, Source::Steps(&steps), Ground::Memory);
    outcome.violation.map(|violation| violation.invariant)
}

#[test]
fn a_release_counts_for_as_long_as_the_state_has_it() {
    assert_eq!(released_once(), None);
}
