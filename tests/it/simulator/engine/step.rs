//! The steps of a world, as data: a trace is a list of [`Step`]s.
//!
//! Places are numbers in small tables, the same on both sides: `At(0, 2)` is `alpha/c.html` and the article `c` of the
//! category `alpha`. A step whose place does not exist at its turn does nothing, so that any list of steps can be run,
//! and any step can be left out.

use super::wording::{self, Worded, Words, read_field, settings, variants, words, write_field};

/// The folders, and the categories' slugs.
pub(crate) const FOLDERS: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

/// The files without their ending, and the articles' slugs.
pub(crate) const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "Upper", "g.h"];

/// A folder and a name, by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct At(pub(crate) u8, pub(crate) u8);

/// The name of a folder.
pub(crate) fn folder_name(number: u8) -> &'static str {
    FOLDERS[usize::from(number) % FOLDERS.len()]
}

impl At {
    /// The folder, or the category's slug.
    pub(crate) fn folder(self) -> &'static str {
        folder_name(self.0)
    }

    /// The article's slug.
    pub(crate) fn slug(self) -> &'static str {
        NAMES[usize::from(self.1) % NAMES.len()]
    }

    /// The file's name.
    pub(crate) fn file(self) -> String {
        format!("{}.html", self.slug())
    }
}

impl Worded for At {
    fn write(&self, field: &str, line: &mut String) {
        let path = format!("{}/{}", self.folder(), self.slug());
        write_field(field, &path, line);
    }

    fn read(field: &str, words: &mut Words<'_>) -> Option<Self> {
        let (folder, name) = read_field(field, words)?.split_once('/')?;
        let number = |all: &[&str], wanted| all.iter().position(|one| *one == wanted);
        let (folder, name) = (number(&FOLDERS, folder)?, number(&NAMES, name)?);
        Some(Self(folder.try_into().ok()?, name.try_into().ok()?))
    }
}

words! {
    /// A part of an article.
    Part {
        /// The first paragraph.
        First,
        /// The second one.
        Second,
        /// The third one.
        Third,
        /// A new paragraph at the end.
        More,
        /// The title.
        Title,
        /// The summary.
        Introtext,
        /// The search words.
        Keywords,
        /// A key of the writer's own; on the service, the summary.
        Owner,
    }
}

words! {
    /// The way in which an editor saves.
    Save {
        /// Into the same file.
        InPlace,
        /// Into a new file that is renamed over the old one.
        RenameOver,
    }
}

words! {
    /// The version that a person keeps.
    Kept {
        /// The file.
        Local,
        /// The service's.
        Remote,
        /// Both versions.
        Both,
    }
}

variants! {
    /// A deed of the writer's in the mirror.
    Writer {
        /// A new article file, if there is none.
        Write { at: At, token: u16, enabled: bool },
        /// An edit.
        Edit { at: At, part: Part, token: u16, save: Save },
        /// Sets the line `enabled:`.
        Enable { at: At, on: bool },
        /// Sets the line `slug:`.
        Slug { at: At, name: u8 },
        /// A file gets another name or folder, and replaces the file there.
        Move { from: At, to: At },
        /// Two files exchange their names.
        Swap { one: At, other: At },
        /// A copy, with the id.
        Copy { from: At, to: At },
        /// A file is deleted.
        Remove { at: At },
        /// A folder is deleted with its content.
        RemoveFolder { folder: u8 },
        /// All articles are deleted.
        RemoveAll,
        /// A folder is renamed.
        RenameFolder { from: u8, to: u8 },
        /// The front matter is broken.
        Break { at: At },
        /// Git's conflict markers are added.
        Mark { at: At },
        /// A broken or marked file is mended.
        Mend { at: At },
        /// The file is emptied.
        Empty { at: At },
        /// The file gets a name that is ignored.
        Hide { at: At },
        /// The file gets its name back.
        Unhide { at: At },
        /// A category is renamed in its file.
        Name { folder: u8, token: u16 },
        /// `_category.yaml` is deleted.
        Unname { folder: u8 },
        /// A conflict copy is deleted: the conflict is settled.
        DropCopy { at: At },
        /// The content of all files is stashed.
        Stash,
        /// All files are reset to the stash.
        Checkout,
    }
}

variants! {
    /// A colleague's deed in the dashboard.
    Colleague {
        /// A new category.
        Found { folder: u8 },
        /// A new article.
        Post { at: At, token: u16, shown: bool },
        /// An edit.
        Change { at: At, part: Part, token: u16 },
        /// The text and the title go back to the state before the last edit.
        Revert { at: At },
        /// An article is saved without a change: a new revision.
        Touch { at: At },
        /// An article is deleted for ever.
        Delete { at: At },
        /// An article is published or unpublished.
        Show { at: At, on: bool },
        /// An article gets another address.
        Readdress { from: At, to: At },
        /// A category is renamed.
        Rename { folder: u8, token: u16 },
        /// A category gets another slug.
        Reslug { from: u8, to: u8 },
    }
}

variants! {
    /// A command of kbsync.
    Command {
        /// Both ways.
        Sync,
        /// A poll of the daemon: both ways.
        Poll,
        /// Only towards the mirror.
        Pull,
        /// Only towards the service.
        Push,
        /// One file.
        One { at: At },
        /// One folder.
        Folder { folder: u8 },
        /// One saved file, as the daemon syncs it: a cycle over this path.
        Glance { at: At },
        /// `--prefer local`.
        PreferLocal,
        /// `--prefer remote`.
        PreferRemote,
        /// `--allow-deletes`.
        AllowDeletes,
        /// A person settles a conflict.
        Resolve { at: At, keep: Kept },
        /// A person approves the held actions.
        Approve,
        /// A dry run, and then a real sync.
        DryThenSync,
        /// Both ways, after git moved HEAD: nothing may be deleted on the service.
        Moved,
        /// A poll of the daemon while a file is being written.
        InMotion { at: At },
    }
}

