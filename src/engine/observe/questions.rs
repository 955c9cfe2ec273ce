//! Questions about articles that are not in the listing, and the answers that are known without asking. Pure.

use crate::engine::backoff::{self, Backoff};
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, Digest};
use crate::reconcile::pairing::Paired;
use crate::reconcile::plan::Action;
use crate::reconcile::snapshot::{Base, LocalFile, Remote};
use crate::state::Target;
use std::collections::{BTreeMap, BTreeSet};

/// One article to ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Question {
    pub(super) id: ArticleId,
    /// Whether to try a GET first; an article that is known to be hidden is only probed.
    pub(super) get: bool,
    /// Whether the article is listed, and only its flags are in doubt.
    pub(super) listed: bool,
}

/// Known answers about absent articles, and the remaining questions.
#[derive(Default)]
pub(super) struct Absent {
    pub(super) known: BTreeMap<ArticleId, Remote>,
    /// The articles among them whose known answer may be stale.
    pub(super) read_first: BTreeSet<ArticleId>,
    pub(super) ask: Vec<Question>,
}

impl Absent {
    fn presume(&mut self, id: ArticleId, remote: Remote) {
        self.read_first.insert(id);
        self.known.insert(id, remote);
    }

    fn add_question(&mut self, id: ArticleId, get: bool) {
        self.ask.push(Question {
            id,
            get,
            listed: false,
        });
    }
}

/// The facts that decide about questions, besides the two sides.
pub(super) struct Rules<'a> {
    /// The number of questions of each kind in one cycle, those about unknown ids and released actions aside.
    pub(super) limit: usize,
    /// The actions that a person released, as fingerprints.
    pub(super) approved: &'a BTreeSet<Digest>,
    /// The back-off of earlier questions.
    pub(super) backoff: &'a Backoff,
}

/// Sorts the articles that a complete listing does not have.
pub(super) fn classify_absent(
    base: &Base,
    paired: &Paired,
    listed: &BTreeMap<ArticleId, Remote>,
    rules: &Rules<'_>,
) -> Absent {
    let mut absent = Absent::default();
    let limit = rules.limit;
    // After a person approved the removal of a file, its article is asked for now.
    let released = |id: ArticleId| {
        paired.files.get(&id).is_some_and(|file| {
            let removal = Action::remove_file(id, file.place.clone(), file.version.clone());
            rules.approved.contains(&removal.fingerprint())
        })
    };
    let is_touched = |row: &&ArticleRow| {
        let edited = |file: &LocalFile| file.version != row.local || file.flags != row.file_flags;
        paired.files.get(&row.id).is_none_or(edited) && !paired.unknown.contains_key(&row.id)
    };
    let rows = base.articles.values();
    let absent_rows = rows.filter(|row| !listed.contains_key(&row.id));
    // Edited and removed ones come first.
    let (first, later): (Vec<_>, Vec<_>) = absent_rows.partition(is_touched);
    let first = first.into_iter().map(|row| (row, true));
    let rows = first.chain(later.into_iter().map(|row| (row, false)));
    let (mut vanished, mut asked) = (0, 0);
    for (row, touched) in rows {
        let file = paired.files.get(&row.id);
        let due = !rules.backoff.is_backing_off(Target::Article(row.id));
        match row.visibility {
            Visibility::Gone => {
                absent.known.insert(row.id, Remote::Gone);
            }
            Visibility::Published | Visibility::Unpublished | Visibility::NotVisible
                if let Some(remote) = rules.backoff.of_waiting(row, base, file) =>
            {
                absent.presume(row.id, remote);
            }
            Visibility::Published if vanished < limit || released(row.id) => {
                vanished += 1;
                absent.add_question(row.id, true);
            }
            Visibility::Published => {
                let why =
                    format!("more than {limit} articles left the listing; it is asked about later");
                absent.known.insert(row.id, Remote::NotVisible(why));
            }
            Visibility::Unpublished | Visibility::NotVisible
                if (touched || due) && asked < limit =>
            {
                asked += 1;
                absent.add_question(row.id, row.visibility == Visibility::NotVisible);
            }
            Visibility::Unpublished => {
                let seen = Remote::Present(backoff::last_seen(row, base));
                // Of many edited or removed at once, the rest is read just before it is sent.
                if touched || base.conflicts.contains_key(&row.id) {
                    absent.presume(row.id, seen);
                } else {
                    absent.known.insert(row.id, seen);
                }
            }
            Visibility::NotVisible => {
                let why = backoff::NOT_LISTED.to_owned();
                absent.known.insert(row.id, Remote::NotVisible(why));
            }
        }
    }
    classify_unknown_ids(base, paired, listed, rules, &mut absent);
    absent
}

