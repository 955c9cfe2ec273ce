//! When paths are due: tables in virtual time, and the proof that no event is forgotten.

use super::*;
use proptest::prelude::*;

const PACE: Delays = Delays {
    quiet_period: Duration::from_millis(200),
    ceiling: Duration::from_secs(5),
    delete_grace: Duration::from_mins(1),
    push_interval: Duration::from_secs(15),
};

enum Do {
    Change(&'static str),
    Remove(&'static str),
    Pushed(&'static str),
    /// The paths that are due then: changed paths, and removed paths with a `-`.
    Due(&'static [&'static str]),
}
use Do::{Change, Due, Pushed, Remove};

fn check(name: &str, steps: &[(u64, Do)]) {
    let start = Instant::now();
    let mut quiet = Debounce::new(PACE);
    for (millis, step) in steps {
        let now = start + Duration::from_millis(*millis);
        match step {
            Change(path) => quiet.record(path, Touch::Changed, now),
            Remove(path) => quiet.record(path, Touch::Removed, now),
            Pushed(path) => quiet.pushed(path, now),
            Due(expected) => {
                let due = quiet.due(now).into_iter();
                let found: Vec<String> = due
                    .map(|(path, touch)| match touch {
                        Touch::Changed => path,
                        Touch::Removed => format!("-{path}"),
                    })
                    .collect();
                assert_eq!(found, *expected, "{name}, at {millis} ms");
            }
        }
    }
}

#[test]
fn paths_are_taken_when_they_are_quiet() {
    check(
        "one save",
        &[
            (0, Change("a")),
            (199, Due(&[])),
            (200, Due(&["a"])),
            (9_999, Due(&[])),
        ],
    );
    check(
        "f071: a slow writer",
        &[
            (0, Change("a")),
            (150, Change("a")),
            (300, Change("a")),
            (499, Due(&[])),
            (500, Due(&["a"])),
        ],
    );
    check(
        "each path by itself",
        &[
            (0, Change("a")),
            (150, Change("b")),
            (200, Due(&["a"])),
            (350, Due(&["b"])),
        ],
    );
}

#[test]
fn f071_a_path_that_is_never_quiet_is_taken_at_the_ceiling() {
    let mut steps: Vec<(u64, Do)> = (0..49).map(|i| (i * 100, Change("a"))).collect();
    steps.push((4_900, Change("a")));
    steps.push((4_999, Due(&[])));
    steps.push((5_000, Due(&["a"])));
    check("ceiling", &steps);
    // Removing and writing at each save does not move the ceiling.
    let mut steps: Vec<(u64, Do)> = (0..49)
        .flat_map(|i| [(i * 100, Remove("a")), (i * 100 + 50, Change("a"))])
        .collect();
    steps.push((4_999, Due(&[])));
    steps.push((5_000, Due(&["a"])));
    check("ceiling of a path that comes and goes", &steps);
}

#[test]
fn f073_a_removal_waits_and_is_cancelled_by_a_return() {
    check(
        "gone for good",
        &[(0, Remove("a")), (59_999, Due(&[])), (60_000, Due(&["-a"]))],
    );
    check(
        "vim: renamed away, made again",
        &[
            (0, Remove("a")),
            (3, Change("a")),
            (202, Due(&[])),
            (203, Due(&["a"])),
            (90_000, Due(&[])),
        ],
    );
    check(
        "back after 40 seconds: it must be quiet first",
        &[
            (0, Remove("a")),
            (40_000, Change("a")),
            (40_199, Due(&[])),
            (40_200, Due(&["a"])),
        ],
    );
    check(
        "changed, then gone: the grace counts from the removal",
        &[
            (0, Change("a")),
            (100, Remove("a")),
            (60_099, Due(&[])),
            (60_100, Due(&["-a"])),
        ],
    );
    check(
        "gone again: it was there in between",
        &[
            (0, Remove("a")),
            (30_000, Remove("a")),
            (90_000, Due(&["-a"])),
        ],
    );
}

#[test]
fn f073_what_is_removed_together_is_taken_together() {
    check(
        "one rm of some files",
        &[
            (0, Remove("a")),
            (40, Remove("b")),
            (3_000, Remove("c")),
            (9_000, Remove("d")),
            (68_999, Due(&[])),
            (69_000, Due(&["-a", "-b", "-c", "-d"])),
            // A later series of removals.
            (69_500, Remove("e")),
            (129_500, Due(&["-e"])),
        ],
    );
    check(
        "one of them comes back",
        &[
            (0, Remove("a")),
            (2_000, Remove("b")),
            (30_000, Change("b")),
            (30_200, Due(&["b"])),
            (59_999, Due(&[])),
            (60_000, Due(&["-a"])),
        ],
    );
    // A person who removes a file every few seconds does not delay the others without end.
    let start = Instant::now();
    let mut quiet = Debounce::new(PACE);
    for second in 0..300_u64 {
        let now = start + Duration::from_secs(second);
        if second.is_multiple_of(4) {
            quiet.record(&format!("{second:03}"), Touch::Removed, now);
        }
        let due = quiet.due(now);
        // Each path is named by the second of its removal.
        let gone = due.keys().map(|path| path.parse().expect("a second"));
        let mut gone = gone.map(|second| start + Duration::from_secs(second));
        assert!(gone.all(|gone| now - gone <= PACE.delete_grace * 2));
        assert_eq!(
            second >= 120 && second.is_multiple_of(4),
            !due.is_empty(),
            "{second}"
        );
    }
}

#[test]
fn f082_an_article_is_pushed_once_per_interval_with_its_last_state() {
    check(
        "autosave",
        &[
            (0, Change("a")),
            (200, Due(&["a"])),
            (200, Pushed("a")),
            (1_000, Change("a")),
            (2_000, Change("a")),
            (2_200, Due(&[])),
            (15_199, Due(&[])),
            (15_200, Due(&["a"])),
        ],
    );
    check(
        "another path is not kept",
        &[(0, Pushed("a")), (0, Change("b")), (200, Due(&["b"]))],
    );
    // A minute of autosave, every second: at most five pushes.
    let start = Instant::now();
    let mut quiet = Debounce::new(PACE);
    let mut takes = 0;
    for tick in 0..700_u64 {
        let now = start + Duration::from_millis(tick * 100);
        if tick % 10 == 0 && tick < 600 {
            quiet.record("a", Touch::Changed, now);
        }
        if !quiet.due(now).is_empty() {
            takes += 1;
            quiet.pushed("a", now);
        }
    }
    assert_eq!(takes, 5);
    assert!(quiet.is_empty(), "the last state was due, too");
}

#[test]
fn f076_a_new_folder_waits_for_what_happens_in_it() {
    check(
        "500 files are copied",
        &[
            (0, Change("new")),
            (150, Change("new/a")),
            (300, Change("new/b")),
            (350, Due(&["new/a"])),
            (500, Due(&["new", "new/b"])),
        ],
    );
}

#[test]
fn f073_the_grace_of_a_removal_counts_from_the_last_one() {
    let start = Instant::now();
    let at = |millis| start + Duration::from_millis(millis);
    let mut quiet = Debounce::new(PACE);
    // A file that is replaced by an exchange of names looks as if it was removed.
    quiet.record("a", Touch::Removed, at(0));
    quiet.record("a", Touch::Removed, at(50_000));
    assert_eq!(quiet.due(at(60_500)), DuePaths::default());
    let due = quiet.due(at(110_000));
    assert_eq!(due, DuePaths::from([("a".to_owned(), Touch::Removed)]));
}

#[derive(Clone, Debug)]
struct Step {
    after: u64,
    path: u8,
    removed: bool,
    look: bool,
    push: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (
        0..2_000_u64,
        0..4_u8,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(after, path, removed, look, push)| Step {
            after,
            path,
            removed,
            look,
            push,
        });
    prop::collection::vec(step, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// No event is forgotten, no path is due before it is quiet or at its ceiling, and a due path has the last touch
    /// that was seen.
    #[test]
    fn every_event_is_taken_once_and_in_time(steps in steps()) {
        let start = Instant::now();
        let mut now = start;
        let mut quiet = Debounce::new(PACE);
        // By path: the last touch, the first and the last event since the path was due, and its last push.
        let mut open: BTreeMap<String, (Touch, Instant, Instant)> = BTreeMap::new();
        let mut pushes: BTreeMap<String, Instant> = BTreeMap::new();
        let mut looks = 0;
        for step in steps {
            now += Duration::from_millis(step.after);
            let path = format!("p{}", step.path);
            let touch = if step.removed { Touch::Removed } else { Touch::Changed };
            quiet.record(&path, touch, now);
            open.entry(path).and_modify(|entry| (entry.0, entry.2) = (touch, now)).or_insert((touch, now, now));
            if step.look {
                looks += 1;
                let due = quiet.due(now);
                for (path, due) in &due {
                    let (touch, first, last) = open.remove(path).expect("it was noted");
                    prop_assert_eq!(touch, *due);
                    if touch == Touch::Removed {
                        prop_assert!(now >= last + PACE.quiet_period);
                        continue;
                    }
                    prop_assert!(now >= last + PACE.quiet_period || now >= first + PACE.ceiling);
                    if let Some(at) = pushes.get(path) {
                        prop_assert!(now >= *at + PACE.push_interval);
                    }
                    if step.push {
                        quiet.pushed(path, now);
                        pushes.insert(path.clone(), now);
                    }
                }
            }
        }
        // The remaining paths become due at their deadlines, one after the other, until none is left.
        let mut guard = 0;
        while let Some(deadline) = quiet.next_deadline() {
            now = now.max(deadline);
            let due = quiet.due(now);
            prop_assert!(!due.is_empty(), "a deadline keeps its word");
            for path in due.keys() {
                prop_assert!(open.remove(path).is_some());
            }
            guard += 1;
            prop_assert!(guard < 200, "after {} looks", looks);
        }
        prop_assert!(open.is_empty(), "forgotten: {:?}", open);
        let latest = PACE.delete_grace + PACE.push_interval;
        prop_assert!(now <= start + Duration::from_secs(160) + latest);
    }
}

#[test]
fn f082_a_path_that_waits_for_its_push_interval_alone_takes_part_in_polls() {
    let start = Instant::now();
    let at = |millis| start + Duration::from_millis(millis);
    let mut quiet = Debounce::new(PACE);
    quiet.record("a", Touch::Changed, at(0));
    quiet.pushed("a", at(100));
    assert!(quiet.in_motion(at(150)).contains("a"), "it is in motion");
    assert!(quiet.in_motion(at(250)).is_empty(), "it is quiet");
    assert!(quiet.due(at(250)).is_empty(), "and not pushed again yet");
    // A file that is saved again and again is in motion, however long ago the saves began.
    for millis in (300..=6_000).step_by(100) {
        quiet.record("a", Touch::Changed, at(millis));
    }
    assert!(quiet.in_motion(at(6_050)).contains("a"));
    assert!(quiet.in_motion(at(6_250)).is_empty());
}
