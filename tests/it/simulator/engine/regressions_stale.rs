//! Ids, addresses and names that were right a moment ago: what an earlier run left half done, and what is known of an
//! article that could not be dealt with.

use super::regressions::{PLAIN, holds};
use super::run::{Bench, Ground, Source};
use super::step::{At, Call, Colleague, Command, Part, Probing, Save, Setup, Step, What, Writer};

const SYNC: Step = Step::Run {
    command: Command::Sync {},
};

/// A copy of an article becomes one of its own, and its id does not come into its file.
fn a_copy_without_its_id(steps: &[Step]) -> String {
    let mut all = vec![
        Step::Service { deed: Colleague::Post { at: At(0, 1), token: 3, shown: true } },
        SYNC,
        Step::Service { deed: Colleague::Change { at: At(0, 1), part: Part::First, token: 11 } },
        Step::Mirror { deed: Writer::Copy { from: At(0, 1), to: At(0, 0) } },
        Step::Mirror { deed: Writer::Edit { at: At(0, 0), part: Part::First, token: 13, save: Save::RenameOver } },
        Step::Kill { after: 50 },
        SYNC,
        Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::Second, token: 16 } },
    ];
    all.extend(steps);
    let mut bench = Bench::new();
    bench.talk = true;
    let outcome = bench.run(PLAIN, Source::Steps(&all), Ground::Memory);
    let log = outcome.log.join("\n");
    assert_eq!(outcome.violation, None, "what happened:\n{log}");
    outcome.end.join("\n")
}

/// What the service has of the original as long as nobody has said which of the two the file is.
const ORIGINAL: &str = "b true false \"Posted b\" \"<p>first zq011z</p>";

const OVER_THE_ORIGINAL: Step = Step::Mirror {
    deed: Writer::Move {
        from: At(0, 0),
        to: At(0, 1),
    },
};

const WITHOUT_THE_ORIGINAL: Step = Step::Mirror {
    deed: Writer::Remove { at: At(0, 1) },
};

const ELSEWHERE: Step = Step::Mirror {
    deed: Writer::Move {
        from: At(0, 0),
        to: At(0, 2),
    },
};

const fn edited(at: At) -> Step {
    Step::Mirror { deed: Writer::Edit { at, part: Part::Third, token: 17, save: Save::RenameOver } }
}

#[test]
fn a_copy_went_over_its_original_before_its_id_was_in_it() {
    let end = a_copy_without_its_id(&[OVER_THE_ORIGINAL]);
    assert!(end.contains(ORIGINAL), "{end}");
}

#[test]
fn a_copy_went_over_its_original_before_its_id_was_in_it_and_was_edited() {
    let end = a_copy_without_its_id(&[OVER_THE_ORIGINAL, edited(At(0, 1))]);
    assert!(end.contains(ORIGINAL), "{end}");
}

#[test]
fn a_copy_stayed_and_its_original_went_before_its_id_was_in_it() {
    let end = a_copy_without_its_id(&[WITHOUT_THE_ORIGINAL]);
    // It is the article that was made of it, with all that was written into that.
    let file = end.split_once("alpha/a.html").map_or("", |(_, file)| file);
    assert!(
        file.contains("zq016z") && !end.contains("alpha/a~"),
        "{end}"
    );
}

#[test]
fn a_copy_stayed_and_was_edited_and_its_original_went_before_its_id_was_in_it() {
    let end = a_copy_without_its_id(&[WITHOUT_THE_ORIGINAL, edited(At(0, 0))]);
    assert!(end.contains(ORIGINAL), "{end}");
}

#[test]
fn a_copy_was_moved_and_its_original_went_before_its_id_was_in_it() {
    let end = a_copy_without_its_id(&[ELSEWHERE, WITHOUT_THE_ORIGINAL]);
    assert!(end.contains(ORIGINAL), "{end}");
}

#[test]
fn a_copy_was_moved_and_edited_and_its_original_went_before_its_id_was_in_it() {
    let end = a_copy_without_its_id(&[ELSEWHERE, edited(At(0, 2)), WITHOUT_THE_ORIGINAL]);
    assert!(end.contains(ORIGINAL), "{end}");
}

