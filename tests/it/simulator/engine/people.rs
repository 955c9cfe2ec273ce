//! The deeds of the writer and of colleagues. A deed without its object does nothing.

use super::step::{At, Colleague, Part, Save, Writer, folder_name};
use super::token::{Tokens, word};
use super::world::{Side, World, id_of, is_article, is_ready};

/// The beginning of a broken file.
const BROKEN: &str = "broken\n";
/// The markers of a failed merge.
const MARKS: &str = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n";

impl World {
    /// Carries out a deed of the writer's.
    pub(crate) fn writer(&mut self, deed: Writer) {
        self.note(&format!("{deed:?}"));
        self.human(Side::Mirror, |world| world.write_deed(deed));
    }

    /// Carries out a deed of a colleague's.
    pub(crate) fn colleague(&mut self, deed: Colleague) {
        self.note(&format!("{deed:?}"));
        self.human(Side::Service, |world| world.dashboard(deed));
    }

    fn text_of(&self, at: At) -> Option<String> {
        let bytes = self.mirror.bytes(at.folder(), &at.file())?;
        String::from_utf8(bytes).ok()
    }

    fn save(&mut self, at: At, text: String, save: Save) {
        self.mirror
            .save(at.folder(), &at.file(), text.into_bytes(), save);
    }

    fn exists(&self, at: At) -> bool {
        self.mirror.bytes(at.folder(), &at.file()).is_some()
    }

    pub(super) fn owe(&mut self, token: u16, aside: bool) {
        self.ledger.owed.insert(token);
        if aside {
            self.ledger.aside.insert(token);
        }
    }

    /// Records copied words, which may be on the service more than once.
    fn copied(&mut self, bytes: &[u8]) {
        let tokens = Tokens::of(bytes);
        self.ledger.copied.add(&tokens);
    }

    /// A file comes to a place while its article's file lies at another place: from now on the new file is a copy,
    /// which is an article of its own.
    fn copied_elsewhere(&mut self, folder: &str, name: &str, bytes: &[u8]) -> bool {
        let Some(id) = id_of(bytes) else {
            return false;
        };
        let mut found = false;
        for (other, file, bytes) in self.articles() {
            if (other.as_str(), file.as_str()) != (folder, name) && id_of(&bytes) == Some(id) {
                self.copied(&bytes);
                found = true;
            }
        }
        found
    }

    /// A file comes back in the middle of a cycle that may be about to write its article at another place: then there
    /// are two files, and one is a copy.
    pub(super) fn note_meanwhile(&mut self, deed: Writer) {
        if let Writer::Unhide { at } = deed {
            let hidden = format!("{}~", at.file());
            let bytes = self.mirror.bytes(at.folder(), &hidden);
            self.copied(&bytes.unwrap_or_default());
        }
    }

    /// A file without an id comes to the place of an article's file: from now on its words are that article's, and
    /// those of the article that an unanswered POST may have made of the file.
    fn note_move_over(&mut self, from: At, to: At) {
        let bytes = |at: At| {
            self.mirror
                .bytes(at.folder(), &at.file())
                .unwrap_or_default()
        };
        let moved = bytes(from);
        if id_of(&moved).is_none() && id_of(&bytes(to)).is_some() {
            self.copied(&moved);
        }
    }

    /// A file has come to another place. If another file has its id, their places decide anew which is the copy.
    fn parted(&mut self, at: At) {
        let file = at.file();
        let bytes = self.mirror.bytes(at.folder(), &file).unwrap_or_default();
        if self.copied_elsewhere(at.folder(), &file, &bytes) {
            self.copied(&bytes);
        }
    }

