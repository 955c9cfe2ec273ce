//! The base: a row for each article and category on which both sides agreed, and the mark that the base is at rest.
//!
//! The base is at rest if the last full look left nothing open, and since then no row was written that a partial look
//! could miss. The engine chooses the value of the mark. A write removes the mark if it changes a category's texts, a
//! conflict, an article's place or the set of articles, or if the row waits for another write.

use super::{
    Store, Writing,
    columns::{
        Json, category_version, flags, place, stamp, stamp_columns, unless_equal, version,
        version_like,
    },
    one,
};
use crate::{
    model::{ArticleId, CategoryId, Place, base::IndexRow},
    state::{ArticleRow, CategoryRow, StateResult},
};
use rusqlite::{Row, params};

/// The columns that are read: an older state has the last superseded version in columns of its own.
macro_rules! article_columns {
    () => {
        "id, folder, file, \
         local_title, local_slug, local_category, local_introtext, local_keywords, local_text, \
         remote_title, remote_slug, remote_category, remote_introtext, remote_keywords, remote_text, \
         revision, file_enabled, file_draft, remote_enabled, remote_draft, visibility, \
         stamp_size, stamp_mtime, stamp_ctime, stamp_inode, written, replaced_before, \
         replaced_digest, replaced_revision"
    };
}

/// A query for columns.
macro_rules! select {
    ($columns:ident, $from:literal) => {
        concat!("SELECT ", $columns!(), " FROM ", $from)
    };
}

const ALL: &str = select!(article_columns, "articles");
const ONE: &str = select!(article_columns, "articles WHERE id = ?1");
const AT_PLACE: &str = select!(article_columns, "articles WHERE folder = ?1 AND file = ?2");

/// The columns of the index `articles_index`, and no others.
macro_rules! index_columns {
    () => {
        "id, folder, file, stamp_size, stamp_mtime, stamp_ctime, stamp_inode, \
         remote_digest, revision, written IS revision, visibility, remote_enabled, remote_draft"
    };
}

pub(super) const INDEX: &str = select!(index_columns, "articles ORDER BY folder, file");
pub(super) const HIDDEN: &str = select!(
    index_columns,
    "articles WHERE visibility <> 'published' ORDER BY folder, file"
);

impl Store {
    /// Reads the base of all articles in one pass, by id.
    pub fn articles(&self) -> StateResult<Vec<ArticleRow>> {
        self.all(ALL, [], row)
    }

    /// Counts the articles.
    pub fn article_count(&self) -> StateResult<usize> {
        let count: Option<i64> = self.one("SELECT count(*) FROM articles", [], |row| row.get(0))?;
        Ok(usize::try_from(count.unwrap_or_default()).unwrap_or(0))
    }

    /// Reads the base of one article.
    pub fn article(&self, id: ArticleId) -> StateResult<Option<ArticleRow>> {
        self.one(ONE, [id], row)
    }

    /// Finds the articles whose base has this place; there is more than one only while names are being swapped.
    pub fn articles_at(&self, place: &Place) -> StateResult<Vec<ArticleRow>> {
        self.all(AT_PLACE, params![place.folder, place.file], row)
    }

    /// Reads the index, by place.
    pub fn index(&self) -> StateResult<Vec<IndexRow>> {
        self.all(INDEX, [], index_row)
    }

    /// Reads the rows of articles that readers do not see.
    pub fn hidden_articles(&self) -> StateResult<Vec<IndexRow>> {
        self.all(HIDDEN, [], index_row)
    }

    /// Reads the base of all categories, by id.
    pub fn categories(&self) -> StateResult<Vec<CategoryRow>> {
        self.all(ALL_CATEGORIES, [], category_row)
    }

    /// Reads the base of one category.
    pub fn category(&self, id: CategoryId) -> StateResult<Option<CategoryRow>> {
        self.one(ONE_CATEGORY, [id], category_row)
    }

    /// Returns the mark, while the base is at rest.
    pub fn at_rest(&self) -> StateResult<Option<String>> {
        self.meta(AT_REST)
    }
}

