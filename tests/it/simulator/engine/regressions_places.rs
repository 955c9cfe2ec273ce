//! Places that changed hands: what two articles had, and what a new file took while another one's was not to be read.

use super::regressions::{PLAIN, holds};
use super::step::{At, Call, Colleague, Command, Part, Probing, Save, Setup, Step, What, Writer};

const SYNC: Step = Step::Run {
    command: Command::Sync {},
};

#[test]
fn a_copy_of_a_file_at_a_place_that_two_articles_had_was_created_only_when_the_other_was_forgotten()
{
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(1, 3), token: 2, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Delete { at: At(0, 1) } },
            Step::Mirror { deed: Writer::Swap { one: At(1, 3), other: At(0, 1) } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Remove { at: At(1, 3) } },
            Step::Mirror { deed: Writer::Copy { from: At(0, 1), to: At(1, 2) } },
        ],
    );
}

#[test]
fn a_new_article_that_changed_places_with_an_emptied_file_was_there_twice() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 1, enabled: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 5), token: 2, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 4, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Empty { at: At(0, 5) } },
            Step::Service { deed: Colleague::Delete { at: At(0, 0) } },
            Step::Kill { after: 19 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Swap { one: At(0, 5), other: At(0, 0) } },
            Step::Mirror { deed: Writer::Edit { at: At(0, 5), part: Part::Title, token: 22, save: Save::RenameOver } },
        ],
    );
}

#[test]
fn a_new_article_whose_folder_was_renamed_meanwhile_was_there_twice_when_its_place_was_taken() {
    let unprobed = Setup {
        probing: Probing::Off,
        ..PLAIN
    };
    holds(
        unprobed,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 3, enabled: false } },
            Step::Fault { call: Call::Stage, nth: 0, what: What::ByWriter { deed: Writer::RenameFolder { from: 0, to: 2 } } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(2, 0), part: Part::Introtext, token: 5, save: Save::RenameOver } },
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 9, enabled: true } },
        ],
    );
}

/// Two folders name one category, and an article of it that is listed has no file in either.
#[test]
fn seed_312286934340() {
    let mirror = |deed| Step::Mirror { deed };
    let at = At(0, 1);
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at, token: 1, shown: true } },
            SYNC,
            Step::Service { deed: Colleague::Change { at, part: Part::First, token: 4 } },
            mirror(Writer::Move { from: at, to: At(0, 0) }),
            mirror(Writer::RenameFolder { from: 0, to: 2 }),
            mirror(Writer::Empty { at: At(2, 0) }),
            Step::Fault { call: Call::ReadFile, nth: 1, what: What::Denied {} },
            SYNC,
            mirror(Writer::RemoveAll {}),
            mirror(Writer::RenameFolder { from: 0, to: 1 }),
        ],
    );
}

/// A folder has another category's name, and the writer takes its `_category.yaml` away: its articles move there, while a
/// colleague deletes one.
#[test]
fn seed_312287290672() {
    let mirror = |deed| Step::Mirror { deed };
    let post = |at, token| Step::Service {
        deed: Colleague::Post {
            at,
            token,
            shown: true,
        },
    };
    holds(
        PLAIN,
        &[
            mirror(Writer::Write { at: At(2, 3), token: 2, enabled: true }),
            post(At(1, 6), 3),
            SYNC,
            mirror(Writer::RemoveFolder { folder: 1 }),
            post(At(2, 6), 15),
            mirror(Writer::RenameFolder { from: 2, to: 1 }),
            SYNC,
            mirror(Writer::Unname { folder: 1 }),
            Step::Service { deed: Colleague::Delete { at: At(2, 6) } },
        ],
    );
}
