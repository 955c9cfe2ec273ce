//! What happens in a world, as data: a trace is a list of [`Step`]s.
//!
//! Places are numbers in small tables, the same on both sides: `At(0, 2)` is `alpha/c.html` and the article
//! `c` of the category `alpha`. A step whose place does not exist at its turn does nothing, so that any list
//! of steps can be run, and steps can be left out.

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
    /// How an editor saves.
    Save {
        /// Into the same file.
        InPlace,
        /// Into a new one that is renamed over the old one.
        RenameOver,
    }
}

words! {
    /// Which version a person keeps.
    Kept {
        /// The file.
        Local,
        /// The service's.
        Remote,
        /// Both.
        Both,
    }
}

variants! {
    /// What the writer does in the mirror.
    Writer {
        /// A new article file, if there is none.
        Write { at: At, token: u16, enabled: bool },
        /// An edit.
        Edit { at: At, part: Part, token: u16, save: Save },
        /// The line `enabled:`.
        Enable { at: At, on: bool },
        /// The line `slug:`.
        Slug { at: At, name: u8 },
        /// A file takes another name or folder, and replaces what is there.
        Move { from: At, to: At },
        /// Two files take each other's names.
        Swap { one: At, other: At },
        /// A copy, with the id.
        Copy { from: At, to: At },
        /// A file goes.
        Remove { at: At },
        /// A folder goes with all that is in it.
        RemoveFolder { folder: u8 },
        /// All articles go.
        RemoveAll,
        /// A folder takes another name.
        RenameFolder { from: u8, to: u8 },
        /// The front matter is broken.
        Break { at: At },
        /// Conflict markers of git.
        Mark { at: At },
        /// What was broken or marked is mended.
        Mend { at: At },
        /// The file is cut to nothing.
        Empty { at: At },
        /// The file gets a name that is ignored.
        Hide { at: At },
        /// It gets its name back.
        Unhide { at: At },
        /// A category's name.
        Name { folder: u8, token: u16 },
        /// `_category.yaml` goes.
        Unname { folder: u8 },
        /// A conflict's copy goes: the conflict is settled.
        DropCopy { at: At },
        /// The state of all files is noted.
        Stash,
        /// All files are set back to what was noted.
        Checkout,
    }
}

variants! {
    /// What a colleague does in the dashboard.
    Colleague {
        /// A new category.
        Found { folder: u8 },
        /// A new article.
        Post { at: At, token: u16, shown: bool },
        /// An edit.
        Change { at: At, part: Part, token: u16 },
        /// The text and title before the last edit come back.
        Revert { at: At },
        /// Saved as it is: a new revision.
        Touch { at: At },
        /// For ever.
        Delete { at: At },
        /// Published, or not.
        Show { at: At, on: bool },
        /// Another address.
        Readdress { from: At, to: At },
        /// A category's name.
        Rename { folder: u8, token: u16 },
        /// A category's slug.
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
        /// One file that was saved, as the daemon does it: nothing else is looked at.
        Glance { at: At },
        /// `--prefer local`.
        PreferLocal,
        /// `--prefer remote`.
        PreferRemote,
        /// `--allow-deletes`.
        AllowDeletes,
        /// A person settles a conflict.
        Resolve { at: At, keep: Kept },
        /// A person releases what is held for its number.
        Approve,
        /// A dry run, and then the same in earnest.
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
        /// A name is looked at.
        Look,
        /// A file is read.
        ReadFile,
        /// A file is staged.
        Stage,
        /// A file gets its name.
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
        /// Names are made durable.
        SyncFolder,
        /// Everything is made durable.
        Flush,
    }
}

impl Call {
    /// Returns whether it goes to the service.
    pub(crate) fn is_request(self) -> bool {
        self <= Self::UpdateCategory
    }

    /// Returns whether it changes the service.
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
    /// What goes wrong, or happens, at a call.
    What {
        /// The request does not arrive.
        LostBefore,
        /// It is carried out, and the answer does not arrive.
        LostAfter,
        /// So many requests from here on are not answered.
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
        /// A replica answers that does not know our own last writes yet.
        Stale,
        /// A listing leaves an entry out.
        Skip { entry: u8 },
        /// A listing has an entry that cannot be read.
        Garbled { entry: u8 },
        /// The answer takes so many seconds.
        Slow { seconds: u8 },
        /// No right to the file.
        Denied,
        /// The disk is full from here on.
        Full,
        /// An input/output error.
        Broken,
        /// The writer is quicker.
        ByWriter { deed: Writer },
        /// A colleague is quicker.
        ByColleague { deed: Colleague },
    }
}

variants! {
    /// One thing that happens.
    Step {
        /// In the mirror.
        Mirror { deed: Writer },
        /// On the service.
        Service { deed: Colleague },
        /// kbsync runs.
        Run { command: Command },
        /// Time passes.
        Wait { seconds: u32 },
        /// kbsync ends between two cycles, and starts anew.
        Restart,
        /// In the next cycle, at the `nth` call of this kind.
        Fault { call: Call, nth: u8, what: What },
        /// In the next cycle the process is killed after so many boundaries.
        Kill { after: u16 },
        /// The same, and the machine's power goes with it: of what is not durable, `keep` tells what stays.
        PowerLoss { after: u16, keep: u8 },
        /// The state is copied away.
        SaveState,
        /// The copy comes back: a state that is older than the files.
        RestoreState,
        /// The state is lost.
        LoseState,
    }
}

words! {
    /// What the service makes of what it is sent.
    Rewriting {
        /// Nothing.
        Nothing,
        /// It trims texts and writes slugs in lower case.
        Trim,
        /// It also takes the line breaks between blocks away, and adds a mark of its own.
        Editor,
    }
}

words! {
    /// What the service says to an empty PUT.
    Probing {
        /// It answers.
        Allowed,
        /// 403.
        Forbidden,
        /// kbsync was told not to ask.
        Off,
    }
}

settings! {
    /// What a service and the settings are like. Those that a trace does not name are plain.
    Setup {
        /// Listings carry bodies.
        bodies: bool = true,
        /// Listings carry an ETag.
        etag: bool = false,
        /// There is no listing: categories are read one by one.
        by_category: bool = false,
        /// Disabled articles are listed and can be read.
        lists_disabled: bool = false,
        /// What happens to texts.
        rewriting: Rewriting = Rewriting::Nothing,
        /// What happens to probes.
        probing: Probing = Probing::Allowed,
        /// Bodies are one line.
        one_line: bool = false,
        /// `guard_window: 0s`.
        no_window: bool = false,
        /// Each command is a process of its own.
        commands: bool = false,
        /// `max_deletes`.
        max_deletes: u8 = 10,
        /// Few requests a minute and a day are allowed.
        thrifty: bool = false,
    }
}

/// A world, and what happens in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trace {
    /// What the service and the settings are like.
    pub(crate) setup: Setup,
    /// What happens.
    pub(crate) steps: Vec<Step>,
}
