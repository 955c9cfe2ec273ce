//! The reference model: what may happen to each article of a small world, by the decision table and the guards.
//!
//! It was written from the rules and shares no code with the planner. Each article is judged alone by
//! the table, then all of them by guard and addresses. Where two answers are right by the rules, both are allowed
//! and the reason stands beside them. It says nothing of names in the mirror, order and wording.

use super::answers::{
    After, Answer, KEPT, QUIET, STILL, WAITS, changed, comes, does, leads_into_a_circle,
};
use super::words::{Agreed, Article, Local, Remote, Rules, Scope, Words, waiting};
use After::{Removed, Says};
use kbsync::reconcile::plan::Kind::{
    self, Adopt, Conflict, Create, Delete, Forget, Merge, Move, Restore, Update,
};
use kbsync::reconcile::snapshot::OnConflict;

const SETTLES: &[Kind] = &[Update, Move, Merge, Conflict, Adopt];

/// Gives the right answers for every article.
pub(super) fn judge(articles: &[Article], rules: &Rules) -> Vec<Vec<Answer>> {
    let mut all: Vec<_> = articles.iter().map(|one| scoped(one, rules)).collect();
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
        Scope::Partly => [alone(article, rules), vec![STILL]].concat(),
    }
}

/// The decision table.
#[expect(clippy::match_same_arms, reason = "a row of the table each")]
fn alone(article: &Article, rules: &Rules) -> Vec<Answer> {
    let base = article.base;
    match (article.local, article.remote) {
        // Present and unknown: never a removal, never pushed.
        (Local::Unready, _) => vec![STILL],
        // Two files with one id, none at its place: a problem naming both, nothing is done to either.
        (Local::Twice, _) => vec![WAITS],
        (Local::New(words), _) => created(words, rules),
        // An incomplete scan proves no absence.
        (Local::Absent, _) if base.is_some() && !rules.scanned => vec![STILL],
        // What is not visible and was removed here waits; absence deletes nothing.
        (Local::Absent, Remote::NotVisible) if base.is_some() && rules.pushes() => vec![WAITS],
        (Local::Absent, Remote::Missing | Remote::Unknown | Remote::NotVisible) => vec![STILL],
        (Local::Absent, Remote::Gone) if base.is_some() => vec![does(&[Forget], KEPT, KEPT)],
        (Local::Absent, Remote::Gone) => vec![STILL],
        (Local::Absent, Remote::Seen(now)) => removed(base, now, rules),
        // "Edits are pushed as ever", but nobody is overwritten unseen; an unknown id is never posted as new.
        (Local::File { .. }, Remote::Missing | Remote::Unknown | Remote::NotVisible) => {
            vec![if base.is_some() { STILL } else { WAITS }]
        }
        (Local::File { words, .. }, Remote::Gone) if base.is_some_and(|old| words == old.file) => {
            let goes = does(&[Delete], Removed, KEPT);
            vec![if rules.pulls() { goes } else { STILL }]
        }
        (Local::File { words, .. }, Remote::Gone) => gone_but_edited(words, rules),
        (Local::File { words, line }, Remote::Seen(now)) => {
            let answers = both_there(base, words, now, rules);
            // Where its `id:` line is missing, it is written: an action of its own where nothing else is done.
            let told = line || answers != [QUIET];
            if told { answers } else { vec![STILL] }
        }
    }
}

/// A file that nobody knows. The slug is the key against doubles, so posting is safe without a whole listing;
/// to wait for one is right, too.
fn created(words: Words, rules: &Rules) -> Vec<Answer> {
    let created = rules.pushes().then(|| does(&[Create], KEPT, Says(words)));
    let waits = (!rules.pushes() || !rules.listed).then_some(STILL);
    created.into_iter().chain(waits).collect()
}

/// No file, and the article is there.
fn removed(base: Option<Agreed>, now: Words, rules: &Rules) -> Vec<Answer> {
    let arrives = |kinds, words| {
        let arrived = does(kinds, Says(words), KEPT);
        if rules.pulls() { arrived } else { STILL }
    };
    match base {
        // Where the scan could not look, there may be a file: waiting is as good.
        None if !rules.scanned => vec![arrives(&[Create], now), STILL],
        None => vec![arrives(&[Create], now)],
        Some(base) if now.same_text(base.service) => {
            let deleted = does(&[Delete], KEPT, Removed);
            let deleted = if rules.pushes() { deleted } else { STILL };
            // No edit by the table; but who published a draft meanwhile did not mean it to go.
            let published = base.service.hidden & !now.hidden != 0;
            let back = published.then(|| arrives(&[Restore], now));
            [deleted].into_iter().chain(back).collect()
        }
        // The edit wins. What the service made of unchanged fields may stand in the file, or what stood there.
        Some(base) => {
            let merged = three_way(base, base.file, now).file;
            vec![arrives(&[Restore], now), arrives(&[Restore], merged)]
        }
    }
}

