//! Places that changed hands: what two articles had.

use super::regressions::{PLAIN, holds};
use super::step::{At, Colleague, Command, Step, Writer};

#[test]
fn a_copy_of_a_file_at_a_place_that_two_articles_had_was_created_only_when_the_other_was_forgotten()
{
    holds(
        PLAIN,
        &[
            Step::Service {
                deed: Colleague::Post {
                    at: At(0, 1),
                    token: 1,
                    shown: true,
                },
            },
            Step::Service {
                deed: Colleague::Post {
                    at: At(1, 3),
                    token: 2,
                    shown: true,
                },
            },
            Step::Run {
                command: Command::Sync {},
            },
            Step::Service {
                deed: Colleague::Delete { at: At(0, 1) },
            },
            Step::Mirror {
                deed: Writer::Swap {
                    one: At(1, 3),
                    other: At(0, 1),
                },
            },
            Step::Run {
                command: Command::Sync {},
            },
            Step::Mirror {
                deed: Writer::Remove { at: At(1, 3) },
            },
            Step::Mirror {
                deed: Writer::Copy {
                    from: At(0, 1),
                    to: At(1, 2),
                },
            },
        ],
    );
}
