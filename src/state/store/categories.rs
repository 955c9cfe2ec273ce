//! The base of the categories.

use super::{
    Store, Writing,
    columns::{category_version, stamp, stamp_columns},
    one,
};
use crate::{
    model::CategoryId,
    state::{CategoryRow, Outcome},
};
use rusqlite::{Row, params};

macro_rules! columns {
    () => {
        "id, folder, local_name, local_slug, local_description, local_meta_description, \
         remote_name, remote_slug, remote_description, remote_meta_description, \
         revision, read_at, stamp_size, stamp_mtime, stamp_ctime, stamp_inode"
    };
}

const ALL: &str = concat!("SELECT ", columns!(), " FROM categories");
const ONE: &str = concat!("SELECT ", columns!(), " FROM categories WHERE id = ?1");
const PUT: &str = concat!(
    "INSERT OR REPLACE INTO categories (",
    columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
);

impl Store {
    /// Reads the base of all categories, by id.
    pub fn categories(&self) -> Outcome<Vec<CategoryRow>> {
        self.all(ALL, [], row)
    }

    /// Reads the base of one category.
    pub fn category(&self, id: CategoryId) -> Outcome<Option<CategoryRow>> {
        self.one(ONE, [id], row)
    }
}

impl Writing<'_> {
    /// Writes the base of one category, in place of what was there.
    pub fn put_category(&mut self, category: &CategoryRow) -> Outcome<()> {
        self.end_rest_before_category(category)?;
        let (local, remote) = (&category.local, &category.remote);
        let [size, mtime, ctime, inode] = stamp_columns(category.stamp);
        self.run(
            PUT,
            params![
                category.id,
                category.folder,
                local.name,
                local.slug,
                local.description,
                local.meta_description,
                remote.name,
                remote.slug,
                remote.description,
                remote.meta_description,
                category.revision,
                category.read_at,
                size,
                mtime,
                ctime,
                inode,
            ],
        )
    }

    /// Reads the base of one category as this transaction sees it.
    pub(super) fn category(&self, id: CategoryId) -> Outcome<Option<CategoryRow>> {
        Ok(one(self.sql()?, ONE, [id], row)?)
    }

    /// Forgets the base of one category.
    pub fn remove_category(&mut self, id: CategoryId) -> Outcome<()> {
        self.end_rest()?;
        self.run("DELETE FROM categories WHERE id = ?1", [id])
    }
}

fn row(row: &Row<'_>) -> rusqlite::Result<CategoryRow> {
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
