//! The parts of a conflict, and the questions about each part at the terminal.
//!
//! Nothing is written here. A person who stops before the last question settles nothing.

use super::{
    ExitCode, ask, context::Context, counts::several, differences::parts, failure::Failure,
    print::escape_block, resolve::in_program, scope::Part,
};
use crate::{
    config::Config,
    mirror::{
        RealDisk,
        disk::{At, Disk as _},
        document::{Document, MAX_FILE},
    },
    model::{CategoryId, Field, TextDigest, Version, base::ConflictRow, path::quoted},
    reconcile::{
        change::{ThreeWay, three_way},
        merge::{Block, BlockClash, blocks, join},
        snapshot::{Bodies, Keep, Parts},
    },
    state::Store,
};
use similar::{ChangeTag, TextDiff};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write as _,
};

/// The most characters that are shown of one side.
const LONG: usize = 300;

/// A place in which the two versions differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Difference {
    /// The line of the person's file; `None`: the value stands in none.
    pub(super) line: Option<usize>,
    pub(super) yours: String,
    pub(super) theirs: String,
}

impl Difference {
    /// Returns the lines that show both sides.
    pub(super) fn sides(&self) -> [String; 2] {
        [("yours:  ", &self.yours), ("theirs: ", &self.theirs)].map(|(name, text)| side(name, text))
    }

    /// Reduces long lines to the changed words and the words around them.
    fn shortened(self) -> Self {
        let (yours, theirs) = (self.yours + "\n", self.theirs + "\n");
        let diff = TextDiff::from_lines(&yours, &theirs);
        let side = |tag| -> String {
            let lines = diff
                .ops()
                .iter()
                .flat_map(|op| diff.iter_inline_changes(op));
            let lines = lines.filter(|line| line.tag() == tag).map(|line| {
                let words = parts(&line, Some(0)).into_iter().map(|(_, part)| part);
                words.collect::<String>().trim().to_owned()
            });
            lines.collect::<Vec<_>>().join(" ")
        };
        Self {
            line: self.line,
            yours: cut(side(ChangeTag::Delete)),
            theirs: cut(side(ChangeTag::Insert)),
        }
    }
}

/// Cuts a text off after a word. `resolve` and `diff` show the whole text.
fn cut(text: String) -> String {
    let Some((end, _)) = text.char_indices().nth(LONG) else {
        return text;
    };
    let end = text[..end].rfind(' ').unwrap_or(end);
    format!("{} …", &text[..end])
}

/// Returns the lines that show one side.
fn side(name: &str, text: &str) -> String {
    let text = match text.trim_end_matches('\n') {
        "" => "(nothing)".to_owned(),
        text => escape_block(text).replace('\n', "\n               "),
    };
    format!("      {name} {text}")
}

/// Reads a file of a workspace; `None`: it cannot be read.
pub(super) fn bytes(part: &Part, path: &str) -> Option<Vec<u8>> {
    let (folder, file) = path.split_once('/')?;
    let disk = RealDisk::open(&part.root.path).ok()?;
    let content = disk.read(At::Folder(folder), file, MAX_FILE);
    Some(content.ok()?.bytes)
}

/// Reads an article's file; `None`: there is no readable article.
pub(super) fn document(part: &Part, path: &str) -> Option<Document> {
    Document::parse_leniently(&bytes(part, path)?).ok()
}

/// Returns the line of a key of the front matter.
fn line_of(document: &Document, key: &str) -> Option<usize> {
    let mut lines = document.source().lines().take(document.lines_before_text());
    Some(lines.position(|line| line.starts_with(key))? + 1)
}

/// Asks about each part of a conflict. `places`: the present path of its file, and former ones. `None`: the person
/// stopped.
pub(super) fn asked(
    context: &Context,
    config: &Config,
    part: &Part,
    row: &ConflictRow,
    places: &[String],
) -> Result<Option<Keep>, Failure> {
    let Some(store) = part.state(config)? else {
        return Ok(None);
    };
    let document = places.iter().find_map(|path| document(part, path));
    match (&document, &row.remote) {
        (Some(document), Some(remote)) => Clashing::of(&store, row, document, remote)?.ask(context),
        (Some(_), None) => deleted(context, part, row),
        (None, _) => {
            let path = part.path(&row.place);
            let path = quoted(&path);
            Err(Failure::new(
                ExitCode::Attention,
                format!("{path} is not there, or cannot be read"),
                format!(
                    "name the present path of a renamed file; `kbsync restore {path}` brings a removed file back, and \
                     `kbsync resolve {path} --keep remote` takes the service's version"
                ),
            ))
        }
    }
}