#[test]
fn a_copy_lost_its_id_with_the_power_and_a_colleague_deleted_it() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 2, enabled: true } },
            SYNC,
            Step::Mirror { deed: Writer::Enable { at: At(0, 1), on: false } },
            Step::Mirror { deed: Writer::Copy { from: At(1, 0), to: At(1, 2) } },
            Step::Mirror { deed: Writer::Enable { at: At(1, 0), on: true } },
            Step::Service { deed: Colleague::Change { at: At(1, 0), part: Part::First, token: 16 } },
            Step::Mirror { deed: Writer::Slug { at: At(1, 2), name: 5 } },
            Step::Mirror { deed: Writer::Edit { at: At(1, 2), part: Part::First, token: 18, save: Save::RenameOver } },
            Step::PowerLoss { after: 65, keep: 0 },
            SYNC,
            Step::Service { deed: Colleague::Delete { at: At(1, 5) } },
        ],
    );
}

/// A new file's address turns out to be that of a hidden article whose file is not ready.
#[test]
fn the_address_of_a_hidden_article_is_known_though_its_file_is_not_ready() {
    holds(
        Setup {
            thrifty: true,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 2), token: 4, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(2, 1), token: 5, shown: true } },
            SYNC,
            Step::Mirror { deed: Writer::Enable { at: At(2, 1), on: false } },
            SYNC,
            Step::Mirror { deed: Writer::Mark { at: At(2, 1) } },
            Step::Service { deed: Colleague::Readdress { from: At(2, 1), to: At(1, 1) } },
            Step::Mirror { deed: Writer::Copy { from: At(1, 2), to: At(1, 1) } },
        ],
    );
}

/// The same, and the file was sent in vain a day before.
#[test]
fn the_address_of_a_hidden_article_was_refused_before_it_was_known() {
    holds(
        Setup {
            thrifty: true,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 2), token: 3, shown: true } },
            SYNC,
            Step::Mirror { deed: Writer::Enable { at: At(0, 2), on: false } },
            SYNC,
            Step::Mirror { deed: Writer::Empty { at: At(0, 2) } },
            Step::Service { deed: Colleague::Readdress { from: At(0, 2), to: At(0, 0) } },
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 21, enabled: true } },
            SYNC,
        ],
    );
}

/// A folder gets the new slug of its category, and that goes wrong; for a moment it cannot be listed, and then a
/// colleague takes the slug back.
fn a_folder_went_half_way(wrong: Step, closed: bool, renamed: bool) {
    let day = Step::Wait { seconds: 90_000 };
    let mut steps = vec![
        Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
        SYNC,
        Step::Service { deed: Colleague::Reslug { from: 0, to: 3 } },
    ];
    if renamed {
        steps.push(Step::Service {
            deed: Colleague::Rename {
                folder: 3,
                token: 2,
            },
        });
    }
    steps.extend([day, wrong, SYNC]);
    if closed {
        let closed = Step::Fault {
            call: Call::Listing,
            nth: 1,
            what: What::Broken {},
        };
        steps.extend([closed, SYNC]);
    }
    let taken_back = Step::Service {
        deed: Colleague::Reslug { from: 3, to: 0 },
    };
    steps.extend([taken_back, day, SYNC]);
    let mut bench = Bench::new();
    bench.talk = true;
    let outcome = bench.run(PLAIN, Source::Steps(&steps), Ground::Memory);
    let log = outcome.log.join("\n");
    assert_eq!(outcome.violation, None, "what happened:\n{log}");
    // The colleague's word is the last one.
    let mut end = outcome.end.iter();
    assert!(end.any(|line| line.contains("slug: \"alpha\"")), "{log}");
    let mut end = outcome.end.iter();
    assert!(end.any(|line| line.starts_with("alpha/b.html")), "{log}");
}

#[test]
fn a_folder_got_its_new_name_and_could_not_be_read_for_a_moment() {
    for number in 0..8 {
        let (closed, renamed) = (number & 1 == 1, number & 2 == 2);
        let full = Step::Fault {
            call: Call::SyncFolder,
            nth: u8::from(number & 4 == 4),
            what: What::Full {},
        };
        a_folder_went_half_way(full, closed, renamed);
    }
    for after in 0..60 {
        for closed in [false, true] {
            for renamed in [false, true] {
                a_folder_went_half_way(Step::Kill { after }, closed, renamed);
            }
        }
    }
}

