//! The states of an article: its base, the writer's change, and its fate on the service.

/// A writer's change of a file that the base knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Here {
    Absent,
    Same,
    Title,
    First,
    Middle,
    /// The same edit as [`There::Agreed`].
    Agreed,
    Away,
    AwayMiddle,
    /// The file has the neighbour's name.
    Neighbour,
    /// The file's `slug:` line has the neighbour's address, or another one.
    ByLine,
    Unready,
    /// A copy with the file's id lies beside the file.
    Copied,
    /// Two files have the id, and none is at its place.
    Twice,
    Disabled,
    /// The file's `id:` line is lost.
    NoId,
    /// A file that the base does not know, with an `id:` line.
    New,
    /// A file that the base does not know, without an `id:` line.
    Fresh,
}

/// The fate of an article on the service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum There {
    Missing,
    Same,
    Title,
    Last,
    Middle,
    Agreed,
    Away,
    Neighbour,
    Gone,
    NotVisible,
    Unknown,
    /// Unpublished, as a probe showed.
    Hidden,
    HiddenTitle,
    /// A known draft was published.
    Published,
}

/// The base of an article.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    No,
    Agreed,
    /// The service trimmed the title.
    Rewritten,
    Draft,
}

const LOCALS: [Here; 15] = [
    Here::Absent,
    Here::Same,
    Here::Title,
    Here::First,
    Here::Middle,
    Here::Agreed,
    Here::Away,
    Here::AwayMiddle,
    Here::Neighbour,
    Here::ByLine,
    Here::Unready,
    Here::Copied,
    Here::Twice,
    Here::Disabled,
    Here::NoId,
];
const REMOTES: [There; 13] = [
    There::Missing,
    There::Same,
    There::Title,
    There::Last,
    There::Middle,
    There::Agreed,
    There::Away,
    There::Neighbour,
    There::Gone,
    There::NotVisible,
    There::Unknown,
    There::Hidden,
    There::HiddenTitle,
];
const NEW_LOCALS: [Here; 4] = [Here::Absent, Here::New, Here::Fresh, Here::Unready];
const NEW_REMOTES: [There; 6] = [
    There::Missing,
    There::Same,
    There::Title,
    There::Gone,
    There::NotVisible,
    There::Unknown,
];
const DRAFT_LOCALS: [Here; 4] = [Here::Absent, Here::Same, Here::Middle, Here::Unready];
const DRAFT_REMOTES: [There; 6] = [
    There::Missing,
    There::Published,
    There::Gone,
    There::NotVisible,
    There::Hidden,
    There::HiddenTitle,
];

/// One state of one article.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct State {
    pub(super) base: Known,
    pub(super) here: Here,
    pub(super) there: There,
}

/// Every state.
pub(super) fn states() -> Vec<State> {
    let all = |bases: &[Known], locals: &[Here], remotes: &[There]| {
        let mut states = Vec::new();
        for &base in bases {
            for &here in locals {
                states.extend(remotes.iter().map(|&there| State { base, here, there }));
            }
        }
        states
    };
    let mut states = all(&[Known::No], &NEW_LOCALS, &NEW_REMOTES);
    states.extend(all(&[Known::Agreed, Known::Rewritten], &LOCALS, &REMOTES));
    states.extend(all(&[Known::Draft], &DRAFT_LOCALS, &DRAFT_REMOTES));
    states
}