words! {
    /// A call across a port.
    Call {
        /// `GET /api/base/{id}/articles`.
        List,
        /// `GET /api/article/{id}`.
        Read,
        /// `GET /api/category/{id}`.
        ReadCategory,
        /// `PUT /api/article/{id}` with `{}`.
        Probe,
        /// `POST /api/article`.
        Create,
        /// `PUT /api/article/{id}`.
        Update,
        /// `DELETE /api/article/{id}`.
        Delete,
        /// `POST /api/category`.
        CreateCategory,
        /// `PUT /api/category/{id}`.
        UpdateCategory,
        /// A folder is listed.
        Listing,
        /// A name is looked up.
        Look,
        /// A file is read.
        ReadFile,
        /// A file is staged.
        Stage,
        /// A file is published under its name.
        Publish,
        /// A file is removed.
        RemoveFile,
        /// A file is renamed.
        RenameFile,
        /// Two files are exchanged.
        Exchange,
        /// A folder is made.
        MakeFolder,
        /// A folder is renamed.
        RenameFolder,
        /// A folder's names are fsynced.
        SyncFolder,
        /// Everything is fsynced.
        Flush,
    }
}

impl Call {
    /// Returns whether the call is a request.
    pub(crate) fn is_request(self) -> bool {
        self <= Self::UpdateCategory
    }

    /// Returns whether the call changes the service.
    pub(crate) fn writes(self) -> bool {
        matches!(
            self,
            Self::Create
                | Self::Update
                | Self::Delete
                | Self::CreateCategory
                | Self::UpdateCategory
        )
    }
}

variants! {
    /// A fault, or a deed of another person, at a call.
    What {
        /// The request does not arrive.
        LostBefore,
        /// The request is carried out, and the response is lost.
        LostAfter,
        /// The next requests, so many, get no response.
        Down { requests: u8 },
        /// 422.
        Refused,
        /// 403.
        Forbidden,
        /// 429.
        TooMany,
        /// 401.
        Unauthorized,
        /// A page that is not JSON.
        Html,
        /// A proxy's 404.
        HtmlNotFound,
        /// A stale replica answers, which lacks our own last writes.
        Stale,
        /// A listing leaves an entry out.
        Skip { entry: u8 },
        /// A listing has an unreadable entry.
        Garbled { entry: u8 },
        /// The response takes so many seconds.
        Slow { seconds: u8 },
        /// Permission denied.
        Denied,
        /// The disk is full from here on.
        Full,
        /// An input/output error.
        Broken,
        /// The writer does this first.
        ByWriter { deed: Writer },
        /// A colleague does this first.
        ByColleague { deed: Colleague },
    }
}

variants! {
    /// One step of a trace.
    Step {
        /// A deed in the mirror.
        Mirror { deed: Writer },
        /// A deed on the service.
        Service { deed: Colleague },
        /// kbsync runs.
        Run { command: Command },
        /// Time passes.
        Wait { seconds: u32 },
        /// kbsync ends between two cycles, and starts again.
        Restart,
        /// A fault in the next cycle, at the `nth` call of this kind.
        Fault { call: Call, nth: u8, what: What },
        /// In the next cycle the process is killed after so many boundaries.
        Kill { after: u16 },
        /// Like `Kill`, and the machine loses its power: `keep` is the percentage of non-durable changes that survive.
        PowerLoss { after: u16, keep: u8 },
        /// A copy of the state is saved.
        SaveState,
        /// The saved state comes back: a state that is older than the files.
        RestoreState,
        /// The state is lost.
        LoseState,
    }
}

words! {
    /// The service's rewriting of sent texts.
    Rewriting {
        /// Nothing.
        Nothing,
        /// The service trims texts and writes slugs in lower case.
        Trim,
        /// The service also removes the line breaks between blocks, and adds a mark of its own.
        Editor,
    }
}

words! {
    /// The service's response to an empty PUT.
    Probing {
        /// The probe is answered.
        Allowed,
        /// 403.
        Forbidden,
        /// The settings turn probes off.
        Off,
    }
}

settings! {
    /// The behaviour of the service, and the settings. A trace names only values that are not plain.
    Setup {
        /// Listings carry bodies.
        bodies: bool = true,
        /// Listings have a validator (ETag).
        etag: bool = false,
        /// There is no listing: categories are read one by one.
        by_category: bool = false,
        /// Disabled articles are listed and can be read.
        lists_disabled: bool = false,
        /// The rewriting of texts.
        rewriting: Rewriting = Rewriting::Nothing,
        /// The response to probes.
        probing: Probing = Probing::Allowed,
        /// Bodies are one line.
        one_line: bool = false,
        /// `guard_window: 0s`.
        no_window: bool = false,
        /// Each command is a process of its own.
        commands: bool = false,
        /// `max_deletes`.
        max_deletes: u8 = 10,
        /// The budget has few requests a minute and a day.
        thrifty: bool = false,
        /// Times of files have fractions of a second. Whole seconds are racy for longer.
        fine: bool = false,
    }
}

/// A world, and its steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trace {
    /// The behaviour of the service, and the settings.
    pub(crate) setup: Setup,
    /// The steps.
    pub(crate) steps: Vec<Step>,
}
