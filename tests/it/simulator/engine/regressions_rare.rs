//! What the simulator found once in ten thousand runs.

use super::regressions::{PLAIN, holds};
use super::step::{At, Call, Colleague, Command, Part, Save, Setup, Step, What, Writer};

#[test]
fn a_second_save_within_the_grain_of_a_touched_file_was_lost() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 2, enabled: true } },
            Step::Fault {
                call: Call::Look,
                nth: 0,
                what: What::ByWriter {
                    deed: Writer::Edit {
                        at: At(2, 0),
                        part: Part::Title,
                        token: 11,
                        save: Save::InPlace,
                    },
                },
            },
            Step::Fault { call: Call::Publish, nth: 0, what: What::ByColleague { deed: Colleague::Found { folder: 0 } } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Copy { from: At(2, 0), to: At(0, 1) } },
            Step::Service { deed: Colleague::Change { at: At(2, 0), part: Part::First, token: 18 } },
            Step::Fault {
                call: Call::List,
                nth: 0,
                what: What::ByWriter {
                    deed: Writer::Edit {
                        at: At(2, 0),
                        part: Part::Owner,
                        token: 24,
                        save: Save::RenameOver,
                    },
                },
            },
            Step::Fault {
                call: Call::Publish,
                nth: 0,
                what: What::ByWriter {
                    deed: Writer::Edit {
                        at: At(2, 0),
                        part: Part::Title,
                        token: 23,
                        save: Save::InPlace,
                    },
                },
            },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_second_save_within_the_grain_of_a_touched_file_was_replaced() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Wait { seconds: 20 },
            Step::Service { deed: Colleague::Show { at: At(0, 3), on: false } },
            Step::Fault {
                call: Call::Stage,
                nth: 0,
                what: What::ByWriter {
                    deed: Writer::Edit {
                        at: At(0, 3),
                        part: Part::First,
                        token: 12,
                        save: Save::InPlace,
                    },
                },
            },
            Step::Fault {
                call: Call::List,
                nth: 0,
                what: What::ByWriter {
                    deed: Writer::Edit {
                        at: At(0, 3),
                        part: Part::Owner,
                        token: 11,
                        save: Save::InPlace,
                    },
                },
            },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_renamed_folder_where_a_removed_one_was_kept_its_own_category() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 2), token: 2, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 4), token: 3, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Reslug { from: 1, to: 3 } },
            Step::Mirror { deed: Writer::RemoveFolder { folder: 1 } },
            Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 1 } },
            Step::Wait { seconds: 90000 },
        ],
    );
}

#[test]
fn a_folder_that_could_not_be_read_got_no_second_one_after_the_loss_of_the_state() {
    holds(
        Setup {
            lists_disabled: true,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 2), token: 5, enabled: false } },
            Step::Run { command: Command::Sync {} },
            Step::LoseState {},
            Step::Fault { call: Call::Listing, nth: 1, what: What::Broken {} },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Reslug { from: 1, to: 2 } },
        ],
    );
}

#[test]
fn a_dry_run_merges_a_file_without_an_id_in_a_renamed_folder() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 3), token: 1, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 2, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 3, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Move { from: At(0, 3), to: At(0, 2) } },
            Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 2 } },
            Step::Service { deed: Colleague::Change { at: At(0, 2), part: Part::Second, token: 8 } },
            Step::Run { command: Command::DryThenSync {} },
        ],
    );
}

#[test]
fn a_moved_and_edited_file_whose_id_never_came_is_no_second_article() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 13, enabled: true } },
            Step::Fault { call: Call::Stage, nth: 1, what: What::Denied {} },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Readdress { from: At(0, 0), to: At(0, 3) } },
            Step::Mirror { deed: Writer::Move { from: At(0, 0), to: At(0, 1) } },
            Step::Mirror { deed: Writer::Edit { at: At(0, 1), part: Part::More, token: 24, save: Save::RenameOver } },
        ],
    );
}

#[test]
fn an_article_whose_file_was_moved_and_edited_before_its_id_came_is_not_deleted() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 3, enabled: false } },
            Step::Service { deed: Colleague::Post { at: At(0, 2), token: 4, shown: true } },
            Step::Fault { call: Call::Stage, nth: 0, what: What::ByWriter { deed: Writer::Move { from: At(0, 1), to: At(0, 2) } } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(0, 2), part: Part::More, token: 11, save: Save::RenameOver } },
        ],
    );
}

#[test]
fn a_checkout_beside_a_renamed_folder_makes_the_moved_file_a_copy() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 2, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Stash {} },
            Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::Keywords, token: 14 } },
            Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::First, token: 15 } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::Keywords, token: 18 } },
            Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 2 } },
            Step::Mirror { deed: Writer::Unname { folder: 2 } },
            Step::Mirror { deed: Writer::Checkout {} },
        ],
    );
}

