//! Asks a person at the terminal what is to become of each part of a conflict.
//!
//! Nothing is written here. Who stops before the last question has settled nothing.

use super::{
    ask,
    conflict::{Difference, document, of_keys, side},
    context::Context,
    failure::Failure,
    report::several,
    resolve::in_program,
    scope::Part,
    version_spec::state,
};
use crate::{
    config::Config,
    mirror::document::Document,
    model::{ArticleId, Field, TextDigest, Version, base::ConflictRow, path::quoted},
    reconcile::{
        change::{ThreeWay, three_way},
        merge::{Block, BlockClash, blocks, join},
        snapshot::{Bodies, Keep, Parts},
    },
    state::Store,
};
use std::{collections::BTreeSet, fs, io::Write as _};

/// Asks about each part of an article's conflict. `None`: the person stopped.
pub(super) fn asked(
    context: &Context,
    config: &Config,
    part: &Part,
    id: ArticleId,
) -> Result<Option<Keep>, Failure> {
    let store = state(config, part)?;
    let known = store.as_ref().map(Store::conflicts).transpose()?;
    let row = known.into_iter().flatten().find(|row| row.id == id);
    let (Some(store), Some(row)) = (store, row) else {
        return Ok(None);
    };
    let moved = store.article(id)?.map(|base| base.place);
    let mut places = [Some(row.place.clone()), moved].into_iter().flatten();
    let document = places.find_map(|place| document(part, &place));
    match (&document, &row.remote) {
        (Some(document), Some(remote)) => {
            Clashing::of(&store, &row, document, remote)?.ask(context)
        }
        (Some(_), None) => deleted(context, &row),
        // Without a readable file there is nothing to choose; the cycle says what can be done.
        (None, _) => Ok(Some(Keep::Local)),
    }
}

/// Asks whether a file whose article is gone becomes a new article.
fn deleted(context: &Context, row: &ConflictRow) -> Result<Option<Keep>, Failure> {
    let path = row.place.to_string();
    context
        .out
        .note(format!("{}: {}", quoted(&path), row.reason));
    let question =
        "[y]ours: your file becomes a new article, [t]heirs: your file is removed, or [q]uit?";
    Ok(match ask::letter(question, "ytq")? {
        'y' => Some(Keep::Local),
        't' => Some(Keep::Remote),
        _ => None,
    })
}

/// What clashes in an article.
struct Clashing<'d> {
    document: &'d Document,
    remote: &'d Version,
    mine: Version,
    /// The service's body.
    theirs: String,
    way: ThreeWay<Version>,
    blocks: Vec<Block>,
}

impl<'d> Clashing<'d> {
    fn of(
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
        Ok(Self {
            document,
            remote,
            mine,
            theirs,
            way,
            blocks,
        })
    }

    /// Asks about one part after the other.
    fn ask(&self, context: &Context) -> Result<Option<Keep>, Failure> {
        let fields = self.way.clashes.iter().map(|(field, _)| *field);
        let fields: Vec<Field> = fields.filter(|field| *field != Field::Text).collect();
        let is_clash = |block: &&Block| matches!(block, Block::Clash(_));
        let total = fields.len() + self.blocks.iter().filter(is_clash).count();
        let parts = several(total, "part");
        context.out.note(format!(
            "{parts} in conflict; what only one side changed is merged"
        ));
        let mut theirs = BTreeSet::new();
        let mut at = 0;
        let mut title = |difference: &Difference| {
            at += 1;
            context
                .out
                .note(format!("{at} of {total}, line {}", difference.line));
            context.out.note(difference.sides().join("\n"));
        };
        for field in fields {
            title(&self.of_field(field));
            match ask::letter("[y]ours, [t]heirs or [q]uit?", "ytq")? {
                'y' => {}
                't' => drop(theirs.insert(field)),
                _ => return Ok(None),
            }
        }
        let mut answers = Vec::new();
        for block in &self.blocks {
            if let Block::Clash(clash) = block {
                title(&Difference {
                    line: self.document.lines_before_text() + clash.line + 1,
                    yours: clash.local.clone(),
                    theirs: clash.remote.clone(),
                });
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
        let known = of_keys(self.document, self.remote);
        let key = format!("{field}:");
        let is_it = |one: &Difference| one.yours.starts_with(&key);
        known.into_iter().find(is_it).unwrap_or_else(|| {
            let value = |version: &Version| {
                if field == Field::Slug {
                    format!("{key} {}", version.slug)
                } else {
                    format!("{key} {}", version.category)
                }
            };
            Difference {
                line: 1,
                yours: value(&self.mine),
                theirs: value(self.remote),
            }
        })
    }
}

/// Asks what is to be in a block's place. `None`: the person stopped.
fn of_block(context: &Context, clash: &BlockClash) -> Result<Option<String>, Failure> {
    let (last, letters) = match clash.base {
        Some(_) => (", [l]ast agreed", "ytbelq"),
        None => ("", "ytbeq"),
    };
    let question = format!("[y]ours, [t]heirs, [b]oth, [e]dit{last} or [q]uit?");
    loop {
        return Ok(match ask::letter(&question, letters)? {
            'y' => Some(clash.local.clone()),
            't' => Some(clash.remote.clone()),
            'b' => Some(clash.both()),
            'e' => match edited(context, &clash.both())? {
                Some(text) => Some(text),
                None => continue,
            },
            'l' => {
                let base = clash.base.as_deref().unwrap_or_default();
                context.out.note(side("last:   ", base));
                continue;
            }
            _ => None,
        });
    }
}

/// Opens a text in the person's editor, and returns what it became. `None`: the editor failed.
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
    // An editor ends the last line.
    let mut edited = fs::read_to_string(file.path())?;
    if edited.ends_with('\n') {
        edited.pop();
    }
    Ok(Some(edited))
}