/// Sorts the ids that only files name.
fn classify_unknown_ids(
    base: &Base,
    paired: &Paired,
    listed: &BTreeMap<ArticleId, Remote>,
    rules: &Rules<'_>,
    absent: &mut Absent,
) {
    let unknown_ids = paired
        .files
        .keys()
        .filter(|id| !base.articles.contains_key(id) && !listed.contains_key(id));
    for &id in unknown_ids {
        // A conflict without a remote version: the article was gone when it was asked for.
        if base
            .conflicts
            .get(&id)
            .is_some_and(|shown| shown.remote.is_none())
        {
            absent.known.insert(id, Remote::Gone);
        } else if let Some(remote) = rules.backoff.of_unknown_id(id, paired.files.get(&id)) {
            absent.presume(id, remote);
        } else {
            absent.add_question(id, true);
        }
    }
}

/// Returns the listed articles to probe: those that were last known to be disabled, and have a new revision or an
/// answer older than a day. A service may list disabled articles, so only a probe shows whether one was enabled again.
/// An article under its known revision is unchanged, which is noted in `listed`.
pub(super) fn listed_but_disabled(
    base: &Base,
    listed: &mut BTreeMap<ArticleId, Remote>,
    backoff: &Backoff,
) -> Vec<ArticleId> {
    let mut suspicious = Vec::new();
    for row in base
        .articles
        .values()
        .filter(|row| row.remote_flags.enabled == Some(false))
    {
        let Some(Remote::Present(seen)) = listed.get_mut(&row.id) else {
            continue;
        };
        let listing = seen.visibility == Visibility::Published && seen.flags.enabled.is_none();
        let own = row.written.as_ref() == Some(&seen.revision);
        let due = !backoff.is_backing_off(Target::Article(row.id));
        if !listing || own {
            continue;
        }
        let same = row.revision == seen.revision && !due;
        if row.visibility == Visibility::Unpublished && same {
            seen.visibility = row.visibility;
            seen.flags = row.remote_flags;
        } else if let Some(answered) = backoff.of_listed(row.id, seen) {
            *seen = answered;
        } else {
            suspicious.push(row.id);
        }
    }
    suspicious
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::settings::CycleRequest;
    use crate::model::{CategoryId, Flags, Place, Revision, TextDigest, Version, WorkspaceId};
    use crate::reconcile::snapshot::Direction;
    use crate::state::{Binding, store::Store};
    use uuid::Uuid;

    /// An article that is known to be a draft, with a file that has `text`.
    fn draft(number: u128, text: &str) -> (ArticleRow, LocalFile) {
        let id = ArticleId::new(Uuid::from_u128(number));
        let version = |text| Version {
            title: "A".to_owned(),
            slug: "a".to_owned(),
            category: CategoryId::new(Uuid::from_u128(7)),
            introtext: String::new(),
            keywords: String::new(),
            text: TextDigest::of(text),
        };
        let row = ArticleRow {
            id,
            place: Place::new("start", format!("{number}.html")),
            local: version("text"),
            remote: version("text"),
            revision: Revision::default(),
            file_flags: Flags::default(),
            remote_flags: Flags::default(),
            visibility: Visibility::Unpublished,
            stamp: None,
            superseded: Vec::new(),
            written: None,
        };
        let file = LocalFile {
            place: row.place.clone(),
            id: Some(id),
            version: version(text),
            flags: Flags::default(),
        };
        (row, file)
    }

    #[test]
    fn edited_articles_are_asked_about_before_others() {
        let store = Store::in_memory(&Binding {
            service: "https://kb.example.com".to_owned(),
            workspace: WorkspaceId::new(Uuid::from_u128(1)),
        });
        let store = store.expect("a store");
        let request = CycleRequest::new(Direction::Both);
        let backoff = Backoff::read(&store, &request).expect("read");
        let (mut base, mut paired) = (Base::default(), Paired::default());
        let drafts = [draft(1, "text"), draft(2, "edited"), draft(3, "text")];
        let [due, edited, other] = [&drafts[0], &drafts[1], &drafts[2]].map(|(row, _)| row.id);
        for (row, file) in drafts {
            paired.files.insert(row.id, file);
            base.articles.insert(row.id, row);
        }
        let rules = Rules {
            limit: 1,
            approved: &BTreeSet::new(),
            backoff: &backoff,
        };
        let absent = classify_absent(&base, &paired, &BTreeMap::new(), &rules);
        let asked: Vec<_> = absent.ask.iter().map(|question| question.id).collect();
        assert_eq!(asked, [edited]);
        assert!(absent.known.keys().eq([&due, &other]));
        assert!(absent.read_first.is_empty());
    }
}
