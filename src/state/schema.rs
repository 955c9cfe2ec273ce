//! The tables: the steps that make them.
//!
//! Steps are only appended, never changed: databases in the field have taken them. `migrate` takes the steps.
//!
//! Ids are 16 bytes, digests 32; times are milliseconds since 1970. A `remote_…` column of an article is NULL if the
//! service has the same value as the file, which is nearly always so.

/// The steps from an empty database to the present schema.
pub(super) const STEPS: &[&str] = &[
    FIRST,
    TOMBSTONES_BY_REVISION,
    REPLACED_BEFORE,
    UNCONFIRMED_IDS,
    JOURNAL,
    BACKOFF,
    INDEX,
    SETTLED_COPIES,
    LISTING_ENTRIES,
    CREATIONS,
    WAITING,
    EVENTS_BY_ARTICLE,
];

const FIRST: &str = "
CREATE TABLE binding (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  service TEXT NOT NULL,
  workspace BLOB NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE articles (
  id BLOB NOT NULL PRIMARY KEY,
  folder TEXT NOT NULL,
  file TEXT NOT NULL,
  local_title TEXT NOT NULL,
  local_slug TEXT NOT NULL,
  local_category BLOB NOT NULL,
  local_introtext TEXT NOT NULL,
  local_keywords TEXT NOT NULL,
  local_text BLOB NOT NULL,
  local_text_lf BLOB, -- no longer used
  local_digest BLOB NOT NULL,
  remote_title TEXT,
  remote_slug TEXT,
  remote_category BLOB,
  remote_introtext TEXT,
  remote_keywords TEXT,
  remote_text BLOB,
  remote_digest BLOB NOT NULL,
  revision TEXT NOT NULL,
  file_enabled INTEGER,
  file_draft INTEGER,
  remote_enabled INTEGER,
  remote_draft INTEGER,
  visibility TEXT NOT NULL,
  stamp_size INTEGER,
  stamp_mtime INTEGER,
  stamp_ctime INTEGER,
  stamp_inode INTEGER,
  replaced_digest BLOB,
  replaced_revision TEXT,
  written TEXT,
  asked INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX articles_place ON articles (folder, file);

CREATE TABLE categories (
  id BLOB NOT NULL PRIMARY KEY,
  folder TEXT,
  local_name TEXT NOT NULL,
  local_slug TEXT NOT NULL,
  local_description TEXT NOT NULL,
  local_meta_description TEXT NOT NULL,
  remote_name TEXT NOT NULL,
  remote_slug TEXT NOT NULL,
  remote_description TEXT NOT NULL,
  remote_meta_description TEXT NOT NULL,
  revision TEXT NOT NULL,
  read_at INTEGER NOT NULL,
  stamp_size INTEGER,
  stamp_mtime INTEGER,
  stamp_ctime INTEGER,
  stamp_inode INTEGER
) STRICT, WITHOUT ROWID;

-- put_at: when it was last asked to be kept; a body that nothing names stays for a while.
CREATE TABLE bodies (
  digest BLOB NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  packed BLOB NOT NULL,
  put_at INTEGER NOT NULL
) STRICT;

CREATE TABLE intents (id INTEGER PRIMARY KEY AUTOINCREMENT, json TEXT NOT NULL) STRICT;
CREATE TABLE intent_digests ( -- no longer used
  intent INTEGER NOT NULL REFERENCES intents ON DELETE CASCADE,
  digest BLOB NOT NULL,
  PRIMARY KEY (intent, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE conflicts (
  article BLOB NOT NULL PRIMARY KEY,
  folder TEXT NOT NULL,
  file TEXT NOT NULL,
  local TEXT NOT NULL,
  remote TEXT,
  revision TEXT NOT NULL,
  copy TEXT,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE conflict_digests (
  article BLOB NOT NULL REFERENCES conflicts ON DELETE CASCADE,
  digest BLOB NOT NULL,
  PRIMARY KEY (article, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE parked (
  key TEXT NOT NULL PRIMARY KEY,
  fingerprint BLOB NOT NULL,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A subject is an article, or a file that has no id yet.
CREATE TABLE subjects (
  id INTEGER PRIMARY KEY,
  article BLOB UNIQUE,
  folder TEXT,
  file TEXT,
  UNIQUE (folder, file),
  CHECK ((article IS NULL) = (folder IS NOT NULL) AND (folder IS NULL) = (file IS NULL))
) STRICT;
CREATE TABLE versions (
  subject INTEGER NOT NULL REFERENCES subjects,
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  folder TEXT NOT NULL,
  file TEXT NOT NULL,
  side TEXT NOT NULL,
  cause TEXT NOT NULL,
  title TEXT NOT NULL,
  slug TEXT NOT NULL,
  category BLOB NOT NULL,
  introtext TEXT NOT NULL,
  keywords TEXT NOT NULL,
  text BLOB NOT NULL,
  whole BLOB,
  digest BLOB NOT NULL,
  PRIMARY KEY (subject, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX versions_place ON versions (folder, file);

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  action TEXT NOT NULL,
  side TEXT NOT NULL,
  path TEXT NOT NULL,
  article BLOB,
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX events_path ON events (path);

CREATE TABLE approvals (
  side TEXT NOT NULL,
  kind TEXT NOT NULL,
  held BLOB NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (side, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE deletions (
  at INTEGER NOT NULL,
  side TEXT NOT NULL,
  approved INTEGER NOT NULL,
  count INTEGER NOT NULL
) STRICT;

CREATE TABLE tombstones (
  article BLOB NOT NULL PRIMARY KEY,
  revision TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE figures (
  article BLOB NOT NULL PRIMARY KEY,
  views INTEGER NOT NULL,
  happy INTEGER NOT NULL,
  neutral INTEGER NOT NULL,
  sad INTEGER NOT NULL,
  full_url TEXT
) STRICT, WITHOUT ROWID;
";

/// A stale read may show a deleted article at any of several revisions, so there is a tombstone for each.
const TOMBSTONES_BY_REVISION: &str = "
CREATE TABLE tombstones_by_revision (
  article BLOB NOT NULL,
  revision TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (article, revision)
) STRICT, WITHOUT ROWID;
INSERT INTO tombstones_by_revision SELECT article, revision, at FROM tombstones;
DROP TABLE tombstones;
ALTER TABLE tombstones_by_revision RENAME TO tombstones;
";

/// The versions that our own writes replaced before the last one.
const REPLACED_BEFORE: &str = "ALTER TABLE articles ADD COLUMN replaced_before TEXT;";

/// New articles whose `id:` line may be missing in their file. An older database has them among the rows without a
/// stamp: this step takes all rows without a stamp, and the next scan confirms the articles whose line is there.
const UNCONFIRMED_IDS: &str = "
CREATE TABLE unconfirmed_ids (article BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO unconfirmed_ids
  SELECT id FROM articles WHERE stamp_size IS NULL AND (revision = '' OR written = revision);
";

/// A journal of changes of the mirror. The files that an earlier version was about to change are decided by the two
/// sides as they are found: equal sides are adopted, others go through the three-way merge.
const JOURNAL: &str = r#"
CREATE TABLE journal (
  slot INTEGER PRIMARY KEY AUTOINCREMENT,
  entry TEXT NOT NULL,
  changes TEXT NOT NULL
) STRICT;
CREATE TABLE displaced (
  slot INTEGER PRIMARY KEY,
  folder TEXT NOT NULL,
  file TEXT NOT NULL,
  stamp_size INTEGER NOT NULL,
  stamp_mtime INTEGER NOT NULL,
  stamp_ctime INTEGER NOT NULL,
  stamp_inode INTEGER NOT NULL,
  digest BLOB NOT NULL,
  since INTEGER NOT NULL
) STRICT;
DELETE FROM intents WHERE json LIKE '{"write_file"%' OR json LIKE '{"remove_file"%'
  OR json LIKE '{"write_category"%';
"#;

/// The last questions to the service about objects that it did not list or show, with the answers, in one table for all
/// kinds.
const BACKOFF: &str = "
CREATE TABLE backoff (
  kind TEXT NOT NULL,
  id BLOB NOT NULL,
  last_asked INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  answer TEXT,
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
INSERT INTO backoff SELECT 'article', id, asked, 0, NULL FROM articles
  WHERE asked IS NOT NULL AND visibility <> 'published';
INSERT OR REPLACE INTO backoff
  SELECT 'article', unhex(replace(key, '-', '')), value ->> 'at', 0, json_object('article', json_object(
    'remote', json_object(iif(value ->> 'hidden', 'not_visible', 'unknown'), value ->> 'why'),
    'file', NULL))
  FROM (SELECT value AS stored FROM meta WHERE key = 'strangers'), json_each(stored);
INSERT OR REPLACE INTO backoff
  SELECT 'category', unhex(replace(key, '-', '')), value ->> 'at', 1,
    json_object('category', json_object('why', value ->> 'why', 'foreign', value -> 'foreign'))
  FROM (SELECT value AS stored FROM meta WHERE key = 'unread_categories'), json_each(stored);
DELETE FROM meta WHERE key IN ('strangers', 'unread_categories');
ALTER TABLE articles DROP COLUMN asked;
";

/// An index of the columns that show whether an article changed: a pass over these columns reads no texts. SQLite keeps
/// the index up to date.
const INDEX: &str = "
DROP INDEX IF EXISTS articles_place;
CREATE INDEX IF NOT EXISTS articles_index ON articles (folder, file, stamp_size, stamp_mtime, stamp_ctime,
  stamp_inode, remote_digest, revision, written, visibility, remote_enabled, remote_draft);
";

/// No intent is needed to remove the copy of a settled conflict: the next scan finds the copy.
const SETTLED_COPIES: &str = r#"DELETE FROM intents WHERE json LIKE '{"clear_copy"%';"#;

/// The meaning of each entry of the last listing, in the order of the entries. Nothing else depends on this table.
const LISTING_ENTRIES: &str = "
CREATE TABLE IF NOT EXISTS listing_entries (
  position INTEGER PRIMARY KEY,
  article BLOB NOT NULL,
  fingerprint BLOB NOT NULL,
  said BLOB NOT NULL,
  enabled INTEGER,
  draft INTEGER
) STRICT;
";

/// A request that creates an article now ends when the article's id is in its file, so there is no table of unconfirmed
/// ids any more. An article of that table counts as being restored, so that its missing file does not delete it.
/// Pending requests to categories decide nothing, and are deleted.
const CREATIONS: &str = r#"
DELETE FROM intents WHERE json LIKE '{"create_category"%' OR json LIKE '{"update_category"%';
CREATE TABLE IF NOT EXISTS unconfirmed_ids (article BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT OR REPLACE INTO meta SELECT 'restoring', ids FROM (
  SELECT count(*) AS number, json_group_array(id) AS ids FROM (
    SELECT value AS id FROM (SELECT value AS stored FROM meta WHERE key = 'restoring'), json_each(stored)
    UNION
    SELECT lower(substr(x, 1, 8) || '-' || substr(x, 9, 4) || '-' || substr(x, 13, 4) || '-' || substr(x, 17, 4)
      || '-' || substr(x, 21)) FROM (SELECT hex(article) AS x FROM unconfirmed_ids)))
  WHERE number > 0;
DROP TABLE unconfirmed_ids;
"#;

/// A row for each action that waits, from the lists that `meta` had before.
const WAITING: &str = "
CREATE TABLE IF NOT EXISTS waiting (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  json TEXT NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
INSERT OR REPLACE INTO waiting SELECT iif(list = 'undone', 'failed', list) AS kind,
    value ->> 'action' || ' ' || coalesce(value ->> 'id', value ->> 'path') AS key, value AS json
  FROM (SELECT key AS list, value AS stored FROM main.meta WHERE key IN ('held', 'undone')
    AND json_valid(value)), json_each(stored)
  WHERE type = 'object' AND value ->> 'action' IS NOT NULL AND coalesce(value ->> 'id', value ->> 'path') IS NOT NULL
  UNION ALL SELECT 'restoring', value, json_quote(value)
  FROM (SELECT value AS stored FROM main.meta WHERE key = 'restoring' AND json_valid(value)), json_each(stored)
  WHERE type = 'text'
  UNION ALL SELECT 'gone_back', key, json_array(key, value)
  FROM (SELECT value AS stored FROM main.meta WHERE key = 'gone_back' AND json_valid(value)), json_each(stored)
  WHERE type = 'integer';
DELETE FROM meta WHERE key IN ('held', 'undone', 'restoring', 'gone_back');
";

/// The log of an article is read for each deleted article of a folder.
const EVENTS_BY_ARTICLE: &str =
    "CREATE INDEX IF NOT EXISTS events_article ON events (article, id);";
