//! The checks at a call by which kbsync changes a side (I4, I5, I7, I8, I14, I16).

use super::step::Rewriting;
use super::token::Tokens;
use super::world::{Side, Violation, World, has_ending, id_of, is_article};
use kbsync::model::ArticleId;

impl World {
    /// kbsync changed a side: words that vanished need a cause.
    pub(crate) fn effect(
        &mut self,
        side: Side,
        before: &Tokens,
        what: &str,
        article: Option<ArticleId>,
    ) {
        self.ledger.effects += 1;
        if self.ledger.dry {
            self.violated("I14", format!("a dry run did something: {what}"));
        }
        let after = self.tokens(side);
        self.judge_direction(side, before, &after, what);
        let back = (side == Side::Mirror && !self.ledger.withdrawn.is_empty())
            .then(|| self.ids_in_mirror());
        let there = self.kb.tokens();
        let ledger = &mut self.ledger;
        let new = after.without(before);
        ledger.written.add(&new);
        if side == Side::Mirror {
            // Words that kbsync itself has brought back no longer count as removed by a person; words that only a stale
            // listing still shows stay removed.
            let back = new.and(&there).and(&ledger.removed);
            ledger.removed.remove(&back);
            ledger.brought_back.add(&back);
            if what.ends_with(".conflict.html") {
                ledger.shown_beside.add(&back);
            } else {
                ledger.shown_beside.remove(&new);
            }
        }
        if let Some(back) = back {
            ledger.withdrawn.retain(|id| !back.contains_key(id));
        }
        let mut vanished = before.without(&after).without(&ledger.removed);
        vanished.remove(&ledger.removed_there);
        vanished.remove(&ledger.expected[side as usize]);
        // A superseded version that a lost state cannot recognise is pulled, or merged, like a colleague's revert.
        vanished.remove(&ledger.outdated);
        if side == Side::Mirror {
            // Words that a colleague had removed when the service was listed are removed from the mirror, even if the
            // colleague has put them back since: the next cycle pulls them.
            vanished.remove(&ledger.gone_when_seen);
            vanished.remove(&ledger.set_aside);
            if what.ends_with(".conflict.html") {
                // A conflict copy is kbsync's own copy of the service's version.
                vanished.remove(&self.kb.tokens());
            }
        }
        if side == Side::Service {
            // A state that was rolled back takes a superseded version for its last known version: words that the writer
            // removed are removed from the service, even if only the lost state had them in its history.
            let gone = before.without(&after);
            let forgotten = gone.and(&ledger.outdated).and(&ledger.removed);
            ledger.owed.remove(&forgotten);
            // Words that the writer had removed when the mirror was scanned are removed from the service, even if the
            // writer has put them back since: the next cycle sends them.
            vanished.remove(&ledger.gone_when_scanned);
            // There is no conditional write: a colleague's words from this very cycle may be overwritten.
            let unseen = vanished.and(&ledger.fresh);
            ledger.owed.remove(&unseen);
            ledger.removed.add(&unseen);
            vanished.remove(&ledger.fresh);
            // Nor can kbsync know the words that stale reads hide after a PUT with a lost response, if no probe
            // answers.
            let hidden = article.map(|id| ledger.hidden.of(id)).unwrap_or_default();
            let hidden = vanished.and(&hidden);
            ledger.owed.remove(&hidden);
            ledger.removed.add(&hidden);
            vanished.remove(&hidden);
            // For a state that was rolled back, a version that a later state pulled into the file is an edit of the
            // writer's.
            let taken = article.and_then(|id| ledger.taken_for_edits.get(&id));
            vanished.remove(&taken.copied().unwrap_or_default());
            if let Some(id) = article.filter(|_| !unseen.is_empty()) {
                self.judge_unseen(id, &unseen, what);
            }
        }
        if self.ledger.loose {
            return;
        }
        // Copied words may go with the copy. A key of the writer's own goes with its file.
        vanished.remove(&self.ledger.copied);
        vanished.remove(&self.ledger.aside);
        if !vanished.is_empty() {
            let words = vanished.all();
            self.violated(
                "I4",
                format!("words {words:?} vanished from the {side:?} without a cause: {what}"),
            );
        }
    }

    /// The power failed, or kbsync took a file back: words that this cycle had brought back, and that are gone again,
    /// count as the writer left them.
    pub(crate) fn took_back(&mut self) {
        let brought = std::mem::take(&mut self.ledger.brought_back);
        let lost = brought.without(&self.mirror.tokens());
        self.ledger.removed.add(&lost);
    }

