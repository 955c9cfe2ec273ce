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
    for row in base.articles.values().filter(|row| is_unread(row)) {
        let home = |file: &LocalFile| places.owner_of(file) == Some(row.id);
        let lost = paired.is_free(row.id)
            && !unready.named.contains(&row.id)
            && !unready.at_home.contains(&row.id)
            && !left.iter().any(home);
        if !lost {
            continue;
        }
        let mut files = paired.files.iter();
        let found = files.find(|(id, file)| may_be(row, file, base.articles.get(id), local));
        let Some(id) = found.map(|(id, _)| *id) else {
            continue;
        };
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

/// Tells whether a file that names an article, whose base is `own`, may be the newborn one's: it says what that one
/// says, or has words of it, and does not say what its own one says.
fn may_be(
    row: &ArticleRow,
    file: &LocalFile,
    own: Option<&ArticleRow>,
    local: &LocalSnapshot,
) -> bool {
    let Some(own) = own.filter(|own| own.id != row.id && file.id == Some(own.id)) else {
        return false;
    };
    let said = row.local.same_words(&file.version);
    let akin = local.akin.contains(&(row.local.text, file.version.text));
    (said || akin) && !own.local.same_words(&file.version)
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
