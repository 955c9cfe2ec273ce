//! The bug zoo: deliberate defects, each of which the simulator has to find.
//!
//! A place in the program that could be wrong in a way that was seen elsewhere asks [`is`] whether it is to
//! be wrong now. The answer is no, and known to be no at compile time, unless the package is built with its
//! feature `drill` and the running thread has let one defect in.

macro_rules! defects {
    ($($(#[doc = $doc:literal])* $name:ident = $row:literal,)*) => {
        /// A deliberate defect; one per serious row of the list of failures.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Defect {
            $($(#[doc = $doc])* $name,)*
        }

        #[cfg(feature = "drill")]
        impl Defect {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The row of the list of failures.
            pub const fn row(self) -> u32 {
                match self {
                    $(Self::$name => $row,)*
                }
            }

            /// What is wrong, in words.
            pub fn words(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc),*).trim(),)*
                }
            }
        }
    };
}

defects! {
    /// A file's bytes are not made durable before its name is.
    BytesNotSynced = 3,
    /// A file's name is not made durable before the base is.
    NamesNotSynced = 3,
    /// The base is written before the file.
    BaseBeforeFile = 4,
    /// No intent is written before an effect.
    IntentNotWritten = 5,
    /// What was deleted here is not remembered.
    TombstonesForgotten = 7,
    /// A writer's version is not put into the history.
    LocalEditNotKept = 11,
    /// A PUT that got no answer is repeated without looking.
    PutRepeatedBlindly = 15,
    /// A DELETE that got no answer counts as done.
    LostDeleteIsDone = 16,
    /// A proxy's 404 page counts as the service's word.
    ProxyPageIsGone = 19,
    /// The version that our own write replaced is not known any more.
    StaleReadReverts = 22,
    /// An old copy in a listing vouches for what the service holds.
    OldCopyIsSeen = 22,
    /// What a listing does not show is taken for deleted.
    AbsenceIsDeletion = 26,
    /// A 404 to a GET counts as gone, without a probe.
    NotFoundIsGone = 27,
    /// An edit of an article that cannot be seen is posted as a new one.
    UnseenIsPostedAnew = 27,
    /// An address is asked for although another article has it.
    HolderForgotten = 28,
    /// A POST that got no answer is repeated under another slug.
    SlugInvented = 29,
    /// `enabled` of the service replaces what a writer wished in the file.
    WishOverwritten = 30,
    /// What the service made of a text counts as a colleague's edit.
    EchoIsAnEdit = 31,
    /// What the service made of our last write is taken for somebody's edit.
    EchoIsEdit = 31,
    /// Nobody looks before a write, however old the listing is.
    GuardReadSkipped = 34,
    /// `pull` sends what the file has.
    PullSends = 34,
    /// A mirror that was not listed whole proves absence.
    ScanTrusted = 40,
    /// The limit on deletions holds nothing.
    GuardWithoutLimit = 41,
    /// What was held for its number goes on once the process was started anew.
    GuardForgotten = 43,
    /// A removal here beats an edit on the service.
    DeletionBeatsEdit = 44,
    /// A file that was edited since the scan is removed with its article.
    EditedFileRemoved = 45,
    /// A deletion on the service beats an edit here.
    GoneBeatsEdit = 45,
    /// A deletion goes by the slug.
    DeletedBySlug = 47,
    /// Articles are found by slug.
    SlugIsKey = 47,
    /// What the command's paths leave out is changed all the same.
    ScopeIgnored = 48,
    /// A file that no base knows is removed.
    DeletionWithoutBase = 50,
    /// A file that came back before its article was deleted does not matter.
    ReturnedFileIgnored = 51,
    /// A renamed file is a removed and a new one.
    RenameIsDeletion = 53,
    /// Of two files with one id, the copy is the article.
    CopyTakesOver = 54,
    /// Addresses are swapped without a temporary one.
    SwapWithoutParking = 55,
    /// A name is given although a file has it.
    NameTaken = 59,
    /// A colleague's version is not put into the history.
    RemoteEditNotKept = 62,
    /// Where both sides changed the same, the file wins unasked.
    LastWriterWins = 62,
    /// A conflict's copy is an article.
    ConflictCopyPublished = 63,
    /// A conflict gets a new copy in every cycle.
    CopyAfterCopy = 64,
    /// A body that cannot be merged is the file's.
    MergePicksOurs = 65,
    /// Conflict markers of git are sent with the text around them.
    MarkersPublished = 66,
    /// Equal edits on both sides are a conflict.
    FalseConflict = 67,
    /// A field changed here takes the other fields along.
    WholeFileWins = 70,
    /// A file in motion takes part like any other.
    MotionIgnored = 73,
    /// A save soon after the last one that is known is taken for its echo.
    EchoByTimer = 79,
    /// A file that was edited since the scan is written over.
    StampNotCompared = 80,
    /// A save between the last look and the rename is written over.
    SaveOverwritten = 80,
    /// A stamp within the clock's grain is trusted.
    RacyStampTrusted = 83,
    /// Removals that came with a moved HEAD go on.
    GitHoldForgotten = 84,
    /// Something could not be read, and deletions go on.
    DoubtIgnored = 97,
    /// A listing's validator is kept although something was left undone.
    ValidatorKeptWhenOpen = 107,
    /// A file that is not ready counts as removed.
    NotReadyIsGone = 122,
}

/// Whether the defect is let in, on this thread.
#[cfg(not(feature = "drill"))]
#[inline]
pub fn is(_defect: Defect) -> bool {
    false
}

/// Whether the defect is let in, on this thread.
#[cfg(feature = "drill")]
pub fn is(defect: Defect) -> bool {
    LET_IN.with(|cell| cell.get() == Some(defect))
}

/// Whether any defect is let in, on this thread.
#[cfg(not(feature = "drill"))]
#[inline]
pub fn any() -> bool {
    false
}

/// Whether any defect is let in, on this thread.
#[cfg(feature = "drill")]
pub fn any() -> bool {
    LET_IN.with(|cell| cell.get().is_some())
}

#[cfg(feature = "drill")]
thread_local! {
    static LET_IN: std::cell::Cell<Option<Defect>> = const { std::cell::Cell::new(None) };
}

/// Lets one defect in, or none, for whatever runs on this thread from now on.
#[cfg(feature = "drill")]
pub fn let_in(defect: Option<Defect>) {
    LET_IN.with(|cell| cell.set(defect));
}
