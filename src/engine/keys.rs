//! The keys of the single values in the state, and the kinds of rows that wait.

/// The time of the last whole listing of the service, in milliseconds since 1970.
pub(super) const LAST_POLL: &str = "last_poll";

/// The stored validator of the last listing that left nothing open.
pub(super) const VALIDATOR: &str = "listing_validator";

/// Set once all of the mirror was read with this state, and its articles are in it.
pub(super) const MIRROR_READ: &str = "mirror_read";

/// Set once the service refused a probe.
pub(super) const PROBE_REFUSED: &str = "probe_refused";

/// The number of articles that were listed then and not read: the budget was spent, or a person stopped.
pub(super) const UNREAD: &str = "unread";

/// The kind of the actions that are held.
pub(super) const HELD: &str = "held";

/// The kind of the actions that failed.
pub(super) const FAILED: &str = "failed";

/// The kind of the articles that a restore has still to bring back.
pub(super) const RESTORING: &str = "restoring";

/// The kind of the articles whose files went back to older versions.
pub(super) const GONE_BACK: &str = "gone_back";
