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
    /// The base is written before the file.
    BaseBeforeFile = 4,
    /// A file's bytes are not made durable before its name is.
    BytesNotSynced = 3,
    /// A file's name is not made durable before the base is.
    NamesNotSynced = 3,
    /// No intent is written before an effect.
    IntentNotWritten = 5,
    /// A POST that got no answer is repeated under another slug.
    SlugInvented = 29,
    /// A PUT that got no answer is repeated without looking.
    PutRepeatedBlindly = 15,
    /// A DELETE that got no answer counts as done.
    LostDeleteIsDone = 16,
    /// A proxy's 404 page counts as the service's word.
    ProxyPageIsGone = 19,
    /// The version that our own write replaced is not known any more.
    StaleReadReverts = 22,
    /// What a listing does not show is taken for deleted.
    AbsenceIsDeletion = 26,
    /// A 404 to a GET counts as gone, without a probe.
    NotFoundIsGone = 27,
    /// What the service made of a text counts as a colleague's edit.
    EchoIsAnEdit = 31,
    /// Nobody looks before a write, however old the listing is.
    GuardReadSkipped = 34,
    /// A deletion goes by the slug.
    DeletedBySlug = 47,
    /// What was deleted here is not remembered.
    TombstonesForgotten = 7,
    /// A colleague's version is not put into the history.
    RemoteEditNotKept = 62,
    /// A writer's version is not put into the history.
    LocalEditNotKept = 11,
    /// A file that came back before its article was deleted does not matter.
    ReturnedFileIgnored = 51,
    /// A file that was edited since the scan is removed with its article.
    EditedFileRemoved = 45,
    /// A conflict's copy is an article.
    ConflictCopyPublished = 63,
    /// A file that was edited since the scan is written over.
    StampNotCompared = 80,
    /// A save between the last look and the rename is written over.
    SaveOverwritten = 80,
    /// A stamp within the clock's grain is trusted.
    RacyStampTrusted = 83,
    /// Something could not be read, and deletions go on.
    DoubtIgnored = 97,
    /// A file that is not ready counts as removed.
    NotReadyIsGone = 122,
    /// A listing's validator is kept although something was left undone.
    ValidatorKeptWhenOpen = 107,
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

#[cfg(feature = "drill")]
thread_local! {
    static LET_IN: std::cell::Cell<Option<Defect>> = const { std::cell::Cell::new(None) };
}

/// Lets one defect in, or none, for whatever runs on this thread from now on.
#[cfg(feature = "drill")]
pub fn let_in(defect: Option<Defect>) {
    LET_IN.with(|cell| cell.set(defect));
}