    fn write_deed(&mut self, deed: Writer) {
        match deed {
            Writer::Write { at, token, enabled } => self.write_new(at, token, enabled),
            Writer::Edit {
                at,
                part,
                token,
                save,
            } => self.edit(at, part, token, save),
            Writer::Enable { at, on } => self.line(at, "enabled", &on.to_string()),
            Writer::Slug { at, name } => self.line(at, "slug", At(0, name).slug()),
            Writer::Move { from, to } => {
                if self.exists(from) && from != to {
                    self.note_move_over(from, to);
                    self.mirror
                        .rename((from.folder(), &from.file()), (to.folder(), &to.file()));
                    self.parted(to);
                }
            }
            Writer::Swap { one, other } => {
                if self.exists(one) && self.exists(other) && one != other {
                    let aside = (one.folder(), ".swapping");
                    let (a, b) = (one.file(), other.file());
                    self.mirror.rename((one.folder(), &a), aside);
                    self.mirror.rename((other.folder(), &b), (one.folder(), &a));
                    self.mirror.rename(aside, (other.folder(), &b));
                    self.parted(one);
                    self.parted(other);
                }
            }
            Writer::Copy { from, to } => {
                if let Some(text) = self.text_of(from).filter(|_| !self.exists(to)) {
                    self.copied(text.as_bytes());
                    self.save(to, text, Save::RenameOver);
                }
            }
            Writer::Remove { at } => {
                self.mirror.remove(at.folder(), &at.file());
            }
            Writer::RemoveFolder { folder } => {
                if self.mirror.has_folder(folder_name(folder)) {
                    self.mirror.remove_folder(folder_name(folder));
                }
            }
            Writer::RenameFolder { from, to } => {
                let (from, to) = (folder_name(from), folder_name(to));
                if self.mirror.has_folder(from) && !self.mirror.has_folder(to) {
                    self.mirror.rename_folder(from, to);
                    for (folder, name, bytes) in self.articles() {
                        if folder == to && self.copied_elsewhere(&folder, &name, &bytes) {
                            self.copied(&bytes);
                        }
                    }
                }
            }
            Writer::RemoveAll => {
                for (folder, name, _) in self.articles() {
                    self.mirror.remove(&folder, &name);
                }
            }
            Writer::Break { at }
            | Writer::Mark { at }
            | Writer::Mend { at }
            | Writer::Empty { at }
            | Writer::Hide { at }
            | Writer::Unhide { at }
            | Writer::DropCopy { at } => self.mangle(deed, at),
            Writer::Name { folder, token } => self.name_category(folder, token),
            Writer::Unname { folder } => {
                let name = folder_name(folder);
                let before = self.category_of(name);
                self.mirror.remove(name, "_category.yaml");
                // A folder that had been another category's before may become that one's again.
                let again = !self.ledger.unnamed.insert(folder);
                if again || self.category_of(name) != before {
                    let articles = self.articles().into_iter();
                    let within = articles.filter(|(folder, ..)| folder == name);
                    let ids = within.filter_map(|(.., bytes)| id_of(&bytes));
                    self.ledger.recategorized.extend(ids);
                }
            }
            Writer::Stash => self.stash = Some(self.articles()),
            Writer::Checkout => {
                for (folder, name, bytes) in self.stash.clone().unwrap_or_default() {
                    if self.mirror.bytes(&folder, &name).as_deref() != Some(&bytes) {
                        self.copied(&bytes);
                        self.copied_elsewhere(&folder, &name, &bytes);
                        self.mirror.save(&folder, &name, bytes, Save::RenameOver);
                    }
                }
            }
        }
    }

    fn mangle(&mut self, deed: Writer, at: At) {
        let file = at.file();
        match deed {
            Writer::Break { .. } => {
                if let Some(text) = self.text_of(at).filter(|text| is_ready(text.as_bytes())) {
                    self.save(at, format!("{BROKEN}{text}"), Save::InPlace);
                }
            }
            Writer::Mark { .. } => {
                if let Some(text) = self.text_of(at).filter(|text| is_ready(text.as_bytes())) {
                    self.save(at, format!("{text}{MARKS}"), Save::InPlace);
                }
            }
            Writer::Mend { .. } => {
                if let Some(text) = self.text_of(at) {
                    let mended = text.strip_prefix(BROKEN).unwrap_or(&text);
                    let mended = mended.replace(MARKS, "");
                    if mended != text {
                        self.save(at, mended, Save::InPlace);
                    }
                }
            }
            Writer::Empty { .. } => {
                if let Some(bytes) = self.mirror.bytes(at.folder(), &file) {
                    let place = (at.folder().to_owned(), file);
                    self.ledger
                        .emptied
                        .extend(id_of(&bytes).map(|id| (id, place)));
                    self.save(at, String::new(), Save::InPlace);
                }
            }
            Writer::Hide { .. } => {
                if self.exists(at) {
                    self.mirror
                        .rename((at.folder(), &file), (at.folder(), &format!("{file}~")));
                }
            }
            Writer::Unhide { .. } => {
                let hidden = format!("{file}~");
                if let Some(bytes) = self.mirror.bytes(at.folder(), &hidden)
                    && !self.exists(at)
                {
                    self.copied_elsewhere(at.folder(), &hidden, &bytes);
                    self.mirror
                        .rename((at.folder(), &hidden), (at.folder(), &file));
                }
            }
            Writer::DropCopy { .. } => {
                let copy = format!("{}.conflict.html", at.slug());
                // A person who deletes the copy has handled its words, even if an older copy also has them.
                let shown = self.mirror.bytes(at.folder(), &copy).unwrap_or_default();
                self.mirror.remove(at.folder(), &copy);
                self.ledger.removed.add(&Tokens::of(&shown));
            }
            Writer::Write { .. }
            | Writer::Edit { .. }
            | Writer::Enable { .. }
            | Writer::Slug { .. }
            | Writer::Move { .. }
            | Writer::Swap { .. }
            | Writer::Copy { .. }
            | Writer::Remove { .. }
            | Writer::RemoveFolder { .. }
            | Writer::RenameFolder { .. }
            | Writer::RemoveAll
            | Writer::Name { .. }
            | Writer::Unname { .. }
            | Writer::Stash
            | Writer::Checkout => {}
        }
    }

