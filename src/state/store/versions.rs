//! The history: every version that was seen, by subject, numbered from 1.
//!
//! A version keeps its number as long as it keeps its subject. When the versions of a file are added to those of an
//! article, all of them are numbered anew, in the order in which they were recorded.

use super::{
    Store, Writing, all,
    columns::{count, place, version},
    one,
};
use crate::{
    model::{
        ArticleId, Digest, Place, Side, TextDigest,
        path::{CATEGORY_FILE, CONFLICT_EXTENSION},
    },
    state::{SeenVersion, StateResult, StoredVersion, Subject},
};
use rusqlite::{Connection, Row, params};

macro_rules! columns {
    () => {
        "number, at, versions.folder, versions.file, side, cause, \
         title, slug, category, introtext, keywords, text, whole"
    };
}

impl Store {
    /// Lists the versions of a subject, newest first, without their bodies.
    pub fn versions(&self, subject: &Subject) -> StateResult<Vec<StoredVersion>> {
        let Some(key) = self.read(|conn| find(conn, subject))? else {
            return Ok(Vec::new());
        };
        self.all(
            concat!(
                "SELECT ",
                columns!(),
                " FROM versions WHERE subject = ?1 ORDER BY number DESC"
            ),
            [key],
            |row| kept(row, subject.clone()),
        )
    }

    /// Lists the subjects that are or were at a place: the present subject first, then the others, latest first.
    pub fn subjects_at(&self, place: &Place) -> StateResult<Vec<Subject>> {
        let present = self.articles_at(place)?.into_iter();
        let present = present.map(|article| Subject::Article(article.id));
        let mut subjects: Vec<Subject> = present.collect();
        if place.file == CATEGORY_FILE {
            let categories = self.categories()?.into_iter();
            let present = categories.filter(|row| row.folder.as_ref() == Some(&place.folder));
            subjects.extend(present.map(|row| Subject::category(row.id)));
        }
        let recorded: Vec<Subject> = self.all(
            "SELECT article, subjects.folder, subjects.file, max(at) FROM versions \
             JOIN subjects ON subjects.id = versions.subject \
             WHERE versions.folder = ?1 AND versions.file = ?2 \
             GROUP BY subjects.id ORDER BY max(at) DESC, subjects.id DESC",
            params![place.folder, place.file],
            |row| subject(row, 0),
        )?;
        for subject in recorded {
            if !subjects.contains(&subject) {
                subjects.push(subject);
            }
        }
        Ok(subjects)
    }

    /// Lists the last version of every article that has no base any more, latest first, without articles that were only
    /// seen on the service and were never in the mirror.
    pub fn deleted_articles(&self) -> StateResult<Vec<StoredVersion>> {
        self.all(
            concat!(
                "SELECT ",
                columns!(),
                ", article, subjects.folder, subjects.file \
                 FROM subjects JOIN versions ON versions.subject = subjects.id \
                 WHERE article IS NOT NULL AND article NOT IN (SELECT id FROM articles) \
                 AND EXISTS (SELECT 1 FROM versions AS met \
                   WHERE met.subject = subjects.id AND met.side <> ?1) \
                 AND number = (SELECT max(number) FROM versions WHERE subject = subjects.id) \
                 ORDER BY at DESC, subjects.id DESC"
            ),
            [Side::Remote],
            |row| kept(row, subject(row, 13)?),
        )
    }

    /// Finds the newest version of an article with this digest that was superseded on this side, or on both. If this
    /// side shows the digest again, the change is a roll-back. Conflict copies supersede nothing, because their content
    /// was never in the file; nor do files that were not ready, whose body is the whole file.
    pub fn superseded_version(
        &self,
        id: ArticleId,
        digest: Digest,
        side: Side,
    ) -> StateResult<Option<u64>> {
        self.one(
            "SELECT number FROM versions, (SELECT id AS key FROM subjects WHERE article = ?1) \
             WHERE subject = key AND digest = ?2 AND EXISTS ( \
               SELECT 1 FROM versions AS later WHERE later.subject = key \
               AND later.number > versions.number AND later.digest <> ?2 \
               AND later.side IN (?3, 'both') AND later.file NOT LIKE ?4 \
               AND later.whole IS NOT later.text) \
             ORDER BY number DESC LIMIT 1",
            params![id, digest, side, copies()],
            |row| count(row, 0),
        )
    }