/// Asks whether a file whose article is gone becomes a new article.
fn deleted(context: &Context, part: &Part, row: &ConflictRow) -> Result<Option<Keep>, Failure> {
    let path = part.path(&row.place);
    context
        .out
        .note(format!("{}: {}", quoted(&path), row.reason));
    let question = "[y]ours (a new article), [t]heirs (no file) or [q]uit?";
    Ok(match ask::letter(question)? {
        Some('y') => Some(Keep::Local),
        Some('t') => Some(Keep::Remote),
        _ => None,
    })
}

/// The parts of an article that clash.
pub(super) struct Clashing<'d> {
    document: &'d Document,
    remote: &'d Version,
    mine: Version,
    /// The service's body.
    theirs: String,
    way: ThreeWay<Version>,
    blocks: Vec<Block>,
    /// The folders of the categories.
    folders: BTreeMap<CategoryId, String>,
}

impl<'d> Clashing<'d> {
    /// Compares the file and the service's version with the base.
    pub(super) fn of(
        store: &Store,
        row: &ConflictRow,
        document: &'d Document,
        remote: &'d Version,
    ) -> Result<Self, Failure> {
        let mine = document.version(row.local.slug.clone(), row.local.category);
        let base = store.article(row.id)?;
        let was = base
            .iter()
            .flat_map(|row| [row.local.text, row.remote.text]);
        let ancestors: Vec<TextDigest> = was.collect();
        let mut bodies = Bodies::new();
        for digest in ancestors.iter().copied().chain([remote.text]) {
            bodies.extend(store.body(digest)?.map(|body| (digest, body.into())));
        }
        bodies.insert(mine.text, document.text().into());
        let text = |digest: TextDigest| bodies.get(&digest).map(AsRef::as_ref);
        let theirs = text(remote.text).unwrap_or_default().to_owned();
        let way = match &base {
            Some(base) => three_way(&base.local, &base.remote, &mine, remote, &bodies),
            None => ThreeWay::first_meeting(&mine, remote),
        };
        let blocks = if way.clashes.iter().any(|(field, _)| *field == Field::Text) {
            let ancestors: Vec<&str> = ancestors.into_iter().filter_map(text).collect();
            blocks(&ancestors, document.text(), &theirs)
        } else {
            vec![Block::Settled(
                text(way.merged.text).unwrap_or_default().to_owned(),
            )]
        };
        let categories = store.categories()?.into_iter();
        Ok(Self {
            document,
            remote,
            mine,
            theirs,
            way,
            blocks,
            folders: categories
                .filter_map(|row| Some((row.id, row.folder?)))
                .collect(),
        })
    }

    /// Returns the fields that clash.
    pub(super) fn fields(&self) -> impl Iterator<Item = Field> {
        self.way.clashes.iter().map(|(field, _)| *field)
    }

    /// Returns the clashes, with long lines reduced to the changed words and the words around them.
    pub(super) fn differences(&self) -> Vec<Difference> {
        let fields = self.fields().filter(|field| *field != Field::Text);
        let blocks = self.blocks.iter().filter_map(|block| match block {
            Block::Clash(clash) => Some(self.of_clash(clash).shortened()),
            Block::Settled(_) => None,
        });
        fields
            .map(|field| self.of_field(field))
            .chain(blocks)
            .collect()
    }

    fn of_clash(&self, clash: &BlockClash) -> Difference {
        Difference {
            line: Some(self.document.lines_before_text() + clash.line + 1),
            yours: clash.local.clone(),
            theirs: clash.remote.clone(),
        }
    }