    /// Returns all files at places of articles.
    fn articles(&self) -> Vec<(String, String, Vec<u8>)> {
        let mut articles = Vec::new();
        self.mirror.each(&mut |folder, name, bytes, _| {
            if is_article(folder, name) {
                articles.push((folder.to_owned(), name.to_owned(), bytes.to_vec()));
            }
        });
        articles
    }

    fn write_new(&mut self, at: At, token: u16, enabled: bool) {
        if self.exists(at) {
            return;
        }
        self.owe(token, false);
        let flag = if enabled { "" } else { "enabled: false\n" };
        let body = self.body(token);
        let text = format!("---\ntitle: New {}\n{flag}---\n{body}\n", at.slug());
        self.save(at, text, Save::RenameOver);
    }

    pub(super) fn body(&self, token: u16) -> String {
        let between = if self.setup.one_line { "" } else { "\n" };
        let word = word(token);
        format!("<p>first {word}</p>{between}<p>second</p>{between}<p>third</p>")
    }

    fn edit(&mut self, at: At, part: Part, token: u16, save: Save) {
        let Some(text) = self.text_of(at) else {
            return;
        };
        let Some((front, body)) = split(&text) else {
            return;
        };
        let word = word(token);
        let text = match part {
            Part::First | Part::Second | Part::Third | Part::More => {
                let body = body.strip_suffix('\n').unwrap_or(body);
                format!("{front}{}\n", self.with_part(body, part, &word))
            }
            Part::Title => format!("{}{body}", with_line(front, "title", &word)),
            Part::Introtext => format!("{}{body}", with_line(front, "introtext", &word)),
            Part::Keywords => format!("{}{body}", with_line(front, "keywords", &word)),
            Part::Owner => format!("{}{body}", with_line(front, "owner", &word)),
        };
        self.owe(token, part == Part::Owner);
        self.save(at, text, save);
    }

    fn line(&mut self, at: At, key: &str, value: &str) {
        let Some(text) = self.text_of(at) else {
            return;
        };
        if let Some((front, body)) = split(&text) {
            let text = format!("{}{body}", with_line(front, key, value));
            self.save(at, text, Save::InPlace);
        }
    }

    /// Returns a body with one paragraph replaced, or with one more at the end.
    pub(super) fn with_part(&self, body: &str, part: Part, word: &str) -> String {
        let between = if self.setup.one_line { "" } else { "\n" };
        let (number, name) = match part {
            Part::First => (0, "first"),
            Part::Second => (1, "second"),
            Part::Third => (2, "third"),
            Part::More | Part::Title | Part::Introtext | Part::Keywords | Part::Owner => {
                return format!("{body}{between}<p>more {word}</p>");
            }
        };
        let mut starts = body.match_indices("<p>").map(|(index, _)| index);
        let place = starts.nth(number).and_then(|start| {
            let end = body.get(start..)?.find("</p>")?;
            Some((start, start + end))
        });
        match place {
            Some((start, end)) => {
                let (head, tail) = (&body[..start], &body[end..]);
                format!("{head}<p>{name} {word}{tail}")
            }
            None => format!("{body}{between}<p>{name} {word}</p>"),
        }
    }

    fn name_category(&mut self, folder: u8, token: u16) {
        let folder = folder_name(folder);
        let Some(bytes) = self.mirror.bytes(folder, "_category.yaml") else {
            return;
        };
        let Ok(text) = String::from_utf8(bytes) else {
            return;
        };
        let mut lines: Vec<String> = text
            .lines()
            .filter(|line| !line.starts_with("name:"))
            .map(str::to_owned)
            .collect();
        lines.push(format!("name: {}", word(token)));
        self.ledger.aside.insert(token);
        self.mirror.save(
            folder,
            "_category.yaml",
            (lines.join("\n") + "\n").into_bytes(),
            Save::InPlace,
        );
    }
}

/// Splits a file after the end of its front matter.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---\n")?;
    let end = rest.find("\n---\n")? + "---\n".len() + "\n---\n".len();
    Some((&text[..end], &text[end..]))
}

/// Returns front matter with one line replaced or added.
fn with_line(front: &str, key: &str, value: &str) -> String {
    let start = format!("{key}:");
    let line = format!("{key}: {value}");
    let mut lines: Vec<&str> = front.lines().collect();
    match lines.iter().position(|old| old.starts_with(&start)) {
        Some(index) => lines[index] = &line,
        None => lines.insert(lines.len().saturating_sub(1), &line),
    }
    lines.join("\n") + "\n"
}
