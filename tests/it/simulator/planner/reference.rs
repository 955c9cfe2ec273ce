//! The reference model: what may happen to each article of a small world, by sections 3, 4 and 6 of the design.
//!
//! It was written from the design's text and shares no code with the planner. Each article is judged alone
//! by the table; then the guard and the addresses on the service are judged over all of them. Where two
//! answers are right by the design, both are allowed and the reason stands beside them.
//!
//! It says nothing about names in the mirror, the order of actions and the wording of reasons.

use super::words::{Address, Agreed, Article, Local, Remote, Rules, Scope, Words};
use kbsync::reconcile::plan::Kind;
use kbsync::reconcile::snapshot::OnConflict;

/// What is in the plan about an article.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// Whatever, as long as nothing is done.
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

fn answer(act: Act, file: After, service: After) -> Answer {
    let service = match service {
        After::Says(words) => After::Says(words.answered()),
        KEPT | After::Removed => service,
    };
    Answer { act, file, service }
}
const KEPT: After = After::Kept;
const fn nothing(act: Act) -> Answer {
    Answer {
        act,
        file: KEPT,
        service: KEPT,
    }
}
const QUIET: Answer = nothing(Act::Quiet);
const WAITS: Answer = nothing(Act::Waits);
/// Nothing is done; whether that is shown is left open.
const STILL: Answer = nothing(Act::Whatever);
const SETTLES: &[Kind] = &[Kind::Update, Kind::Move];

/// Gives the right answers for every article.
pub(super) fn judge(articles: &[Article], rules: &Rules) -> Vec<Vec<Answer>> {
    let mut all: Vec<Vec<Answer>> = articles.iter().map(|one| scoped(one, rules)).collect();
    guard(articles, &mut all, rules);
    // Who may not leave an address holds up who wants it, and so on: no longer than there are articles.
    for _ in articles {
        for one in 0..articles.len() {
            addresses(articles, &mut all, one);
        }
    }
    all
}

fn scoped(article: &Article, rules: &Rules) -> Vec<Answer> {
    match article.scope {
        Scope::In => alone(article, rules),
        Scope::Out => vec![STILL],
        // Which of an article's places a path names is the command's matter.
        Scope::Partly => {
            let mut answers = alone(article, rules);
            answers.push(STILL);
            answers
        }
    }
}

/// The table of section 4.
fn alone(article: &Article, rules: &Rules) -> Vec<Answer> {
    let (pulls, pushes) = (rules.direction.pulls(), rules.direction.pushes());
    let base = article.base;
    match (article.local, article.remote) {
        // Present and unknown: never a removal, never pushed.
        (Local::Unready, _) => vec![STILL],
        // Two files with one id, none at its place: a problem naming both, nothing is done to either.
        (Local::Twice, _) => vec![WAITS],
        // An incomplete scan proves no absence.
        (Local::Absent, _) if base.is_some() && !rules.scanned => vec![STILL],
        // No deletion from absence. What is not visible and was removed here waits.
        (Local::Absent, Remote::NotVisible) if base.is_some() && pushes => vec![WAITS],
        (Local::Absent, Remote::Missing | Remote::Unknown | Remote::NotVisible) => vec![STILL],
        (Local::New(words), _) => created(words, rules),
        // "Edits are pushed by PUT as ever", but nobody is overwritten unseen: the promise is the stronger one.
        // An id that the base does not know is never posted as new.
        (Local::File { .. }, Remote::Missing | Remote::Unknown | Remote::NotVisible) => {
            match base {
                Some(_) => vec![STILL],
                None => vec![WAITS],
            }
        }
        (Local::Absent, Remote::Gone) => match base {
            Some(_) => vec![answer(Act::Does(&[Kind::Forget]), KEPT, KEPT)],
            None => vec![STILL],
        },
        (Local::File { words, .. }, Remote::Gone) => match base {
            Some(base) if words == base.file && pulls => {
                vec![answer(Act::Does(&[Kind::Delete]), After::Removed, KEPT)]
            }
            Some(base) if words == base.file => vec![STILL],
            Some(_) | None => gone_but_edited(words, rules),
        },
        (Local::Absent, Remote::Seen(now)) => match base {
            Some(base) if same_text(now, base.service) => {
                let mut answers = match pushes {
                    true => vec![answer(Act::Does(&[Kind::Delete]), KEPT, After::Removed)],
                    false => vec![STILL],
                };
                // No edit by the table; but who published a draft meanwhile did not mean it to go.
                if base.service.hidden & !now.hidden != 0 {
                    answers.push(match pulls {
                        true => answer(Act::Does(&[Kind::Restore]), After::Says(now), KEPT),
                        false => STILL,
                    });
                }
                answers
            }
            // The edit wins. What the service made of unchanged fields may stand in the file, or what stood there.
            Some(base) if pulls => [now, three_way(base, base.file, now).file]
                .map(|file| answer(Act::Does(&[Kind::Restore]), After::Says(file), KEPT))
                .to_vec(),
            None if pulls => {
                let created = answer(Act::Does(&[Kind::Create]), After::Says(now), KEPT);
                // Where the scan could not look, there may be a file: waiting is as good.
                if rules.scanned {
                    vec![created]
                } else {
                    vec![created, STILL]
                }
            }
            Some(_) | None => vec![STILL],
        },
        (Local::File { words, line }, Remote::Seen(now)) => {
            let mut answers = both_there(base, words, now, rules);
            // Where its `id:` line is missing, it is written: an action of its own where nothing else is done.
            if !line && answers == [QUIET] {
                answers = vec![STILL];
            }
            answers
        }
    }
}