    /// Asks about one part after another.
    fn ask(&self, context: &Context) -> Result<Option<Keep>, Failure> {
        let fields = self.fields().filter(|field| *field != Field::Text);
        let fields: Vec<Field> = fields.collect();
        let is_clash = |block: &&Block| matches!(block, Block::Clash(_));
        let total = fields.len() + self.blocks.iter().filter(is_clash).count();
        let parts = several(total, "part");
        context.out.note(format!(
            "{parts} in conflict; changes on only one side are merged"
        ));
        let mut theirs = BTreeSet::new();
        let mut at = 0;
        let mut title = |difference: &Difference| {
            at += 1;
            let line = difference.line.map(|line| format!(", line {line}"));
            let line = line.unwrap_or_default();
            context.out.note(format!("{at} of {total}{line}"));
            context.out.note(difference.sides().join("\n"));
        };
        for field in fields {
            title(&self.of_field(field));
            match ask::letter("[y]ours, [t]heirs or [q]uit?")? {
                Some('y') => {}
                Some('t') => drop(theirs.insert(field)),
                _ => return Ok(None),
            }
        }
        let mut answers = Vec::new();
        for block in &self.blocks {
            if let Block::Clash(clash) = block {
                title(&self.of_clash(clash));
                let Some(answer) = of_block(context, clash)? else {
                    return Ok(None);
                };
                answers.push(answer);
            }
        }
        let mut answers = answers.into_iter();
        let next = |_: &BlockClash| answers.next().unwrap_or_default();
        let joined = join(&self.blocks, self.document.text(), &self.theirs, next);
        let text = joined.map_err(|what| {
            Failure::usage(
                format!(
                    "with these answers the markup would be broken: {what}; nothing was settled"
                ),
                "answer again, with [e]dit, or edit the file and delete its conflict copy",
            )
        })?;
        let file = self.mine.digest();
        Ok(Some(Keep::Parts(Parts { file, theirs, text })))
    }

    /// Returns the two values of a field.
    fn of_field(&self, field: Field) -> Difference {
        let key = format!("{field}:");
        let value = |version: &Version| {
            let words = [
                (Field::Title, &version.title),
                (Field::Slug, &version.slug),
                (Field::Introtext, &version.introtext),
                (Field::Keywords, &version.keywords),
            ];
            let words = words.into_iter().find(|(of, _)| *of == field);
            let category = || {
                let folder = self.folders.get(&version.category).cloned();
                folder.unwrap_or_else(|| version.category.to_string())
            };
            let value = words.map_or_else(category, |(_, words)| words.clone());
            format!("{key} {value}")
        };
        Difference {
            line: line_of(self.document, &key),
            yours: value(&self.mine),
            theirs: value(self.remote),
        }
    }
}

/// Asks for the text that replaces a block. `None`: the person stopped.
fn of_block(context: &Context, clash: &BlockClash) -> Result<Option<String>, Failure> {
    let last = clash.base.as_ref().map_or("", |_| ", [o]ld");
    let question = format!("[y]ours, [t]heirs, [b]oth, [e]dit{last} or [q]uit?");
    loop {
        return Ok(match ask::letter(&question)? {
            Some('y') => Some(clash.local.clone()),
            Some('t') => Some(clash.remote.clone()),
            Some('b') => Some(clash.both()),
            Some('e') => match edited(context, &clash.both())? {
                Some(text) => Some(text),
                None => continue,
            },
            Some('o') => {
                let base = clash.base.as_deref().unwrap_or_default();
                context.out.note(side("old:    ", base));
                continue;
            }
            _ => None,
        });
    }
}

/// Opens a text in the person's editor, and returns the edited text. `None`: the editor failed or changed nothing.
fn edited(context: &Context, text: &str) -> Result<Option<String>, Failure> {
    let mut file = tempfile::Builder::new().suffix(".html").tempfile()?;
    writeln!(file, "{text}")?;
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| (context.env)(name));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    if !in_program(&editor, &[file.path().to_owned()])? {
        context
            .out
            .note(format!("`{editor}` failed; set EDITOR to another one"));
        return Ok(None);
    }
    // The last line break is not part of the text: it was added above, or by the editor.
    let mut edited = fs::read_to_string(file.path())?;
    if edited.ends_with('\n') {
        edited.pop();
    }
    if edited == text {
        context
            .out
            .note("nothing was edited; [b]oth takes both texts as they are");
        return Ok(None);
    }
    Ok(Some(edited))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_side_is_cut_after_a_word() {
        let short = "ä ".repeat(LONG / 2);
        assert_eq!(cut(short.clone()), short);
        let long = format!("{short}and more words");
        assert_eq!(cut(long), format!("{} …", short.trim_end()));
    }
}
