//! Converts values of the model from and to columns.
//!
//! Ids and digests are stored as bytes, strings as text, and structures that are only read as a whole as JSON. A value
//! that cannot be read back is an error, never a default.

use crate::{
    model::{
        ArticleId, CategoryId, CategoryVersion, Digest, Fingerprint, Flags, Place, Revision, Side,
        Stamp, TextDigest, Timestamp, Version, WorkspaceId,
    },
    state::Visibility,
};
use rusqlite::{
    Row,
    types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, Value, ValueRef},
};
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

/// Inserts a row: takes the beginning of the statement, each column with its value, and the end of the statement.
macro_rules! insert {
    ($tx:expr, $start:literal, { $first:ident: $value:expr $(, $column:ident: $other:expr)* $(,)? } $(, $end:literal)?) => {
        $tx.run(
            concat!(
                $start, " (", stringify!($first) $(, ", ", stringify!($column))*,
                ") VALUES (?" $(, next_value!($column))*, ")" $(, " ", $end)?
            ),
            rusqlite::params![$value $(, $other)*],
        )
    };
}

macro_rules! next_value {
    ($column:ident) => {
        ", ?"
    };
}

/// Makes types that are stored as one value: takes the stored value, and the conversion back from it.
macro_rules! column {
    ($($name:ident: $to:expr, $stored:ty => $from:expr;)*) => {$(
        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                let to: fn(&Self) -> ValueRef<'_> = $to;
                Ok(ToSqlOutput::Borrowed(to(self)))
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                <$stored>::column_result(value).map($from)
            }
        }
    )*};
}

column! {
    ArticleId: |id| ValueRef::Blob(id.as_bytes()), [u8; 16] => |id| Self::new(Uuid::from_bytes(id));
    CategoryId: |id| ValueRef::Blob(id.as_bytes()), [u8; 16] => |id| Self::new(Uuid::from_bytes(id));
    WorkspaceId: |id| ValueRef::Blob(id.as_bytes()), [u8; 16] => |id| Self::new(Uuid::from_bytes(id));
    Digest: |digest| ValueRef::Blob(digest.as_bytes()), [u8; 32] => Self::from_bytes;
    TextDigest: |digest| ValueRef::Blob(digest.as_bytes()), [u8; 32] => Self::from_bytes;
    Fingerprint: |fingerprint| ValueRef::Blob(fingerprint.as_bytes()), [u8; 20] => Self::from_bytes;
    Revision: |revision| ValueRef::Text(revision.0.as_bytes()), String => Self;
    Timestamp: |time| ValueRef::Integer(time.0), i64 => Self;
}

macro_rules! word_column {
    ($name:ident: $($variant:ident = $word:literal),*) => {
        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::Borrowed(ValueRef::Text(match self {
                    $(Self::$variant => $word.as_bytes(),)*
                })))
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                match value.as_str()? {
                    $($word => Ok(Self::$variant),)*
                    other => Err(FromSqlError::other(UnknownWord(other.to_owned()))),
                }
            }
        }
    };
}

word_column!(Side: Local = "local", Remote = "remote", Both = "both");
word_column!(Visibility: Published = "published", Unpublished = "unpublished", NotVisible = "not_visible", Gone = "gone");

/// A word in a column that no version of the schema writes there.
#[derive(Debug, thiserror::Error)]
#[error("unknown word {0:?}")]
struct UnknownWord(String);

/// A value that is only read as a whole.
pub(super) struct Json<T>(pub(super) T);

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        serde_json::to_string(&self.0)
            .map(|text| ToSqlOutput::Owned(Value::Text(text)))
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
    }
}

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?)
            .map(Self)
            .map_err(FromSqlError::other)
    }
}

/// Reads a place from two columns.
pub(super) fn place(row: &Row<'_>, at: usize) -> rusqlite::Result<Place> {
    Ok(Place {
        folder: row.get(at)?,
        file: row.get(at + 1)?,
    })
}

/// Reads an article's version from six columns.
pub(super) fn version(row: &Row<'_>, at: usize) -> rusqlite::Result<Version> {
    Ok(Version {
        title: row.get(at)?,
        slug: row.get(at + 1)?,
        category: row.get(at + 2)?,
        introtext: row.get(at + 3)?,
        keywords: row.get(at + 4)?,
        text: row.get(at + 5)?,
    })
}

/// Reads an article's version from six columns that are NULL where the version equals another version.
pub(super) fn version_like(row: &Row<'_>, at: usize, other: &Version) -> rusqlite::Result<Version> {
    Ok(Version {
        title: text_like(row, at, &other.title)?,
        slug: text_like(row, at + 1, &other.slug)?,
        category: row.get::<_, Option<_>>(at + 2)?.unwrap_or(other.category),
        introtext: text_like(row, at + 3, &other.introtext)?,
        keywords: text_like(row, at + 4, &other.keywords)?,
        text: row.get::<_, Option<_>>(at + 5)?.unwrap_or(other.text),
    })
}

fn text_like(row: &Row<'_>, at: usize, other: &str) -> rusqlite::Result<String> {
    row.get::<_, Option<String>>(at)
        .map(|own| own.unwrap_or_else(|| other.to_owned()))
}

/// Returns a value to store; `None`: it equals the other value.
pub(super) fn unless_equal<'a, T: PartialEq>(value: &'a T, other: &T) -> Option<&'a T> {
    (value != other).then_some(value)
}

/// Reads a category's version from four columns.
pub(super) fn category_version(row: &Row<'_>, at: usize) -> rusqlite::Result<CategoryVersion> {
    Ok(CategoryVersion {
        name: row.get(at)?,
        slug: row.get(at + 1)?,
        description: row.get(at + 2)?,
        meta_description: row.get(at + 3)?,
    })
}

/// Reads `enabled` and `draft` from two columns.
pub(super) fn flags(row: &Row<'_>, at: usize) -> rusqlite::Result<Flags> {
    Ok(Flags {
        enabled: row.get(at)?,
        draft: row.get(at + 1)?,
    })
}

/// Reads a stamp from four columns; NULL in the first column means no stamp.
pub(super) fn stamp(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Stamp>> {
    let Some(size) = row.get::<_, Option<i64>>(at)? else {
        return Ok(None);
    };
    Ok(Some(Stamp {
        size: size.cast_unsigned(),
        mtime: row.get(at + 1)?,
        ctime: row.get(at + 2)?,
        inode: row.get::<_, i64>(at + 3)?.cast_unsigned(),
    }))
}

/// Splits a stamp into columns. Columns are signed: large inodes keep their bits, not their sign.
pub(super) fn stamp_columns(stamp: Option<Stamp>) -> [Option<i64>; 4] {
    stamp.map_or([None; 4], |stamp| {
        [
            Some(stamp.size.cast_signed()),
            Some(stamp.mtime),
            Some(stamp.ctime),
            Some(stamp.inode.cast_signed()),
        ]
    })
}

/// Reads a count that cannot be negative.
pub(super) fn count(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(at)?;
    u64::try_from(number).map_err(|_negative| rusqlite::Error::IntegralValueOutOfRange(at, number))
}