/// A file that nobody knows. The slug is the key against doubles, so posting is safe without a whole listing;
/// to wait for one is right, too.
fn created(words: Words, rules: &Rules) -> Vec<Answer> {
    let created = answer(Act::Does(&[Kind::Create]), KEPT, After::Says(words));
    match (rules.direction.pushes(), rules.listed) {
        (false, _) => vec![STILL],
        (true, true) => vec![created],
        (true, false) => vec![created, STILL],
    }
}

/// "Modified, gone": a person decides, or the setting; a file with an unknown id that is gone is like it.
fn gone_but_edited(words: Words, rules: &Rules) -> Vec<Answer> {
    let anew = answer(Act::Does(&[Kind::Create]), KEPT, After::Says(words));
    let removed = answer(Act::Does(&[Kind::Delete]), After::Removed, KEPT);
    match rules.on_conflict {
        OnConflict::Hold => vec![WAITS],
        // The setting settles conflicts at once; a gone article may also wait for `resolve`, which the table names.
        OnConflict::Local if rules.direction.pushes() => vec![anew, WAITS],
        OnConflict::Remote if rules.direction.pulls() => vec![removed, WAITS],
        OnConflict::Local | OnConflict::Remote => vec![STILL],
    }
}

fn both_there(base: Option<Agreed>, file: Words, now: Words, rules: &Rules) -> Vec<Answer> {
    let (pulls, pushes) = (rules.direction.pulls(), rules.direction.pushes());
    let merged = match base {
        Some(base) => three_way(base, file, now),
        None => no_ancestor(file, now),
    };
    let (reads, writes) = (merged.file != file, merged.service != now);
    // Equal texts: only the books, and perhaps what the service says of its being shown.
    if merged.clash {
        return conflict(file, now, &merged, rules);
    }
    let says = |file, service| answer(Act::Does(SETTLES), file, service);
    match (merged.local, merged.remote) {
        (false, false) if !reads => vec![QUIET],
        // A word of visibility goes into the file; it is no edit of anybody's.
        (false, false) if !pulls => vec![STILL],
        (false, false) | (false, true) if pulls => {
            vec![says(After::Says(merged.file), KEPT)]
        }
        (false, _) => vec![STILL],
        (true, false) if !pushes => match (reads, pulls) {
            (true, true) => vec![answer(Act::Whatever, After::Says(merged.file), KEPT)],
            (false, _) | (_, false) => vec![STILL],
        },
        (true, false) => {
            let file = match reads && pulls {
                true => After::Says(merged.file),
                false => KEPT,
            };
            let pushed = answer(
                Act::Does(&[Kind::Update, Kind::Move, Kind::Merge]),
                file,
                After::Says(merged.service),
            );
            // A `push` that cannot note what the service says of its being shown may hold it as a merge.
            if reads && !pulls {
                vec![pushed, WAITS]
            } else {
                vec![pushed]
            }
        }
        (true, true) if !reads && !writes => {
            vec![answer(Act::Does(&[Kind::Adopt]), KEPT, KEPT)]
        }
        // Only what one side does not have yet goes there.
        (true, true) => match (pulls, pushes) {
            (true, true) => vec![answer(
                Act::Does(&[Kind::Merge, Kind::Update, Kind::Move, Kind::Adopt]),
                changed(file, merged.file),
                changed(now, merged.service.answered()),
            )],
            (true, false) => vec![answer(Act::Whatever, changed(file, merged.file), KEPT)],
            // Nothing is left to be pushed.
            (false, _) if !writes => vec![STILL],
            (false, _) => vec![WAITS],
        },
    }
}

