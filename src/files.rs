//! Files that only their owner may read, such as those in the user's state directory: each is written whole, and is
//! durable before it has its name.

use std::{
    fs::DirBuilder,
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::Path,
};
use tempfile::NamedTempFile;

/// Creates a folder and its missing parents, readable by the owner only. An existing folder stays as it is.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes or replaces a file (0600) in an existing folder.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(path.parent().unwrap_or(path))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Returns what was read; `None`: nothing is there.
pub(crate) fn if_there<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}
