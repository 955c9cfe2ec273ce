//! Places in the mirror, and the mapping between slugs and names.
//!
//! A name from the service is never used as a file name: [`stem_for`] is the only way from a slug to a name, and its
//! result is a single portable name, whatever the slug is (failures rows 59, 101 to 103 and 129). A safe slug is its
//! own name, so that [`slug_of_stem`] finds it again. Nothing here reads the disk: the caller knows which names are
//! taken.

pub mod near;

use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt};
use unicode_normalization::UnicodeNormalization as _;
use uuid::Uuid;

/// The ending of an article's file.
pub const EXTENSION: &str = ".html";

/// The file with a category's texts.
pub const CATEGORY_FILE: &str = "_category.yaml";

/// The settings, in the root of the mirror.
pub const SETTINGS_FILE: &str = "kbsync.yaml";

/// The private folder in a mirror: state, lock and socket.
pub const PRIVATE_FOLDER: &str = ".kbsync";

/// The ending of a conflict copy.
pub const CONFLICT_EXTENSION: &str = ".conflict.html";

/// The longest slug that is its own name, in bytes: with prefixes and endings, a name must fit into 255 bytes.
const MAX_STEM: usize = 200;

/// The longest readable part of a name that carries an id, in bytes.
const MAX_SAFE_PART: usize = 150;

/// The name for a slug without usable characters.
const FALLBACK: &str = "page";

/// An article's place: its category's folder and its file's name, ending included.
///
/// Both are single names: no separator, not empty, not `.` or `..`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The category's folder.
    pub folder: String,
    /// The file's name, with `.html`.
    pub file: String,
}

impl Place {
    /// Makes a place from a folder's and a file's name.
    pub fn new(folder: impl Into<String>, file: impl Into<String>) -> Self {
        Self {
            folder: folder.into(),
            file: file.into(),
        }
    }

    /// The file's name without `.html`.
    pub fn stem(&self) -> &str {
        self.file.strip_suffix(EXTENSION).unwrap_or(&self.file)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.folder, self.file)
    }
}

/// A name on disk that cannot stand for a slug.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct NameProblem {
    /// The name, without `.html`.
    pub stem: String,
    /// A similar name that can stand for a slug.
    pub proposal: String,
}

impl NameProblem {
    /// Returns the message about a folder's name.
    pub fn of_folder(&self) -> String {
        format!(
            "the folder's name {:?} cannot be part of a public address; rename the folder to {:?}, or add a `slug:` to its \
             {CATEGORY_FILE}",
            self.stem, self.proposal
        )
    }
}

impl fmt::Display for NameProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the name {:?} cannot be part of a public address; rename the file to `{}{EXTENSION}`, or add a `slug:`",
            self.stem, self.proposal
        )
    }
}

/// Returns whether a slug is safe as the name of a file or a folder.
pub fn safe_stem(slug: &str) -> bool {
    !slug.is_empty()
        && slug.len() <= MAX_STEM
        && slug.chars().all(|c| is_letter_or_digit(c) || "-_.".contains(c))
        && !slug.starts_with(['.', '_'])
        && !slug.ends_with('.')
        && !lower(slug).ends_with(".conflict")
        && slug.nfc().eq(slug.chars())
        && !is_device_name(slug)
        && fold(slug) != SETTINGS_FILE
        // The slug may name a folder or, with the ending, a file: neither name may be ignored later.
        && !is_ignored(slug)
        && !is_ignored(&format!("{slug}{EXTENSION}"))
}

/// Returns the name for a slug: the slug itself if it is safe and free, else a safe form with `~` and digits of the
/// id.
///
/// `taken` is called with [folded](fold) names, without ending. For an article, the caller adds `.html`.
pub fn stem_for(slug: &str, id: Uuid, taken: &dyn Fn(&str) -> bool) -> String {
    if safe_stem(slug) && !taken(&fold(slug)) {
        return slug.to_owned();
    }
    let part = safe_part(slug);
    let digits = id.simple().to_string();
    // Eight digits suffice, except for articles of the same minute (version 7 ids begin with the time).
    (8..digits.len())
        .step_by(4)
        .map(|length| format!("{part}~{}", &digits[..length]))
        .find(|stem| !taken(&fold(stem)))
        .unwrap_or_else(|| format!("{part}~{digits}"))
}

/// Returns the slug of a name without a `slug:` line.
pub fn slug_of_stem(stem: &str) -> Result<String, NameProblem> {
    // Some file systems return names decomposed; the slug is always composed.
    let slug: String = stem.nfc().collect();
    let fits = !slug.is_empty()
        && slug.chars().count() <= super::article::MAX_CHARS
        && slug
            .chars()
            .all(|c| is_letter_or_digit(c) || "-_.".contains(c))
        && !slug.starts_with('.')
        && !slug.ends_with('.');
    if fits {
        return Ok(slug);
    }
    Err(NameProblem {
        stem: stem.to_owned(),
        proposal: slugify(stem),
    })
}

/// Returns the key by which names clash on some file systems: case and Unicode composition are folded.
pub fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    // Upper case, then lower case: so `ß`, `ſ`, `ς` and `ı` meet their equals in every kind of case folding. Folding
    // too much costs an id in a name; folding too little costs a file. Twice, because composing may give a letter that
    // has another case.
    let once = |text: &str| -> String {
        text.nfd()
            .flat_map(char::to_uppercase)
            .flat_map(char::to_lowercase)
            .nfc()
            .collect()
    };
    once(&once(name))
}

