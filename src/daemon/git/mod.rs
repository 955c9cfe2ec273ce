//! The git repositories around a mirror, as the guards need them.
//!
//! `repository` reads git's own files, `objects` asks the git program for commits, `published` has the rule about
//! branches and the record of the last sync, `view` answers the engine. kbsync never writes into `.git`.

pub mod objects;
mod published;
mod repository;
mod view;

pub use published::{Known, Pause, Remembered, look, not_published, pause, remember, remembered};
pub use repository::{Busy, Git, GitState, Head};
pub use view::View;

/// The reason of a hold: the files disappeared when HEAD moved.
pub const HOLD: &str = "gone since git moved HEAD (a switch, a pull, a reset?), but still live on the service: \
                        `kbsync restore FOLDER` brings back what is missing, `kbsync approve` deletes on the service";

/// The reason of a hold: neither the commit of the last sync nor HEAD has the files, and git removes uncommitted files
/// without a trace.
pub const NOT_COMMITTED: &str = "gone, and not committed when last synced, so `git stash -u` or `git clean` may be the reason: \
                                 `kbsync restore FOLDER` brings back what is missing, `kbsync approve` deletes on the service";

/// The reason of a hold: the state has no record of the repository.
pub const UNKNOWN: &str = "gone, and no earlier sync recorded git's HEAD, so git may have removed the files: \
                           `kbsync restore FOLDER` brings back what is missing, `kbsync approve` deletes on the service";

/// The reason of a hold: the commits have another form of the file.
pub const FILTERED: &str = "the file passes through a filter of git, such as LFS, so kbsync cannot compare it with a commit";

/// The reason of a hold: the work tree is a sparse checkout (failures row 91).
pub const SPARSE: &str = "gone, and git leaves files out of this work tree (sparse checkout), which may be the reason: \
                          `git sparse-checkout disable` brings such files back, `kbsync approve` deletes on the service";