#[test]
fn a_folder_lost_its_words_while_its_only_file_was_in_motion() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 2), token: 3, shown: true } },
            SYNC,
            Step::Service { deed: Colleague::Delete { at: At(0, 2) } },
            Step::Mirror { deed: Writer::Unname { folder: 0 } },
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 10, shown: true } },
            Step::Run { command: Command::InMotion { at: At(0, 2) } },
        ],
    );
}

/// A new article is hidden, and its answer is lost; then its file cannot be seen for a moment, and a colleague gives it
/// another address. Only what was sent can still tell that it is there.
fn posted_unseen(after: u16, moment: &[Step]) {
    let day = Step::Wait { seconds: 90_000 };
    let mut steps = vec![
        Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
        SYNC,
        Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 2, enabled: false } },
        Step::Kill { after },
        SYNC,
    ];
    steps.extend(moment);
    let readdressed = Step::Service {
        deed: Colleague::Readdress {
            from: At(0, 0),
            to: At(0, 3),
        },
    };
    steps.extend([SYNC, readdressed, day, SYNC, day, SYNC]);
    let mut bench = Bench::new();
    bench.talk = true;
    let outcome = bench.run(PLAIN, Source::Steps(&steps), Ground::Memory);
    let log = outcome.log.join("\n");
    assert_eq!(outcome.violation, None, "what happened:\n{log}");
    let there = outcome.end.iter().filter(|line| !line.contains(".html"));
    let born = there.filter(|line| line.contains("zq002z"));
    assert_eq!(born.count(), 1, "killed after {after}:\n{log}");
}

/// What a writer, or the disk, does to a file so that it cannot be seen for a moment.
fn unseen_for_a_moment(at: At) -> [Vec<Step>; 5] {
    let closed = Step::Fault {
        call: Call::Listing,
        nth: 1,
        what: What::Broken {},
    };
    let moving = Step::Run {
        command: Command::InMotion { at },
    };
    let marked = Step::Mirror {
        deed: Writer::Mark { at },
    };
    let mended = Step::Mirror {
        deed: Writer::Mend { at },
    };
    let there = At(0, 2);
    let moved = Step::Mirror {
        deed: Writer::Move {
            from: at,
            to: there,
        },
    };
    let marked_there = Step::Mirror {
        deed: Writer::Mark { at: there },
    };
    let mended_there = Step::Mirror {
        deed: Writer::Mend { at: there },
    };
    [
        vec![],
        vec![closed, SYNC],
        vec![moving],
        vec![marked, SYNC, mended],
        vec![moved, marked_there, SYNC, mended_there],
    ]
}

#[test]
fn a_new_file_could_not_be_seen_for_a_moment_after_a_lost_answer() {
    for moment in unseen_for_a_moment(At(0, 0)) {
        for after in 0..40 {
            posted_unseen(after, &moment);
        }
    }
}

#[test]
fn a_file_could_not_be_seen_for_a_moment_after_it_was_written() {
    for moment in unseen_for_a_moment(At(0, 1)) {
        for after in 0..40 {
            let mut steps = vec![
                Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
                SYNC,
                Step::Service { deed: Colleague::Change { at: At(0, 1), part: Part::First, token: 2 } },
                Step::Kill { after },
                SYNC,
            ];
            steps.extend(&moment);
            let taken_back = Step::Service {
                deed: Colleague::Revert { at: At(0, 1) },
            };
            steps.extend([taken_back, SYNC]);
            let mut bench = Bench::new();
            bench.talk = true;
            let outcome = bench.run(PLAIN, Source::Steps(&steps), Ground::Memory);
            let log = outcome.log.join("\n");
            assert_eq!(outcome.violation, None, "what happened:\n{log}");
            // The colleague's word is the last one.
            let mut end = outcome.end.iter();
            assert!(end.all(|line| !line.contains("zq002z")), "{log}");
        }
    }
}