    /// The state was rolled back, or the process died over a copy: nobody knows of conflicts that were shown since,
    /// except those in `shown`. Words that the writer had removed, and that only conflict copies brought back, count as
    /// removed again.
    pub(crate) fn forget_conflicts(&mut self, shown: &Tokens) {
        let mut there = *shown;
        self.mirror.each(&mut |folder, name, bytes, _| {
            if is_article(folder, name) {
                there.read(bytes);
            }
        });
        let beside = std::mem::take(&mut self.ledger.shown_beside);
        self.ledger.removed.add(&beside.without(&there));
    }

    /// `pull` sends nothing. `push` brings no words into files, except the copy beside a file in conflict, and removes
    /// no file.
    fn judge_direction(&mut self, side: Side, before: &Tokens, after: &Tokens, what: &str) {
        if self.ledger.spared != Some(side) {
            return;
        }
        let brought = after.without(before);
        let changed = match side {
            Side::Service => true,
            Side::Mirror => {
                let moved = ["RenameFile ", "RenameFolder ", "Exchange "];
                let moved = moved.iter().any(|call| what.starts_with(call));
                !has_ending(what, ".conflict.html") && (moved || !brought.is_empty())
            }
        };
        if changed {
            let message =
                format!("the {side:?} is changed against the command's direction: {what}");
            self.violated("I4", message);
        }
    }

    /// A colleague's words from this very cycle are overwritten: allowed only for words that kbsync could not know, or
    /// that `--prefer local` replaces after they were seen.
    fn judge_unseen(&mut self, id: ArticleId, words: &Tokens, what: &str) {
        let edited = self.ledger.edited.get(&id).copied().unwrap_or_default();
        let (read, request) = self.ledger.read.get(&id).copied().unwrap_or_default();
        let requests = self.requests() - request;
        let old = if self.setup.no_window {
            requests > 1
        } else {
            self.now - read > 15_100_000_000
        };
        // A lost response requires another read.
        let blind = self.ledger.unanswered.get(&id) > Some(&request);
        if old || blind || (read > edited && !self.ledger.local_wins) {
            let words = words.all();
            self.violated(
                "I4",
                format!("a colleague's words {words:?} are written over unseen: {what}"),
            );
        }
    }

    /// A new file needs an article (I4).
    ///
    /// Only the state knows that kbsync itself deleted an article. Once the state is lost, a stale listing that shows
    /// the article is like any first listing, and is believed.
    pub(crate) fn judge_file(&mut self, folder: &str, name: &str, staged: &[u8]) {
        if !is_article(folder, name) {
            return;
        }
        let id = id_of(staged);
        if let Some(bytes) = self.mirror.bytes(folder, name) {
            if id.is_some() && id_of(&bytes) != id {
                // The file belongs to the article from now on, whatever its writer has changed since it was scanned.
                // Its folder may have another name since.
                let ledger = &mut self.ledger;
                ledger.taken_out.retain(|(_, file), out| {
                    let is_it = file == name;
                    if is_it {
                        ledger.removed.add(out);
                    }
                    !is_it
                });
            }
            // The writer's earlier words belong to this id from now on.
            if let Some(id) = id.filter(|id| id_of(&bytes) != Some(*id)) {
                self.ledger.touched.insert(id);
            }
            return;
        }
        let ledger = &self.ledger;
        let believed =
            |id: &ArticleId| ledger.unremembered.contains(id) && ledger.shown_gone.contains(id);
        let gone = |id: &ArticleId| {
            !self.kb.articles.contains_key(id)
                && !ledger.lately_gone.contains(id)
                && !ledger.edited.contains_key(id)
                && !believed(id)
        };
        if let Some(id) = id.filter(gone) {
            self.violated(
                "I4",
                format!("{folder}/{name} is made for article {id}, which is not there"),
            );
        }
    }