#[test]
fn a_checkout_beside_a_renamed_file_makes_that_one_a_copy() {
    holds(
        Setup {
            no_window: true,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 6), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Readdress { from: At(0, 6), to: At(0, 4) } },
            Step::Mirror { deed: Writer::Stash {} },
            Step::Mirror { deed: Writer::Edit { at: At(0, 6), part: Part::First, token: 6, save: Save::RenameOver } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Checkout {} },
            Step::Mirror { deed: Writer::Swap { one: At(0, 6), other: At(0, 4) } },
            Step::Fault { call: Call::Read, nth: 0, what: What::Html {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_file_of_a_lost_post_is_not_taken_for_words_of_the_article_that_it_was_moved_over() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 6, enabled: true } },
            Step::Service { deed: Colleague::Change { at: At(0, 1), part: Part::First, token: 8 } },
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 9, enabled: false } },
            Step::Kill { after: 63 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Move { from: At(0, 0), to: At(0, 1) } },
        ],
    );
}

#[test]
fn a_copied_file_of_a_hidden_article_is_asked_for_in_its_turn() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(2, 2), token: 2, enabled: false } },
            Step::Service { deed: Colleague::Post { at: At(1, 0), token: 3, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 4, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Show { at: At(1, 0), on: false } },
            Step::Mirror { deed: Writer::Enable { at: At(2, 0), on: false } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Copy { from: At(1, 0), to: At(1, 1) } },
            Step::Run { command: Command::Sync {} },
            Step::Wait { seconds: 90000 },
            Step::Mirror { deed: Writer::Copy { from: At(1, 1), to: At(0, 2) } },
            Step::Service { deed: Colleague::Change { at: At(2, 0), part: Part::First, token: 26 } },
        ],
    );
}

#[test]
fn an_old_copy_of_an_article_that_was_saved_once_more_before_it_went_is_known_for_one() {
    holds(
        Setup {
            no_window: true,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 1), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::RemoveAll {} },
            Step::Mirror { deed: Writer::RenameFolder { from: 1, to: 0 } },
            Step::Fault { call: Call::ReadCategory, nth: 0, what: What::ByColleague { deed: Colleague::Touch { at: At(1, 1) } } },
            Step::Run { command: Command::Sync {} },
            Step::Run { command: Command::Sync {} },
            Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_file_that_changed_places_with_its_copy_is_the_copy() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 2, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Copy { from: At(0, 0), to: At(2, 6) } },
            Step::Kill { after: 38 },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::First, token: 8 } },
            Step::Kill { after: 37 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Swap { one: At(2, 6), other: At(0, 0) } },
        ],
    );
}

#[test]
fn words_that_only_a_file_of_a_run_that_was_killed_has_outlive_the_power() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(0, 0), part: Part::First, token: 2, save: Save::RenameOver } },
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 4, shown: true } },
            Step::Kill { after: 23 },
            Step::Fault { call: Call::List, nth: 0, what: What::Skip { entry: 1 } },
            Step::Fault { call: Call::Read, nth: 0, what: What::Unauthorized {} },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(0, 1), part: Part::First, token: 8 } },
            Step::PowerLoss { after: 11, keep: 50 },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_listing_without_bodies_shows_that_an_article_is_not_what_was_read() {
    holds(
        Setup {
            bodies: false,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 7, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(0, 2), part: Part::First, token: 18, save: Save::RenameOver } },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 19, enabled: false } },
            Step::Fault {
                call: Call::Create,
                nth: 0,
                what: What::ByColleague {
                    deed: Colleague::Change {
                        at: At(0, 2),
                        part: Part::More,
                        token: 21,
                    },
                },
            },
            Step::Fault { call: Call::Create, nth: 0, what: What::LostAfter {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn an_article_that_was_moved_between_two_tries_of_its_post_is_there_twice() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 8, enabled: true } },
            Step::Fault { call: Call::Create, nth: 1, what: What::ByColleague { deed: Colleague::Readdress { from: At(0, 2), to: At(0, 1) } } },
            Step::Fault { call: Call::Create, nth: 0, what: What::LostAfter {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_tag_from_before_two_kills_does_not_vouch_for_what_they_left() {
    holds(
        Setup {
            etag: true,
            ..PLAIN
        },
        &[
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 6, shown: true } },
            Step::Service { deed: Colleague::Change { at: At(0, 1), part: Part::First, token: 7 } },
            Step::Kill { after: 37 },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Revert { at: At(0, 1) } },
            Step::Kill { after: 30 },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Delete { at: At(0, 1) } },
            Step::Mirror { deed: Writer::Write { at: At(0, 4), token: 11, enabled: true } },
        ],
    );
}