#[test]
fn a_deleted_article_was_shown_again_after_a_look_that_was_cut_off() {
    let fault = |call, what| Step::Fault { call, nth: 0, what };
    let down = What::Down { requests: 60 };
    for after in 0..30 {
        let post = |at, token| Step::Service {
            deed: Colleague::Post {
                at,
                token,
                shown: true,
            },
        };
        let removed = Step::Mirror {
            deed: Writer::Remove { at: At(0, 1) },
        };
        holds(
            PLAIN,
            &[
                post(At(0, 1), 1),
                post(At(0, 2), 2),
                SYNC,
                removed,
                Step::Kill { after },
                SYNC,
                Step::Wait { seconds: 90_000 },
                fault(Call::ReadCategory, down),
                SYNC,
                SYNC,
                fault(Call::List, What::Stale {}),
                SYNC,
            ],
        );
    }
}

/// A colleague publishes or hides an article between the look at it and the PUT.
fn shown_in_the_instant_of_a_put(on: bool) {
    let fault = Step::Fault {
        call: Call::Stage,
        nth: 0,
        what: What::ByColleague {
            deed: Colleague::Show { at: At(0, 0), on },
        },
    };
    let post = Step::Service {
        deed: Colleague::Post {
            at: At(0, 2),
            token: 2,
            shown: true,
        },
    };
    let write = Step::Mirror {
        deed: Writer::Write {
            at: At(0, 0),
            token: 22,
            enabled: !on,
        },
    };
    let edit = Step::Mirror {
        deed: Writer::Edit {
            at: At(0, 0),
            part: Part::First,
            token: 25,
            save: Save::RenameOver,
        },
    };
    let change = Step::Service {
        deed: Colleague::Change {
            at: At(0, 2),
            part: Part::First,
            token: 26,
        },
    };
    let steps = [post, write, SYNC, edit, change, fault, SYNC, SYNC];
    let mut bench = Bench::new();
    bench.talk = true;
    let outcome = bench.run(PLAIN, Source::Steps(&steps), Ground::Memory);
    let log = outcome.log.join("\n");
    assert_eq!(outcome.violation, None, "what happened:\n{log}");
    let mut end = outcome.end.iter();
    let file = end.find(|line| line.starts_with("alpha/a.html"));
    let hidden = file.is_some_and(|file| file.contains("enabled: false"));
    assert_eq!(hidden, !on, "{log}");
}

#[test]
fn an_article_was_published_or_hidden_in_the_instant_of_a_put() {
    shown_in_the_instant_of_a_put(true);
    shown_in_the_instant_of_a_put(false);
}

/// A run is killed over a DELETE. A read, or a listing by which nothing may be deleted, shows the next one an old copy,
/// and a listing a later one: that kbsync deleted the article is known all the same.
#[test]
fn an_old_copy_is_shown_of_an_article_over_whose_deletion_a_run_was_killed() {
    let post = Step::Service {
        deed: Colleague::Post {
            at: At(0, 1),
            token: 1,
            shown: true,
        },
    };
    let write = |name: u8, token: u16| Step::Mirror {
        deed: Writer::Write {
            at: At(0, name),
            token,
            enabled: true,
        },
    };
    let removed = Step::Mirror {
        deed: Writer::RemoveAll {},
    };
    let stale = |call: Call| Step::Fault {
        call,
        nth: 0,
        what: What::Stale {},
    };
    let lost = Step::Fault {
        call: Call::Delete,
        nth: 0,
        what: What::LostAfter {},
    };
    for after in 15..40 {
        for (first, shows) in [
            (vec![post], Call::Read),
            (vec![write(1, 1), write(2, 2)], Call::List),
        ] {
            let mut steps = first;
            steps.extend([SYNC, removed, Step::Kill { after }, lost, SYNC]);
            steps.extend([stale(shows), SYNC, SYNC, stale(Call::List), SYNC]);
            holds(PLAIN, &steps);
        }
    }
}

