//! A copy of a file names the article that it was copied from until it has an id of its own. If it was created, and
//! the new id never came into it, and then the original went or the copy was moved over it, the id says one thing and
//! the words say another.

use super::places::{StatePlaces, Unready};
use super::{Paired, is_unread};
use crate::model::ArticleId;
use crate::model::base::ArticleRow;
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalFile, LocalSnapshot};

/// Why an article is left alone whose id stands in what may be another one's file.
const STALE: &str = "whether the file that has its id is its own cannot be told";

/// Takes files from the articles that they name, where they may be those of newborn ones. One that lies where the
/// newborn one was created, and says the same, is that one's: an original is not there any more. Of any other a person
/// has to say which of the two it is, since one of them would be deleted.
pub(super) fn take_back(
    base: &Base,
    local: &LocalSnapshot,
    places: &StatePlaces<'_>,
    unready: &Unready,
    left: &[LocalFile],
    paired: &mut Paired,
) {
    let mut strays = None;
    for row in base.articles.values().filter(|row| is_unread(row)) {
        let home = |file: &LocalFile| places.owner_of(file) == Some(row.id);
        let lost = paired.is_free(row.id)
            && !unready.named.contains(&row.id)
            && !unready.at_home.contains(&row.id)
            && !left.iter().any(home);
        if !lost {
            continue;
        }
        let strays = strays.get_or_insert_with(|| strays_among(paired, base));
        let may_be = |id: &ArticleId| {
            let file = paired.files.get(id);
            file.is_some_and(|file| *id != row.id && may_be(row, file, local))
        };
        let Some(position) = strays.iter().position(may_be) else {
            continue;
        };
        let id = strays.remove(position);
        let Some(file) = paired.files.remove(&id) else {
            continue;
        };
        if home(&file) && row.local.same_words(&file.version) {
            let file = LocalFile { id: None, ..file };
            paired.files.insert(row.id, file);
            continue;
        }
        report(row, id, &file, paired);
        paired.mark([row.id, id], STALE);
    }
}

/// The articles that are named by a file which does not say what they said.
fn strays_among(paired: &Paired, base: &Base) -> Vec<ArticleId> {
    let mut strays = Vec::new();
    for (id, file) in &paired.files {
        let own = base.articles.get(id).filter(|_| file.id == Some(*id));
        let stray = own.is_some_and(|own| !own.local.same_words(&file.version));
        strays.extend(stray.then_some(*id));
    }
    strays
}

/// Returns whether a file that does not say what the article said that it names may be the newborn one's: it says what
/// that one says, or has words of it.
fn may_be(row: &ArticleRow, file: &LocalFile, local: &LocalSnapshot) -> bool {
    let akin = local.akin.contains(&(row.local.text, file.version.text));
    akin || row.local.same_words(&file.version)
}

fn report(row: &ArticleRow, id: ArticleId, file: &LocalFile, paired: &mut Paired) {
    paired.problems.push(Problem {
        path: file.place.to_string(),
        id: Some(row.id),
        message: format!(
            "it has the id of article {id}, and words of article {}, whose file {} is not there and may never have had \
             its id: which of the two it is cannot be told; if it is the latter's, put `id: {}` into it, and {id} is \
             deleted; if it is the former's, put {} back, sync, and remove that again",
            row.id, row.place, row.id, row.place
        ),
    });
}