#[test]
fn a_file_in_a_new_folder_of_the_old_name_is_not_the_renamed_folders() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 12, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 16, enabled: true } },
            Step::Fault { call: Call::Publish, nth: 0, what: What::ByWriter { deed: Writer::RenameFolder { from: 0, to: 2 } } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 25, enabled: true } },
        ],
    );
}

#[test]
fn a_key_of_the_writers_own_saved_within_the_grain_was_not_kept() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 2, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(0, 3), part: Part::Owner, token: 10, save: Save::RenameOver } },
            Step::Fault {
                call: Call::List,
                nth: 0,
                what: What::ByWriter {
                    deed: Writer::Edit {
                        at: At(0, 3),
                        part: Part::Owner,
                        token: 12,
                        save: Save::InPlace,
                    },
                },
            },
            Step::Run { command: Command::Sync {} },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Remove { at: At(0, 3) } },
        ],
    );
}

#[test]
fn a_put_that_a_stale_listing_does_not_show_is_known_to_have_replaced_something() {
    holds(
        Setup {
            max_deletes: 3,
            thrifty: true,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(1, 2), token: 2, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(2, 2), token: 3, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 4, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 5, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 9, enabled: true } },
            Step::Service { deed: Colleague::Change { at: At(0, 3), part: Part::First, token: 10 } },
            Step::Mirror { deed: Writer::Remove { at: At(0, 0) } },
            Step::Mirror { deed: Writer::Edit { at: At(1, 2), part: Part::First, token: 12, save: Save::RenameOver } },
            Step::Kill { after: 62 },
            Step::Run { command: Command::Sync {} },
            Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
            Step::Run { command: Command::Sync {} },
            Step::Run { command: Command::Sync {} },
            Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn what_a_colleague_took_back_is_judged_by_the_cycle_that_deals_with_it() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 2, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 4, shown: true } },
            Step::Mirror { deed: Writer::Move { from: At(0, 0), to: At(1, 1) } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Hide { at: At(1, 1) } },
            Step::Service { deed: Colleague::Change { at: At(0, 1), part: Part::First, token: 8 } },
            Step::PowerLoss { after: 33, keep: 0 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Hide { at: At(0, 1) } },
            Step::Service { deed: Colleague::Revert { at: At(0, 1) } },
            Step::Run { command: Command::One { at: At(1, 0) } },
            Step::Service { deed: Colleague::Reslug { from: 0, to: 3 } },
            Step::Service { deed: Colleague::Revert { at: At(3, 1) } },
        ],
    );
}

/// One is hidden while three others are deleted, as many as one cycle asks for: its turn comes in the next.
#[test]
fn seed_33102210642() {
    let setup = Setup {
        max_deletes: 3,
        ..PLAIN
    };
    holds(
        setup,
        &[
            posted(At(1, 3), 2),
            posted(At(0, 0), 3),
            posted(At(0, 2), 4),
            posted(At(2, 1), 5),
            Step::Run { command: Command::Sync {} },
            deleted(At(2, 1)),
            deleted(At(1, 3)),
            deleted(At(0, 2)),
            Step::Service { deed: Colleague::Show { at: At(0, 0), on: false } },
        ],
    );
}

fn posted(at: At, token: u16) -> Step {
    let deed = Colleague::Post {
        at,
        token,
        shown: true,
    };
    Step::Service { deed }
}

fn deleted(at: At) -> Step {
    let deed = Colleague::Delete { at };
    Step::Service { deed }
}

/// A folder could not be listed at first, and shows a moment later that a file is gone: it is deleted in a later
/// cycle, in which nothing is in doubt.
#[test]
fn seed_33102227457() {
    let sync = Step::Run {
        command: Command::Sync {},
    };
    holds(
        PLAIN,
        &[
            posted(At(2, 3), 5),
            sync,
            sync,
            Step::Mirror { deed: Writer::Hide { at: At(2, 3) } },
            Step::Fault { call: Call::Listing, nth: 0, what: What::Denied {} },
            sync,
        ],
    );
}

/// A state that was set back, and a replica that still shows what it knows: what the writer removed since is deleted.
#[test]
fn seed_3085371350() {
    let sync = Step::Run {
        command: Command::Sync {},
    };
    let mirror = |deed| Step::Mirror { deed };
    holds(
        PLAIN,
        &[
            mirror(Writer::Write { at: At(0, 4), token: 4, enabled: true }),
            sync,
            Step::SaveState {},
            mirror(Writer::Edit { at: At(0, 4), part: Part::First, token: 10, save: Save::RenameOver }),
            sync,
            mirror(Writer::RemoveAll {}),
            Step::RestoreState {},
            Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
            sync,
        ],
    );
}