/// A listing that was an old copy showed the article as it was between two PUTs of the same; another one, after it was
/// deleted, as it was after the second: known for a copy, too.
#[test]
fn seed_21799179577313() {
    let at = At(0, 1);
    let mirror = |deed| Step::Mirror { deed };
    let fault = |call, what| Step::Fault { call, nth: 0, what };
    holds(
        PLAIN,
        &[
            mirror(Writer::Write { at, token: 1, enabled: true }),
            SYNC,
            mirror(Writer::Edit { at, part: Part::First, token: 2, save: Save::RenameOver }),
            fault(Call::Update, What::LostAfter {}),
            fault(Call::Read, What::Stale {}),
            SYNC,
            mirror(Writer::RemoveFolder { folder: 0 }),
            fault(Call::List, What::Stale {}),
            SYNC,
            fault(Call::List, What::Stale {}),
            SYNC,
        ],
    );
}

/// A fault at the first call of its kind.
fn fault(call: Call, what: What) -> Step {
    Step::Fault { call, nth: 0, what }
}

/// The listing shows a colleague's edit without its words, and the answer that has the words is an old copy from before
/// our own last write: the edit is read in the next cycle, though the listing is the same by then.
#[test]
fn seed_594611373743() {
    let setup = Setup {
        bodies: false,
        etag: true,
        ..PLAIN
    };
    let at = At(1, 2);
    let part = Part::First;
    holds(
        setup,
        &[
            Step::Service { deed: Colleague::Post { at, token: 3, shown: true } },
            SYNC,
            Step::Mirror { deed: Writer::Edit { at, part, token: 4, save: Save::RenameOver } },
            SYNC,
            Step::Service { deed: Colleague::Change { at, part, token: 7 } },
            fault(Call::Read, What::Stale {}),
            SYNC,
            SYNC,
            Step::Service { deed: Colleague::Revert { at } },
        ],
    );
}

/// The same where our own last write moved the article.
#[test]
fn seed_594611265388() {
    let setup = Setup {
        bodies: false,
        etag: true,
        ..PLAIN
    };
    let (one, other) = (At(0, 0), At(1, 0));
    let post = |at, token| Step::Service {
        deed: Colleague::Post {
            at,
            token,
            shown: true,
        },
    };
    holds(
        setup,
        &[
            post(other, 1),
            post(one, 2),
            SYNC,
            Step::Mirror { deed: Writer::Swap { one, other } },
            SYNC,
            Step::Service { deed: Colleague::Change { at: other, part: Part::First, token: 18 } },
            fault(Call::Read, What::Stale {}),
            SYNC,
        ],
    );
}

/// A PUT got no answer, and a colleague's edit came after it. What is shown then is an old copy of what the PUT
/// replaced, as if it had not arrived: it is read once more before the PUT is repeated.
fn a_put_is_repeated(hides: bool, shows: Call, setup: Setup) {
    let at = At(0, 0);
    let mut steps = vec![
        Step::Service { deed: Colleague::Post { at, token: 1, shown: true } },
        SYNC,
        Step::Mirror { deed: Writer::Edit { at, part: Part::Title, token: 10, save: Save::RenameOver } },
    ];
    if hides {
        steps.push(Step::Mirror {
            deed: Writer::Enable { at, on: false },
        });
    }
    steps.extend([
        fault(Call::Update, What::LostAfter {}),
        fault(Call::Read, What::Html {}),
        SYNC,
        Step::Service { deed: Colleague::Change { at, part: Part::Title, token: 19 } },
        fault(shows, What::Stale {}),
        SYNC,
    ]);
    holds(setup, &steps);
}

/// With and without probes.
fn a_put_is_repeated_anywhere(hides: bool, shows: Call) {
    for probing in [Probing::Off, Probing::Forbidden, Probing::Allowed] {
        let setup = Setup { probing, ..PLAIN };
        a_put_is_repeated(hides, shows, setup);
    }
}

#[test]
fn seed_594611197757() {
    a_put_is_repeated_anywhere(true, Call::Read);
}

#[test]
fn an_old_listing_shows_an_article_as_if_a_put_had_not_arrived() {
    a_put_is_repeated_anywhere(false, Call::List);
}

#[test]
fn an_old_listing_shows_an_article_that_a_put_had_hidden() {
    a_put_is_repeated_anywhere(true, Call::List);
}
