//! The types of the splitter: paths, limits, entries, the envelope. Plain values.

/// A step of a path to a known array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The value of this key.
    Key(&'static str),
    /// Any entry of an array.
    Any,
}

/// The way to a known array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// The steps from the document's root.
    pub(super) steps: &'static [Step],
    /// Whether the object around the array is the category of its entries.
    pub(super) owned: bool,
}

/// The limits of memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caps {
    /// The longest entry.
    pub(super) entry: usize,
    /// The longest envelope.
    pub(super) envelope: usize,
}

/// The reasons why a document cannot be split.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum SplitError {
    /// Something that JSON does not allow at this place.
    #[error("the answer is not JSON at byte {at}")]
    Syntax {
        /// The offset.
        at: u64,
    },
    /// The document ended early.
    #[error("the answer broke off at byte {at}")]
    BrokenOff {
        /// The length of the document.
        at: u64,
    },
    /// Nested deeper than any real answer.
    #[error("the answer is nested too deeply at byte {at}")]
    TooDeep {
        /// The offset.
        at: u64,
    },
    /// The document around the entries is too long.
    #[error("the answer is too long outside of its articles")]
    TooLong,
}

/// One entry of a known array.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    /// The bytes of the entry; of an entry over the limit, only the beginning.
    pub(super) bytes: &'a [u8],
    /// The `id` of the object that holds the array, if the `id` comes before the array.
    pub(super) owner: Option<&'a [u8]>,
    /// Why the entry should not be parsed, if it is over a limit.
    pub(super) over: Option<&'static str>,
}

/// The receiver of the entries.
pub(super) trait Sink {
    /// Takes one entry.
    fn take(&mut self, entry: &Entry<'_>);

    /// Takes the known entry that these bytes begin with, if the entry can be recognised without a search for its end.
    /// Returns the length of the entry.
    fn take_known(&mut self, bytes: &[u8], owner: Option<&[u8]>) -> Option<usize>;
}

/// The document around the entries.
#[derive(Debug)]
pub(super) struct Envelope {
    /// JSON, with the known arrays empty.
    pub(super) json: Vec<u8>,
    /// The number of times that each known array was met, in the order of the paths.
    pub(super) arrays: Vec<usize>,
}
