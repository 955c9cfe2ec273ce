//! New articles whose id never came into their file, and what else of them was lost: the file that is not ready, or the
//! state.

use super::regressions::{PLAIN, holds};
use super::step::{At, Colleague, Command, Step, Writer};

#[test]
fn a_new_article_that_lies_at_anothers_place_with_markers_of_git_was_deleted() {
    holds(
        PLAIN,
        &[
            Step::Service {
                deed: Colleague::Post {
                    at: At(0, 1),
                    token: 3,
                    shown: true,
                },
            },
            Step::Mirror {
                deed: Writer::Write {
                    at: At(0, 1),
                    token: 4,
                    enabled: true,
                },
            },
            Step::Run {
                command: Command::Sync {},
            },
            Step::Mirror {
                deed: Writer::Move {
                    from: At(0, 1),
                    to: At(0, 0),
                },
            },
            Step::Kill { after: 48 },
            Step::Run {
                command: Command::Sync {},
            },
            Step::Mirror {
                deed: Writer::Move {
                    from: At(0, 0),
                    to: At(0, 1),
                },
            },
            Step::Mirror {
                deed: Writer::Mark { at: At(0, 1) },
            },
        ],
    );
}