fn conflict(file: Words, now: Words, merged: &Merged, rules: &Rules) -> Vec<Answer> {
    let (pulls, pushes) = (rules.direction.pulls(), rules.direction.pushes());
    // The clashing fields, or all that the winner says: "settles it at once" leaves that open.
    let kinds = Act::Does(&[
        Kind::Update,
        Kind::Move,
        Kind::Merge,
        Kind::Conflict,
        Kind::Adopt,
    ]);
    let [mine, to_service] = merged.won_by(file);
    let [theirs, rest] = merged.won_by(now);
    let shown = |words: Words| Words {
        hidden: merged.file.hidden,
        ..words
    };
    match (rules.on_conflict, pulls, pushes) {
        (OnConflict::Hold, _, _) => vec![WAITS],
        (OnConflict::Local, true, true) => vec![
            answer(
                kinds,
                changed(file, mine),
                changed(now, to_service.answered()),
            ),
            answer(
                kinds,
                changed(file, shown(file)),
                changed(now, file.answered()),
            ),
        ],
        (OnConflict::Local, true, false) => vec![
            STILL,
            answer(Act::Whatever, changed(file, mine), KEPT),
            answer(Act::Whatever, changed(file, shown(file)), KEPT),
        ],
        // `push` holds what both sides modified; the setting would settle it.
        (OnConflict::Local, false, _) => vec![
            STILL,
            answer(kinds, KEPT, changed(now, to_service.answered())),
            answer(kinds, KEPT, changed(now, file.answered())),
        ],
        (OnConflict::Remote, true, true) => vec![
            answer(kinds, changed(file, theirs), changed(now, rest.answered())),
            answer(kinds, changed(file, shown(now)), KEPT),
        ],
        (OnConflict::Remote, true, false) => vec![
            answer(kinds, changed(file, theirs), KEPT),
            answer(kinds, changed(file, shown(now)), KEPT),
        ],
        (OnConflict::Remote, false, _) => vec![STILL],
    }
}

fn changed(before: Words, after: Words) -> After {
    if before == after {
        KEPT
    } else {
        After::Says(after)
    }
}

fn same_text(one: Words, other: Words) -> bool {
    Words { hidden: 0, ..one } == Words { hidden: 0, ..other }
}

/// Field by field.
struct Merged {
    file: Words,
    service: Words,
    /// The merge with every clash open, as (field, what the winner is asked for).
    clashes: [bool; 6],
    clash: bool,
    local: bool,
    remote: bool,
}

fn fields(words: Words) -> [u8; 6] {
    let [one, two, three] = words.body;
    [words.title, words.at.0, words.at.1, one, two, three]
}

fn from_fields(fields: [u8; 6], hidden: u8) -> Words {
    let [title, category, slug, one, two, three] = fields;
    Words {
        title,
        at: (category, slug),
        body: [one, two, three],
        hidden,
    }
}

impl Merged {
    /// Both sides merged, with the clashing fields as `winner` has them.
    fn won_by(&self, winner: Words) -> [Words; 2] {
        [self.file, self.service].map(|side| {
            let (mut wins, winner) = (fields(side), fields(winner));
            for field in (0..6).filter(|field| self.clashes[*field]) {
                wins[field] = winner[field];
            }
            from_fields(wins, side.hidden)
        })
    }
}

/// Three-way, each side against its own half of the base.
fn three_way(base: Agreed, file: Words, now: Words) -> Merged {
    let (old, answered) = (fields(base.file), fields(base.service));
    let (l, r) = (fields(file), fields(now));
    let (mut to_file, mut to_service, mut clashes) = (l, r, [false; 6]);
    for field in 0..6 {
        let (mine, theirs) = (l[field] != old[field], r[field] != answered[field]);
        clashes[field] = mine && theirs && l[field] != r[field];
        if theirs && !mine {
            to_file[field] = r[field];
        }
        if mine && !theirs {
            to_service[field] = l[field];
        }
    }
    // `enabled` and `draft` are no part of the text: a wish of the file goes, the service's word comes.
    let wished = file.hidden & !base.file.hidden;
    let told = now.hidden & !base.service.hidden;
    let taken_back = base.service.hidden & !now.hidden;
    Merged {
        file: from_fields(to_file, (file.hidden | told) & !taken_back),
        service: from_fields(to_service, now.hidden | wished),
        clashes,
        clash: clashes.contains(&true),
        local: l != old || wished != 0,
        remote: r != answered,
    }
}

