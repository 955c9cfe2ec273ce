//! What the reference model may answer: the words in which it judges an article.

use super::words::{Address, Article, Words};
use kbsync::reconcile::plan::Kind;

/// What is in the plan about an article.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// Whatever, as long as both sides become what is said.
    Whatever,
    /// Nothing.
    Quiet,
    /// Something that waits and is shown.
    Waits,
    /// An action of one of these kinds.
    Does(&'static [Kind]),
}

/// What becomes of one side of an article.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum After {
    /// It is as it was.
    Kept,
    /// It says this.
    Says(Words),
    /// It is no longer there.
    Removed,
}

/// One right answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Answer {
    /// What the plan says.
    pub(super) act: Act,
    /// The file afterwards.
    pub(super) file: After,
    /// The article on the service afterwards.
    pub(super) service: After,
}

impl Answer {
    /// The address that it takes, if that is another than before.
    pub(super) fn takes(&self, article: &Article) -> Option<Address> {
        match self.service {
            After::Says(words) if Some(words.at) != article.address() => Some(words.at),
            After::Says(_) | After::Kept | After::Removed => None,
        }
    }

    /// Returns whether its file leaves this address.
    pub(super) fn frees(&self, at: Address) -> bool {
        match self.file {
            After::Says(words) => words.at != at,
            After::Kept => false,
            After::Removed => true,
        }
    }

    /// Returns whether it leaves this address on the service.
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
/// Nothing is done; whether that is shown is left open.
pub(super) const STILL: Answer = nothing(Act::Whatever);

/// An action; the service has what it makes of what it is sent.
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

/// The file becomes this, under whatever name.
pub(super) fn comes(file: After) -> Answer {
    Answer { file, ..STILL }
}

/// What a side becomes, if that is anything else.
pub(super) fn changed(before: Words, after: Words) -> After {
    if before == after {
        After::Kept
    } else {
        After::Says(after)
    }
}

/// Returns whether who has the address that an article takes waits for another one, and so on, without an end.
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