    /// Reads the sides and digests of the last four changes that one side alone made, newest first.
    ///
    /// A version that was recorded again only because its file moved is no change; nor is a conflict copy, or a file
    /// that was not ready.
    pub fn recent_exchange(&self, id: ArticleId) -> StateResult<Vec<(Side, Digest)>> {
        let recent: Vec<(Side, Digest)> = self.all(
            "SELECT side, digest FROM versions \
             WHERE subject = (SELECT id FROM subjects WHERE article = ?1) AND file NOT LIKE ?2 \
             AND whole IS NOT text \
             ORDER BY number DESC LIMIT 32",
            params![id, copies()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let known_before = |index: usize, side: Side| {
            let mut older = recent.iter().skip(index + 1);
            older.find(|(other, _)| *other == side || *other == Side::Both)
        };
        Ok(recent
            .iter()
            .enumerate()
            .filter(|(index, (side, digest))| {
                *side != Side::Both
                    && known_before(*index, *side).is_none_or(|(_, before)| before != digest)
            })
            .map(|(_, change)| *change)
            .take(4)
            .collect())
    }
}

impl Writing<'_> {
    /// Adds a version to the history, and returns its number.
    ///
    /// `None`: the last version of its side is the same, at the same place, and the file has nothing new either. The
    /// caller puts the bodies.
    pub fn record(&mut self, seen: &SeenVersion) -> StateResult<Option<u64>> {
        let (key, last) = match find(self.sql()?, &seen.subject)? {
            Some(key) => (key, last_of(self.sql()?, key)?),
            None => (self.add_subject(&seen.subject)?, Vec::new()),
        };
        let digest = seen.version.digest();
        // If the only version was seen on the service alone, the agreement on it replaces it, under the same number.
        let is_met = matches!(last.as_slice(), [met] if seen.side == Side::Both
            && met.side == Side::Remote
            && met.digest == digest);
        let number = last
            .first()
            .map_or(1, |last| last.number + i64::from(!is_met));
        // A text that somebody wrote into a conflict copy belongs to neither side.
        let is_copy = |place: &Place| place.file.ends_with(CONFLICT_EXTENSION);
        let alike = last.into_iter();
        let alike = alike.filter(|last| is_copy(&last.place) == is_copy(&seen.place));
        let alike: Vec<Last> = alike.take(2).collect();
        if adds_nothing(&alike, seen, digest) {
            return Ok(None);
        }
        let words = &seen.version;
        insert!(self, "INSERT OR REPLACE INTO versions", {
            subject: key,
            number: number,
            at: self.now,
            folder: seen.place.folder,
            file: seen.place.file,
            side: seen.side,
            cause: seen.cause,
            title: words.title,
            slug: words.slug,
            category: words.category,
            introtext: words.introtext,
            keywords: words.keywords,
            text: words.text,
            whole: seen.file,
            digest: digest,
        })?;
        Ok(u64::try_from(number).ok())
    }

    /// Moves the versions of a subject to another subject: the versions of a new file become the article's history.
    ///
    /// If both subjects have versions, all versions are numbered anew in the order in which they were recorded.
    pub fn rename_subject(&mut self, from: &Subject, to: &Subject) -> StateResult<()> {
        if from == to {
            return Ok(());
        }
        let Some(old) = find(self.sql()?, from)? else {
            return Ok(());
        };
        if let Some(new) = find(self.sql()?, to)? {
            self.interleave(old, new)?;
        } else {
            let new = self.add_subject(to)?;
            self.run(
                "UPDATE versions SET subject = ?2 WHERE subject = ?1",
                [old, new],
            )?;
        }
        self.run("DELETE FROM subjects WHERE id = ?1", [old])
    }

    fn interleave(&mut self, old: i64, new: i64) -> StateResult<()> {
        // The running maximum keeps each subject's own order when a clock went back. Numbers are negative meanwhile, so
        // that no two versions have the same number.
        self.run(
            "UPDATE versions SET subject = ?2, number = -ranked.rank FROM ( \
               SELECT s, n, row_number() OVER (ORDER BY moment, s <> ?1, n) AS rank FROM ( \
                 SELECT subject AS s, number AS n, \
                 max(at) OVER (PARTITION BY subject ORDER BY number) AS moment \
                 FROM versions WHERE subject IN (?1, ?2))) AS ranked \
             WHERE subject = ranked.s AND number = ranked.n",
            [old, new],
        )?;
        self.run(
            "UPDATE versions SET number = -number WHERE subject = ?1",
            [new],
        )
    }

    fn add_subject(&mut self, subject: &Subject) -> StateResult<i64> {
        let (article, place) = match subject {
            Subject::Article(id) => (Some(*id), None),
            Subject::File(place) => (None, Some(place)),
        };
        insert!(self, "INSERT INTO subjects", {
            article: article,
            folder: place.map(|place| &place.folder),
            file: place.map(|place| &place.file),
        })?;
        Ok(self.sql()?.last_insert_rowid())
    }
}

/// One of the last recorded versions of a subject.
struct Last {
    number: i64,
    side: Side,
    digest: Digest,
    whole: Option<TextDigest>,
    place: Place,
}

impl Last {
    /// Returns whether a new version equals this version. A new version without its whole file is compared by place and
    /// digest only.
    fn equals(&self, seen: &SeenVersion, digest: Digest) -> bool {
        self.digest == digest
            && self.place == seen.place
            && (seen.file.is_none() || seen.file == self.whole)
    }
}

/// The pattern of the names of conflict copies, for SQL.
fn copies() -> String {
    format!("%{CONFLICT_EXTENSION}")
}

/// Returns whether a version is known: it equals the last version, or the two sides differ, as in a conflict, and it
/// equals the last version of its side. An agreement of both sides is recorded once.
fn adds_nothing(last: &[Last], seen: &SeenVersion, digest: Digest) -> bool {
    match last {
        [newest, ..] if seen.side == Side::Both => {
            newest.side == Side::Both && newest.equals(seen, digest)
        }
        [newest, ..] if newest.equals(seen, digest) => true,
        [newest, before] => {
            newest.side != Side::Both
                && newest.side != seen.side
                && before.side == seen.side
                && before.equals(seen, digest)
        }
        [] | [_] | [_, _, ..] => false,
    }
}

/// The last versions of a subject, newest first: enough for two versions, although one or two conflict copies may be
/// among them.
fn last_of(conn: &Connection, subject: i64) -> rusqlite::Result<Vec<Last>> {
    let sql = "SELECT number, side, digest, whole, folder, file FROM versions WHERE subject = ?1 \
               ORDER BY number DESC LIMIT 4";
    all(conn, sql, [subject], |row| {
        Ok(Last {
            number: row.get(0)?,
            side: row.get(1)?,
            digest: row.get(2)?,
            whole: row.get(3)?,
            place: place(row, 4)?,
        })
    })
}

fn find(conn: &Connection, subject: &Subject) -> rusqlite::Result<Option<i64>> {
    let key = |row: &Row<'_>| row.get(0);
    match subject {
        Subject::Article(id) => one(
            conn,
            "SELECT id FROM subjects WHERE article = ?1",
            [id],
            key,
        ),
        Subject::File(place) => {
            let sql = "SELECT id FROM subjects WHERE folder = ?1 AND file = ?2";
            one(conn, sql, [&place.folder, &place.file], key)
        }
    }
}

fn subject(row: &Row<'_>, at: usize) -> rusqlite::Result<Subject> {
    Ok(match row.get(at)? {
        Some(id) => Subject::Article(id),
        None => Subject::File(place(row, at + 1)?),
    })
}

fn kept(row: &Row<'_>, subject: Subject) -> rusqlite::Result<StoredVersion> {
    Ok(StoredVersion {
        number: count(row, 0)?,
        at: row.get(1)?,
        seen: SeenVersion {
            subject,
            place: place(row, 2)?,
            side: row.get(4)?,
            cause: row.get(5)?,
            version: version(row, 6)?,
            file: row.get(12)?,
        },
    })
}