    /// `push` creates no file, and writes only the id into an existing file: where there was no id, or where the file
    /// still had the id of its original because its own article was created since, or of the article whose place the
    /// file took. Returns whether kbsync is about to write more than that, unless somebody saves the file meanwhile.
    pub(crate) fn pushes_more(&self, folder: &str, name: &str, staged: &[u8]) -> bool {
        if self.ledger.spared != Some(Side::Mirror) || !is_article(folder, name) {
            return false;
        }
        let was = self.mirror.bytes(folder, name);
        let is = staged;
        let rest = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let lines = text.split('\n').filter(|line| !line.starts_with("id: "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let is_elsewhere = |id: Option<ArticleId>| {
            let mut found = false;
            self.mirror.each(&mut |other, file, bytes, _| {
                let elsewhere = (other, file) != (folder, name) && is_article(other, file);
                found |= elsewhere && id.is_some() && id_of(bytes) == id;
            });
            found
        };
        let same = |was: &Vec<u8>| {
            let (old, new) = (id_of(was), id_of(is));
            let article = new.and_then(|id| self.kb.articles.get(&id));
            let own = article.is_some_and(|article| !article.sent.is_empty());
            rest(was) == rest(is) && (old.is_none() || old == new || own || is_elsewhere(old))
        };
        !was.as_ref().is_some_and(same)
    }

    /// A sent text has no git conflict markers: nobody in these worlds writes about them.
    pub(crate) fn judge_text(&mut self, text: &str) {
        if text.contains("\n<<<<<<< ") {
            self.violated("I4", "conflict markers of git are published".to_owned());
        }
    }

    /// Checks the guards at a DELETE: a witness, and not too many deletions (I5, I16).
    pub(crate) fn judge_delete(&mut self, id: ArticleId) {
        // A file that a person removed before its id was in it is recognised by its words.
        let words = self.kb.articles.get(&id).map(|article| article.tokens);
        let words = words.unwrap_or_default();
        let mut kept = words.without(&self.ledger.removed);
        // A colleague's edit since the last read cannot be known, even if it replaced words that the writer removed.
        let read = self.ledger.read.get(&id).map(|(at, _)| at);
        let article = self.kb.articles.get(&id);
        let before = article.and_then(|article| article.before.as_ref());
        let mut all = words;
        for part in before.iter().flat_map(|(title, text)| [title, text]) {
            all.add(&Tokens::of(part.as_bytes()));
        }
        if self.ledger.edited.get(&id) > read && !all.and(&self.ledger.removed).is_empty() {
            kept.remove(&self.ledger.fresh);
        }
        for (_, other) in self.kb.articles.iter().filter(|(other, _)| **other != id) {
            kept.remove(&other.tokens);
        }
        // Nor do words in another article's file count, even if that article is gone.
        let slug = article.map(|article| article.slug.as_str());
        self.mirror.each(&mut |folder, name, bytes, _| {
            let anothers = id_of(bytes).is_some_and(|other| other != id);
            if anothers && is_article(folder, name) && name.strip_suffix(".html") != slug {
                kept.remove(&Tokens::of(bytes));
            }
        });
        if !self.ledger.withdrawn.contains(&id) && !kept.is_empty() && !self.is_back_unseen(id) {
            self.violated(
                "I5",
                format!("article {id} is deleted, and nobody took its file away"),
            );
        }
        if self.ledger.doubt {
            self.violated(
                "I5",
                format!("article {id} is deleted in a cycle in which the looking failed"),
            );
        }
        if self.ledger.allow_deletes || self.ledger.released.contains(&id) {
            return;
        }
        if self.ledger.head_moved {
            self.violated(
                "I5",
                format!("article {id} is deleted, though git moved HEAD"),
            );
        }
        let ledger = &mut self.ledger;
        ledger.deleted += 1;
        if ledger.deleted > ledger.limit {
            let (deleted, limit) = (ledger.deleted, ledger.limit);
            self.violated(
                "I16",
                format!("{deleted} articles are deleted in one cycle, more than {limit}"),
            );
        }
    }

    /// Returns whether all files of an article came back after kbsync last looked at their places, provided that the
    /// look came after kbsync's last request but this one.
    ///
    /// Nobody can know of a change between that look and the DELETE. The file stays, and waits for a person's decision.
    fn is_back_unseen(&self, id: ArticleId) -> bool {
        let Some(back) = self.ledger.came_back.get(&id) else {
            return false;
        };
        let mut unseen = true;
        self.mirror.each(&mut |folder, name, bytes, _| {
            if is_article(folder, name) && id_of(bytes) == Some(id) {
                let by = |name: &str| {
                    self.ledger
                        .looked
                        .get(&(folder.to_owned(), name.to_owned()))
                };
                let look = by("").max(by(name)).copied().unwrap_or_default();
                unseen &= *back > look.0 && self.requests() - look.1 <= 1;
            }
        });
        unseen
    }

    /// Checks the removal of a file in the same way (I5): returns the violation, if there is one.
    ///
    /// A file that was just written at another place is moved, not removed.
    pub(crate) fn judge_removal(
        &mut self,
        folder: &str,
        name: &str,
        moved: Option<ArticleId>,
    ) -> Option<Violation> {
        let bytes = self.mirror.bytes(folder, name).unwrap_or_default();
        let id = id_of(&bytes);
        if !is_article(folder, name) {
            return None;
        }
        // A move that a kill interrupted, or that the disk neither finished nor took back: an edit at the place that
        // the file leaves is set beside it. I1 checks that the edit is stored.
        let recovers = self.ledger.unfinished && self.requests() == self.began.1;
        if recovers && id.is_some_and(|id| self.has_another_file(id, (folder, name))) {
            self.ledger.set_aside.add(&Tokens::of(&bytes));
            return None;
        }
        if moved.is_some() && moved == id {
            return None;
        }
        if self.ledger.spared == Some(Side::Mirror) {
            return Some(Violation {
                invariant: "I4",
                message: format!("a push takes {folder}/{name} away"),
            });
        }
        let is_there = |id: &ArticleId| {
            self.kb.articles.contains_key(id) && !self.is_copied(*id, folder, name)
        };
        id.filter(is_there).map(|id| Violation {
            invariant: "I5",
            message: format!("{folder}/{name} is removed, and its article {id} is there"),
        })
    }

    fn has_another_file(&self, id: ArticleId, one: (&str, &str)) -> bool {
        let mut found = false;
        self.mirror.each(&mut |folder, name, bytes, _| {
            let is_other = (folder, name) != one && is_article(folder, name);
            found |= is_other && id_of(bytes) == Some(id);
        });
        found
    }

    /// Returns whether all words of a file are in another file with the same id, or were when the file was copied, or
    /// went with its own article, which a colleague deleted before its id was in the file. Then the file is the copy,
    /// an article of its own, and may go with the end of that article. Its original may be gone by then.
    fn is_copied(&self, id: ArticleId, folder: &str, name: &str) -> bool {
        let bytes = self.mirror.bytes(folder, name).unwrap_or_default();
        let words = Tokens::of(&bytes).without(&self.ledger.copied);
        let gone = self.ledger.deleted_there.iter();
        let gone: Vec<&Tokens> = gone.take(self.ledger.deleted_when_seen).collect();
        let all = Tokens::of(&bytes);
        let sent = gone.iter().any(|sent| all.without(sent).is_empty());
        let mut copied = words.is_empty() && !all.is_empty() && sent;
        self.mirror.each(&mut |other, file, bytes, _| {
            let elsewhere = (other, file) != (folder, name) && is_article(other, file);
            if elsewhere && id_of(bytes) == Some(id) {
                let own = words.without(&Tokens::of(bytes));
                // A key of the writer's own goes with its file.
                let rest = own.without(&self.ledger.aside);
                copied |= own.is_empty() || gone.iter().any(|sent| rest.without(sent).is_empty());
            }
        });
        copied
    }

    /// A conflict needs two writers (failures row 67).
    pub(crate) fn judge_conflict(&mut self, id: ArticleId, path: &str) {
        let (folder, name) = path.split_once('/').unwrap_or_default();
        let bytes = self.mirror.bytes(folder, name);
        let named = bytes.is_some_and(|bytes| id_of(&bytes) == Some(id));
        let ledger = &self.ledger;
        if !named || ledger.forgetful || ledger.died || self.setup.rewriting != Rewriting::Nothing {
            return;
        }
        // A folder that lies under another category's name moves with the text that was pulled into it, once its own
        // category is known. A folder whose category kbsync created without an answer is no known place.
        let whose = self.category_of(folder);
        let is_unknown = |id| {
            self.ledger.unanswered_categories.contains(&id)
                && self.mirror.bytes(folder, "_category.yaml").is_none()
        };
        let moved = whose
            .and_then(|id| self.kb.categories.get(&id))
            .is_some_and(|category| category.version.slug != folder)
            || whose.is_some_and(is_unknown);
        let (here, there) = (
            ledger.touched.contains(&id) || ledger.recategorized.contains(&id) || moved,
            ledger.edited.contains_key(&id) || !self.kb.articles.contains_key(&id),
        );
        if !here || !there {
            self.violated(
                "I7",
                format!("{path} is in conflict (changed here: {here}, on the service: {there})"),
            );
        }
    }
}