/// "Modified, gone": a person decides; a file with an unknown id that is gone is like it. The setting settles
/// conflicts at once; a gone article may also wait for `resolve`, which the table names.
fn gone_but_edited(words: Words, rules: &Rules) -> Vec<Answer> {
    match rules.on_conflict {
        OnConflict::Hold => vec![WAITS],
        OnConflict::Local if rules.pushes() => vec![does(&[Create], KEPT, Says(words)), WAITS],
        OnConflict::Remote if rules.pulls() => vec![does(&[Delete], Removed, KEPT), WAITS],
        OnConflict::Local | OnConflict::Remote => vec![STILL],
    }
}

fn both_there(base: Option<Agreed>, file: Words, now: Words, rules: &Rules) -> Vec<Answer> {
    let merged = match base {
        Some(base) => three_way(base, file, now),
        None => no_ancestor(file, now),
    };
    if merged.clashes.contains(&true) {
        return conflict(file, now, &merged, rules);
    }
    let (to_file, to_service) = (changed(file, merged.file), changed(now, merged.service));
    let (reads, writes) = (to_file != KEPT, to_service != KEPT);
    match (merged.local, merged.remote, rules.pulls(), rules.pushes()) {
        (false, false, ..) if !reads => vec![QUIET],
        // Only what the service says comes, be it an edit or a word of visibility.
        (false, _, true, _) => vec![does(&[Update, Move], to_file, KEPT)],
        (false, _, false, _) => vec![STILL],
        (true, true, ..) if !reads && !writes => vec![does(&[Adopt], KEPT, KEPT)],
        (true, _, true, true) => vec![does(SETTLES, to_file, to_service)],
        // The merge goes into the file; the push is left to a later cycle.
        (true, _, true, false) => vec![comes(to_file)],
        // `push` holds what both sides modified, where anything is left to be pushed.
        (true, true, false, _) => vec![if writes { WAITS } else { STILL }],
        // It may hold it as a merge, too, where it cannot note what the service says of its being shown.
        (true, false, false, _) if reads => vec![does(&[Update, Move], KEPT, to_service), WAITS],
        (true, false, false, _) => vec![does(&[Update, Move], KEPT, to_service)],
    }
}

/// A setting settles the clashing fields, or all that the winner says: "at once" leaves that open.
fn conflict(file: Words, now: Words, merged: &Merged, rules: &Rules) -> Vec<Answer> {
    let winner = match rules.on_conflict {
        OnConflict::Hold => return vec![WAITS],
        OnConflict::Local => file,
        OnConflict::Remote => now,
    };
    let [to_file, to_service] = merged.won_by(winner);
    let whole = Words {
        hidden: merged.file.hidden,
        ..winner
    };
    let ways = [(to_file, to_service), (whole, winner)];
    let ways = ways.map(|(here, there)| (changed(file, here), changed(now, there.answered())));
    let mut answers = Vec::new();
    match (rules.on_conflict, rules.pulls(), rules.pushes()) {
        (_, true, true) => answers.extend(ways.map(|(here, there)| does(SETTLES, here, there))),
        (OnConflict::Remote, true, _) => {
            answers.extend(ways.map(|(here, _)| does(SETTLES, here, KEPT)));
        }
        (OnConflict::Local, true, _) => answers.extend(ways.map(|(here, _)| comes(here))),
        // `push` holds what both sides modified; the setting would settle it.
        (OnConflict::Local, false, _) => {
            answers.extend(ways.map(|(_, there)| does(SETTLES, KEPT, there)));
        }
        (OnConflict::Hold | OnConflict::Remote, ..) => {}
    }
    // The winner's side may not be changed: that may be shown, or left to another command.
    if rules.pulls() != rules.pushes()
        && (rules.on_conflict, rules.pulls()) != (OnConflict::Remote, true)
    {
        answers.push(STILL);
    }
    answers
}

/// A merge, field by field; where they clash, each side is as it was.
struct Merged {
    file: Words,
    service: Words,
    clashes: [bool; 6],
    /// Which sides are modified.
    local: bool,
    remote: bool,
}

