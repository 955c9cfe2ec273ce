//! The base: one row per article on which both sides agreed.

use super::{
    Store, Writing,
    columns::{Json, flags, place, stamp, stamp_columns, unless_equal, version, version_like},
    one,
};
use crate::{
    model::{ArticleId, Place, base::IndexRow},
    state::{ArticleRow, Outcome},
};
use rusqlite::{Row, params};

macro_rules! columns {
    () => {
        "id, folder, file, \
         local_title, local_slug, local_category, local_introtext, local_keywords, local_text, \
         local_text_lf, \
         remote_title, remote_slug, remote_category, remote_introtext, remote_keywords, remote_text, \
         revision, file_enabled, file_draft, remote_enabled, remote_draft, visibility, \
         stamp_size, stamp_mtime, stamp_ctime, stamp_inode, \
         replaced_digest, replaced_revision, written, replaced_before"
    };
}

const ALL: &str = concat!("SELECT ", columns!(), " FROM articles");
const ONE: &str = concat!("SELECT ", columns!(), " FROM articles WHERE id = ?1");
const AT_PLACE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM articles WHERE folder = ?1 AND file = ?2"
);
const PUT: &str = concat!(
    "INSERT OR REPLACE INTO articles (",
    columns!(),
    ", local_digest, remote_digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, \
     ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32)"
);

/// The columns of the index `articles_index`, and no others.
macro_rules! index_columns {
    () => {
        "SELECT id, folder, file, stamp_size, stamp_mtime, stamp_ctime, stamp_inode, \
         remote_digest, revision, written IS revision, visibility, remote_enabled, remote_draft \
         FROM articles "
    };
}

pub(super) const INDEX: &str = concat!(index_columns!(), "ORDER BY folder, file");
pub(super) const HIDDEN: &str = concat!(
    index_columns!(),
    "WHERE visibility <> 'published' ORDER BY folder, file"
);

impl Store {
    /// Reads the base of all articles in one pass, by id.
    pub fn articles(&self) -> Outcome<Vec<ArticleRow>> {
        self.all(ALL, [], row)
    }

    /// Counts the articles.
    pub fn article_count(&self) -> Outcome<usize> {
        let count: Option<i64> = self.one("SELECT count(*) FROM articles", [], |row| row.get(0))?;
        Ok(usize::try_from(count.unwrap_or_default()).unwrap_or(0))
    }

    /// Reads the base of one article.
    pub fn article(&self, id: ArticleId) -> Outcome<Option<ArticleRow>> {
        self.one(ONE, [id], row)
    }

    /// Finds the articles whose base has this place; more than one only while names are being swapped.
    pub fn articles_at(&self, place: &Place) -> Outcome<Vec<ArticleRow>> {
        self.all(AT_PLACE, params![place.folder, place.file], row)
    }

    /// Reads the index, by place.
    pub fn index(&self) -> Outcome<Vec<IndexRow>> {
        self.all(INDEX, [], index_row)
    }

    /// Reads the rows of articles that readers do not see.
    pub fn hidden_articles(&self) -> Outcome<Vec<IndexRow>> {
        self.all(HIDDEN, [], index_row)
    }

    /// Returns whether there is the base of any article.
    pub fn has_articles(&self) -> Outcome<bool> {
        let found = self.one("SELECT 1 FROM articles", [], |_row| Ok(()))?;
        Ok(found.is_some())
    }
}

impl Writing<'_> {
    /// Writes the base of one article, in place of what was there.
    pub fn put_article(&mut self, article: &ArticleRow) -> Outcome<()> {
        self.end_rest_before_article(article)?;
        let (local, remote) = (&article.local, &article.remote);
        let [size, mtime, ctime, inode] = stamp_columns(article.stamp);
        let (replaced_digest, replaced_revision) = article
            .replaced
            .as_ref()
            .map(|(digest, revision)| (digest, revision))
            .unzip();
        self.run(
            PUT,
            params![
                article.id,
                article.place.folder,
                article.place.file,
                local.title,
                local.slug,
                local.category,
                local.introtext,
                local.keywords,
                local.text,
                article.local_text_lf,
                unless_equal(&remote.title, &local.title),
                unless_equal(&remote.slug, &local.slug),
                unless_equal(&remote.category, &local.category),
                unless_equal(&remote.introtext, &local.introtext),
                unless_equal(&remote.keywords, &local.keywords),
                unless_equal(&remote.text, &local.text),
                article.revision,
                article.file_flags.enabled,
                article.file_flags.draft,
                article.remote_flags.enabled,
                article.remote_flags.draft,
                article.visibility,
                size,
                mtime,
                ctime,
                inode,
                replaced_digest,
                replaced_revision,
                article.written,
                (!article.earlier.is_empty()).then_some(Json(&article.earlier)),
                local.digest(),
                remote.digest(),
            ],
        )
    }

    /// Forgets the base of one article. Its versions stay in the history.
    pub fn remove_article(&mut self, id: ArticleId) -> Outcome<()> {
        self.end_rest()?;
        self.run("DELETE FROM articles WHERE id = ?1", [id])
    }

    /// Reads the base of one article as this transaction sees it.
    pub fn article(&self, id: ArticleId) -> Outcome<Option<ArticleRow>> {
        Ok(one(self.sql()?, ONE, [id], row)?)
    }
}

fn index_row(row: &Row<'_>) -> rusqlite::Result<IndexRow> {
    Ok(IndexRow {
        id: row.get(0)?,
        place: place(row, 1)?,
        stamp: stamp(row, 3)?,
        remote: row.get(7)?,
        revision: row.get(8)?,
        is_own: row.get(9)?,
        visibility: row.get(10)?,
        flags: flags(row, 11)?,
    })
}

fn row(row: &Row<'_>) -> rusqlite::Result<ArticleRow> {
    let local = version(row, 3)?;
    let remote = version_like(row, 10, &local)?;
    let replaced = match row.get(26)? {
        Some(digest) => Some((digest, row.get(27)?)),
        None => None,
    };
    Ok(ArticleRow {
        id: row.get(0)?,
        place: place(row, 1)?,
        local,
        local_text_lf: row.get(9)?,
        remote,
        revision: row.get(16)?,
        file_flags: flags(row, 17)?,
        remote_flags: flags(row, 19)?,
        visibility: row.get(21)?,
        stamp: stamp(row, 22)?,
        replaced,
        written: row.get(28)?,
        earlier: row
            .get::<_, Option<Json<_>>>(29)?
            .map_or_else(Vec::new, |json| json.0),
    })
}
