//! The answers of the reference model: the words in which it judges an article.

use super::words::{Address, Article, Words};
use kbsync::reconcile::plan::Kind;

/// The plan's action about an article.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// Any action, as long as both sides end as the answer says.
    Whatever,
    /// No action.
    Quiet,
    /// An action that waits and is shown.
    Waits,
    /// An action of one of these kinds.
    Does(&'static [Kind]),
}

/// The end of one side of an article.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum After {
    /// The side is unchanged.
    Kept,
    /// The side has these words.
    Says(Words),
    /// The side no longer exists.
    Removed,
}

/// One right answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Answer {
    /// The plan's action.
    pub(super) act: Act,
    /// The file afterwards.
    pub(super) file: After,
    /// The article on the service afterwards.
    pub(super) service: After,
}

impl Answer {
    /// Returns the address that the article takes, if it is another than before.
    pub(super) fn takes(&self, article: &Article) -> Option<Address> {
        match self.service {
            After::Says(words) if Some(words.at) != article.address() => Some(words.at),
            After::Says(_) | After::Kept | After::Removed => None,
        }
    }

    /// Returns whether the article's file leaves this address.
    pub(super) fn frees(&self, at: Address) -> bool {
        match self.file {
            After::Says(words) => words.at != at,
            After::Kept => false,
            After::Removed => true,
        }
    }

    /// Returns whether the article leaves this address on the service.
    pub(super) fn leaves(&self, at: Address) -> bool {
        match self.service {
            After::Says(words) => words.at != at,
            After::Kept => false,
            After::Removed => true,
        }
    }
}

pub(super) const KEPT: After = After::Kept;

const fn nothing(act: Act) -> Answer {
    Answer {
        act,
        file: KEPT,
        service: KEPT,
    }
}

pub(super) const QUIET: Answer = nothing(Act::Quiet);
pub(super) const WAITS: Answer = nothing(Act::Waits);
/// Nothing is done; the plan may show it or not.
pub(super) const STILL: Answer = nothing(Act::Whatever);

/// Returns an answer with an action; the service stores the words as it rewrites them.
pub(super) fn does(kinds: &'static [Kind], file: After, service: After) -> Answer {
    Answer {
        act: Act::Does(kinds),
        file,
        service: match service {
            After::Says(words) => After::Says(words.answered()),
            After::Kept | After::Removed => service,
        },
    }
}

/// Returns an answer in which the file gets these words, under any name.
pub(super) fn comes(file: After) -> Answer {
    Answer { file, ..STILL }
}

/// Returns the end of a side, which is [`After::Kept`] if nothing changes.
pub(super) fn changed(before: Words, after: Words) -> After {
    if before == after {
        After::Kept
    } else {
        After::Says(after)
    }
}

/// Returns whether the holder of the address that an article takes waits for another holder, and so on without an end.
pub(super) fn leads_into_a_circle(articles: &[Article], all: &[Vec<Answer>], one: usize) -> bool {
    let mut at = one;
    for _ in articles {
        let mut wanted = all[at]
            .iter()
            .filter_map(|answer| answer.takes(&articles[at]));
        let holder = wanted.find_map(|wanted| {
            let mut others = articles.iter();
            others.position(|other| other.address() == Some(wanted))
        });
        let Some(holder) = holder else {
            return false;
        };
        at = holder;
    }
    true
}