impl Writing<'_> {
    /// Writes or replaces the base of one article.
    pub fn put_article(&mut self, article: &ArticleRow) -> StateResult<()> {
        self.end_rest_before_article(article)?;
        let (local, remote) = (&article.local, &article.remote);
        let [size, mtime, ctime, inode] = stamp_columns(article.stamp);
        let local_digest = local.digest();
        let remote_digest = if remote == local {
            local_digest
        } else {
            remote.digest()
        };
        insert!(self, "INSERT OR REPLACE INTO articles", {
            id: article.id,
            folder: article.place.folder,
            file: article.place.file,
            local_title: local.title,
            local_slug: local.slug,
            local_category: local.category,
            local_introtext: local.introtext,
            local_keywords: local.keywords,
            local_text: local.text,
            remote_title: unless_equal(&remote.title, &local.title),
            remote_slug: unless_equal(&remote.slug, &local.slug),
            remote_category: unless_equal(&remote.category, &local.category),
            remote_introtext: unless_equal(&remote.introtext, &local.introtext),
            remote_keywords: unless_equal(&remote.keywords, &local.keywords),
            remote_text: unless_equal(&remote.text, &local.text),
            revision: article.revision,
            file_enabled: article.file_flags.enabled,
            file_draft: article.file_flags.draft,
            remote_enabled: article.remote_flags.enabled,
            remote_draft: article.remote_flags.draft,
            visibility: article.visibility,
            stamp_size: size,
            stamp_mtime: mtime,
            stamp_ctime: ctime,
            stamp_inode: inode,
            written: article.written,
            replaced_before: (!article.superseded.is_empty()).then_some(Json(&article.superseded)),
            local_digest: local_digest,
            remote_digest: remote_digest,
        })
    }

    /// Deletes the base of one article. The article's versions stay in the history.
    pub fn remove_article(&mut self, id: ArticleId) -> StateResult<()> {
        self.end_rest()?;
        self.run("DELETE FROM articles WHERE id = ?1", [id])
    }

    /// Reads the base of one article as this transaction sees it.
    pub fn article(&self, id: ArticleId) -> StateResult<Option<ArticleRow>> {
        Ok(one(self.sql()?, ONE, [id], row)?)
    }

    /// Writes or replaces the base of one category.
    pub fn put_category(&mut self, category: &CategoryRow) -> StateResult<()> {
        self.end_rest_before_category(category)?;
        let (local, remote) = (&category.local, &category.remote);
        let [size, mtime, ctime, inode] = stamp_columns(category.stamp);
        insert!(self, "INSERT OR REPLACE INTO categories", {
            id: category.id,
            folder: category.folder,
            local_name: local.name,
            local_slug: local.slug,
            local_description: local.description,
            local_meta_description: local.meta_description,
            remote_name: remote.name,
            remote_slug: remote.slug,
            remote_description: remote.description,
            remote_meta_description: remote.meta_description,
            revision: category.revision,
            read_at: category.read_at,
            stamp_size: size,
            stamp_mtime: mtime,
            stamp_ctime: ctime,
            stamp_inode: inode,
        })
    }

    /// Reads the base of one category as this transaction sees it.
    pub(super) fn category(&self, id: CategoryId) -> StateResult<Option<CategoryRow>> {
        Ok(one(self.sql()?, ONE_CATEGORY, [id], category_row)?)
    }

    /// Deletes the base of one category.
    pub fn remove_category(&mut self, id: CategoryId) -> StateResult<()> {
        self.end_rest()?;
        self.run("DELETE FROM categories WHERE id = ?1", [id])
    }

    /// Marks the base as at rest.
    pub fn rest(&mut self, mark: &str) -> StateResult<()> {
        self.set_meta(AT_REST, mark)
    }

    /// Removes the mark.
    pub fn end_rest(&mut self) -> StateResult<()> {
        self.remove_meta(AT_REST)
    }

    fn is_at_rest(&self) -> StateResult<bool> {
        let sql = "SELECT 1 FROM meta WHERE key = ?1";
        Ok(one(self.sql()?, sql, [AT_REST], |_row| Ok(()))?.is_some())
    }

    /// Removes the mark before a write of an article's row, unless only its versions change.
    fn end_rest_before_article(&mut self, row: &ArticleRow) -> StateResult<()> {
        if !self.is_at_rest()? {
            return Ok(());
        }
        let waits =
            row.local.slug != row.remote.slug || row.has_superseded(&row.remote, &row.revision);
        if waits || self.place_of(row.id)?.as_ref() != Some(&row.place) {
            self.end_rest()?;
        }
        Ok(())
    }

    /// Removes the mark before a write of a category's row, unless only its times change.
    fn end_rest_before_category(&mut self, row: &CategoryRow) -> StateResult<()> {
        if !self.is_at_rest()? {
            return Ok(());
        }
        let same = self.category(row.id)?.is_some_and(|known| {
            (&known.folder, &known.local, &known.remote) == (&row.folder, &row.local, &row.remote)
        });
        if same { Ok(()) } else { self.end_rest() }
    }

    fn place_of(&self, id: ArticleId) -> StateResult<Option<Place>> {
        let sql = "SELECT folder, file FROM articles WHERE id = ?1";
        Ok(one(self.sql()?, sql, [id], |row| place(row, 0))?)
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
    let remote = version_like(row, 9, &local)?;
    let json: Option<Json<_>> = row.get(26)?;
    let mut superseded = json.map_or_else(Vec::new, |json| json.0);
    if let Some(digest) = row.get(27)? {
        superseded.insert(0, (digest, row.get(28)?));
    }
    Ok(ArticleRow {
        id: row.get(0)?,
        place: place(row, 1)?,
        local,
        remote,
        revision: row.get(15)?,
        file_flags: flags(row, 16)?,
        remote_flags: flags(row, 18)?,
        visibility: row.get(20)?,
        stamp: stamp(row, 21)?,
        superseded,
        written: row.get(25)?,
    })
}

macro_rules! category_columns {
    () => {
        "id, folder, local_name, local_slug, local_description, local_meta_description, \
         remote_name, remote_slug, remote_description, remote_meta_description, \
         revision, read_at, stamp_size, stamp_mtime, stamp_ctime, stamp_inode"
    };
}

const ALL_CATEGORIES: &str = select!(category_columns, "categories");
const ONE_CATEGORY: &str = select!(category_columns, "categories WHERE id = ?1");

fn category_row(row: &Row<'_>) -> rusqlite::Result<CategoryRow> {
    Ok(CategoryRow {
        id: row.get(0)?,
        folder: row.get(1)?,
        local: category_version(row, 2)?,
        remote: category_version(row, 6)?,
        revision: row.get(10)?,
        read_at: row.get(11)?,
        stamp: stamp(row, 12)?,
    })
}

/// The mark's key.
const AT_REST: &str = "at_rest";