/// Created on both sides: equal, or a conflict.
fn no_ancestor(file: Words, now: Words) -> Merged {
    let mut clashes = [false; 6];
    for field in 0..6 {
        clashes[field] = fields(file)[field] != fields(now)[field];
    }
    Merged {
        file: Words {
            hidden: file.hidden | now.hidden,
            ..file
        },
        service: now,
        clashes,
        clash: clashes.contains(&true),
        local: true,
        remote: true,
    }
}

/// Mass deletion, and the doubt that voids every deletion, are section 6's.
fn guard(articles: &[Article], all: &mut [Vec<Answer>], rules: &Rules) {
    let sides: [fn(&Answer) -> bool; 2] = [
        |a| a.file == After::Removed,
        |a| a.service == After::Removed,
    ];
    for removes in sides {
        let sure = all
            .iter()
            .filter(|answers| answers.iter().all(removes))
            .count();
        let perhaps = all
            .iter()
            .filter(|answers| answers.iter().any(removes))
            .count();
        // What vanished and was not asked for yet counts as well, as it may be gone.
        let vanished = articles.iter().filter(|article| {
            article.remote == Remote::NotVisible && matches!(article.local, Local::File { .. })
        });
        let perhaps = perhaps + vanished.count();
        let doubt = !rules.listed || !rules.scanned;
        for answers in all.iter_mut().filter(|answers| answers.iter().any(removes)) {
            if doubt || perhaps > rules.max_deletes {
                answers.push(WAITS);
            }
            if doubt || sure > rules.max_deletes {
                answers.retain(|answer| !removes(answer));
            }
        }
    }
}

/// A slug is unique in its category: nobody gets one that somebody keeps.
fn addresses(articles: &[Article], all: &mut [Vec<Answer>], one: usize) {
    let now = |article: &Article| match article.remote {
        Remote::Seen(words) => Some(words.at),
        Remote::Missing | Remote::Gone | Remote::NotVisible | Remote::Unknown => None,
    };
    let wants = |answer: &Answer, article: &Article| match answer.service {
        After::Says(words) if Some(words.at) != now(article) => Some(words.at),
        After::Says(_) | KEPT | After::Removed => None,
    };
    let leaves = |answer: &Answer, at: Address| match answer.service {
        After::Says(words) => words.at != at,
        After::Removed => true,
        KEPT => false,
    };
    let comes = |answer: &Answer| match answer.file {
        After::Says(words) => Some(words.at),
        After::Kept | After::Removed => None,
    };
    let mut kept = Vec::with_capacity(all[one].len() + 1);
    let mut waits = false;
    for mine in &all[one] {
        // A name in a folder that a held removal does not free: to wait for it is as right as another name.
        let folder = comes(mine).map(|at| at.0);
        waits |= articles
            .iter()
            .zip(all.iter())
            .enumerate()
            .any(|(other, (article, answers))| {
                let stays = answers.iter().any(|answer| answer.file != After::Removed);
                match article.local {
                    Local::File { words, .. } if other != one && article.remote == Remote::Gone => {
                        stays && folder == Some(words.at.0)
                    }
                    Local::File { .. }
                    | Local::New(_)
                    | Local::Absent
                    | Local::Unready
                    | Local::Twice => false,
                }
            });
        let Some(at) = wants(mine, &articles[one]) else {
            kept.push(*mine);
            continue;
        };
        let mut free = true;
        for (other, answers) in all.iter().enumerate().filter(|(other, _)| *other != one) {
            if now(&articles[other]) == Some(at) {
                free &= answers.iter().any(|answer| leaves(answer, at));
                waits |= !answers.iter().all(|answer| leaves(answer, at));
            }
            // Two that want one address: which one gets it is open. So it is while an unseen one may have it.
            waits |= match articles[other].local {
                Local::File { words, .. } | Local::New(words) => words.at == at,
                Local::Absent | Local::Unready | Local::Twice => false,
            };
            waits |= answers
                .iter()
                .any(|answer| wants(answer, &articles[other]) == Some(at));
            waits |= now(&articles[other]).is_none()
                && articles[other]
                    .base
                    .is_some_and(|base| base.service.at == at);
        }
        if free {
            kept.push(*mine);
        }
    }
    if waits && !kept.contains(&WAITS) {
        kept.push(WAITS);
    }
    all[one] = kept;
}