/// Returns a name in lower case; nearly always the name itself.
pub fn lower(name: &str) -> Cow<'_, str> {
    let is_lower = |byte: &u8| byte.is_ascii() && !byte.is_ascii_uppercase();
    if name.as_bytes().iter().all(is_lower) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(name.to_lowercase())
    }
}

/// Makes a folder's name readable: `getting-started` becomes `Getting started`.
pub fn readable(folder: &str) -> String {
    let spaced = folder.nfc().collect::<String>().replace(['-', '_'], " ");
    let words = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => folder.to_owned(),
    }
}

/// Makes a slug of a title, for a new file: lower-case ASCII, always a safe name.
pub fn slugify(title: &str) -> String {
    let mut slug = String::new();
    for c in deunicode::deunicode(title).chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') && c != '\'' {
            slug.push('-');
        }
        if slug.len() >= 80 {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    match slug {
        "" => FALLBACK.to_owned(),
        _ if safe_stem(slug) => slug.to_owned(),
        _ => format!("{slug}-{FALLBACK}"),
    }
}

/// Returns whether a name is never an article, a category's folder or `_category.yaml`.
///
/// Hidden names, editors' temporary and backup files, conflict copies of kbsync and of other tools (failures rows 74
/// and 121). The caller excepts `_category.yaml`.
pub fn is_ignored(name: &str) -> bool {
    const ENDINGS: [&str; 8] = [
        CONFLICT_EXTENSION,
        ".swp",
        ".swo",
        ".swx",
        ".tmp",
        "~",
        "___jb_tmp___",
        "___jb_old___",
    ];
    let lower = lower(name);
    name.starts_with(['.', '_'])
        || lower == "4913"
        || ENDINGS.iter().any(|ending| lower.ends_with(ending))
        || (name.len() > 1 && name.starts_with('#') && name.ends_with('#'))
        || lower.contains(".sync-conflict-")
        || (lower.contains("conflicted copy") && lower.contains('('))
        || is_copy_of_cloud(&lower)
}

/// Returns whether a name is that of a conflict copy of ownCloud: `a_conflict-20261128-120000.html`.
fn is_copy_of_cloud(name: &str) -> bool {
    let Some((_, time)) = name.rsplit_once("_conflict-") else {
        return false;
    };
    let time = time.split('.').next().unwrap_or(time).as_bytes();
    let is_digit = |(at, byte): (usize, &u8)| byte.is_ascii_digit() != (at == 8);
    time.len() == 15 && time[8] == b'-' && time.iter().enumerate().all(is_digit)
}

/// Returns whether a character is a letter or a digit. Letters without a width are excluded: with them, two names could
/// look alike.
fn is_letter_or_digit(c: char) -> bool {
    c.is_alphanumeric() && !matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
}

/// Returns whether Windows takes a name for a device, whatever follows the first dot.
fn is_device_name(name: &str) -> bool {
    let stem = lower(name.split('.').next().unwrap_or(name));
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix).is_some_and(|rest| {
            let mut chars = rest.chars();
            let digit = chars
                .next()
                .is_some_and(|c| c.is_ascii_digit() || "¹²³".contains(c));
            digit && chars.next().is_none()
        })
    };
    matches!(&*stem, "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

/// Returns the readable part of a name with an id. The part has no dots, so that it cannot have an ending or be a
/// device name.
fn safe_part(slug: &str) -> String {
    let mut part = String::new();
    for c in slug.nfc() {
        let c = if is_letter_or_digit(c) || c == '_' {
            c
        } else {
            '-'
        };
        if c == '-' && part.ends_with('-') {
            continue;
        }
        if part.len() + c.len_utf8() > MAX_SAFE_PART {
            break;
        }
        part.push(c);
    }
    let part = part.trim_matches(['-', '_']);
    if part.is_empty() {
        FALLBACK.to_owned()
    } else {
        part.nfc().collect()
    }
}

/// Quotes a path for a shell if that is necessary. Control characters are escaped (`$'…'`, which bash, zsh and ksh
/// read), so the result is always one line.
pub fn quoted(path: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@%,".contains(c);
    if path.chars().all(plain) && !path.is_empty() {
        Cow::Borrowed(path)
    } else if path.contains(char::is_control) {
        Cow::Owned(format!("$'{}'", escaped(path, '\'')))
    } else {
        Cow::Owned(format!("'{}'", path.replace('\'', "'\\''")))
    }
}

/// Quotes a path as git does in a diff, if the path has a control character, a quote or a backslash. The result is
/// always one line.
pub fn quoted_as_git(path: &str) -> Cow<'_, str> {
    if path.contains(|c: char| c.is_control() || c == '"' || c == '\\') {
        Cow::Owned(format!("\"{}\"", escaped(path, '"')))
    } else {
        Cow::Borrowed(path)
    }
}

/// Returns the text with C's escapes for control characters, the backslash and the surrounding quote.
fn escaped(text: &str, quote: char) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            c if c == quote || c == '\\' => escaped.extend(['\\', c]),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    escaped.push('\\');
                    escaped.extend(
                        [byte >> 6, byte >> 3 & 7, byte & 7].map(|digit| char::from(b'0' + digit)),
                    );
                }
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