impl Merged {
    /// Both sides merged, with the clashing fields as `winner` has them.
    fn won_by(&self, winner: Words) -> [Words; 2] {
        [self.file, self.service].map(|side| {
            let (mut wins, winner) = (side.fields(), winner.fields());
            for field in (0..6).filter(|field| self.clashes[*field]) {
                wins[field] = winner[field];
            }
            Words::from_fields(wins, side.hidden)
        })
    }
}

/// Three-way, each side against its own half of the base.
fn three_way(base: Agreed, file: Words, now: Words) -> Merged {
    let (old, answered) = (base.file.fields(), base.service.fields());
    let (l, r) = (file.fields(), now.fields());
    let (mut to_file, mut to_service, mut clashes) = (l, r, [false; 6]);
    for field in 0..6 {
        match (l[field] != old[field], r[field] != answered[field]) {
            (true, true) => clashes[field] = l[field] != r[field],
            (true, false) => to_service[field] = l[field],
            (false, true) => to_file[field] = r[field],
            (false, false) => {}
        }
    }
    // `enabled` and `draft` are no part of the text: a wish of the file goes, the service's word comes.
    let wished = file.hidden & !base.file.hidden;
    let told = now.hidden & !base.service.hidden;
    let taken_back = base.service.hidden & !now.hidden;
    Merged {
        file: Words::from_fields(to_file, (file.hidden | told) & !taken_back),
        service: Words::from_fields(to_service, now.hidden | wished),
        clashes,
        local: l != old || wished != 0,
        remote: r != answered,
    }
}

/// Created on both sides: equal, or a conflict.
fn no_ancestor(file: Words, now: Words) -> Merged {
    let (l, r) = (file.fields(), now.fields());
    let hidden = file.hidden | now.hidden;
    Merged {
        file: Words { hidden, ..file },
        service: now,
        clashes: std::array::from_fn(|field| l[field] != r[field]),
        local: true,
        remote: true,
    }
}

/// Mass deletion, and the doubt that voids every deletion.
fn guard(articles: &[Article], all: &mut [Vec<Answer>], rules: &Rules) {
    let sides: [fn(&Answer) -> bool; 2] = [|a| a.file == Removed, |a| a.service == Removed];
    let doubt = !rules.listed || !rules.scanned;
    for (removes, waiting) in sides.into_iter().zip(waiting(articles)) {
        let sure = all.iter().filter(|answers| answers.iter().all(removes));
        let held = doubt || sure.count() > rules.max_deletes;
        let maybe = all.iter().filter(|answers| answers.iter().any(removes));
        let may_be_held = held || maybe.count() + waiting > rules.max_deletes;
        for answers in all.iter_mut().filter(|answers| answers.iter().any(removes)) {
            answers.retain(|answer| !held || !removes(answer));
            answers.extend(may_be_held.then_some(WAITS));
        }
    }
}

/// A slug is unique in its category: nobody gets one that somebody keeps.
fn addresses(articles: &[Article], all: &mut [Vec<Answer>], one: usize) {
    let mut waits = leads_into_a_circle(articles, all, one);
    let mut kept = Vec::with_capacity(all[one].len() + 1);
    for mine in &all[one] {
        let mut free = true;
        for (other, answers) in all.iter().enumerate().filter(|(other, _)| *other != one) {
            let article = &articles[other];
            // A name in a folder that perhaps nobody leaves: to wait for it is as right as another name.
            if let (Says(comes), Some(there)) = (mine.file, article.file())
                && comes.at.0 == there.at.0
            {
                let stays = |answer: &Answer| !answer.frees(there.at);
                let gone = article.remote == Remote::Gone;
                waits |= answers.iter().any(stays) && (gone || !answers.iter().all(stays));
            }
            let Some(at) = mine.takes(&articles[one]) else {
                continue;
            };
            if article.address() == Some(at) {
                free &= answers.iter().any(|answer| answer.leaves(at));
                waits |= !answers.iter().all(|answer| answer.leaves(at));
            }
            // Two that want one address: which one gets it is open. So it is while an unseen one may have it.
            waits |= article.file().is_some_and(|words| words.at == at)
                || answers
                    .iter()
                    .any(|answer| answer.takes(article) == Some(at))
                || article.address().is_none()
                    && article.base.is_some_and(|base| base.service.at == at);
        }
        kept.extend(free.then_some(*mine));
        waits |= !free;
    }
    kept.extend((waits && !kept.contains(&WAITS)).then_some(WAITS));
    all[one] = kept;
}
