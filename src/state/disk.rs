//! The database's files: their paths, their permissions, and the kind of disk that they are on.
//!
//! SQLite gives `-wal` and `-shm` the permissions of the database, so the database is made private before it holds
//! anything. The content of the database is not known here.

use super::{StateError, StateResult};
use crate::files::if_there;
use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

/// The database's name in its folder.
pub(super) const FILE: &str = "state.db";

/// The identity of a file: its device and inode. A file that replaces another under the same name has another identity.
pub type Identity = (u64, u64);

/// Returns the identity of the file that is at a path now.
pub fn identity(path: &Path) -> io::Result<Identity> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// Returns the database's path below a folder that exists.
///
/// Links in the folder's path are resolved, so that a link in place of the database can be refused.
pub(super) fn locate(dir: &Path) -> StateResult<PathBuf> {
    match fs::canonicalize(dir) {
        Ok(real) => regular(real.join(FILE)),
        Err(error) => Err(StateError::io(error).at(Some(&dir.join(FILE)))),
    }
}

/// Refuses anything but a file or a link: SQLite would wait for a pipe without end. A link is refused at the opening.
fn regular(path: PathBuf) -> StateResult<PathBuf> {
    match fs::symlink_metadata(&path) {
        Ok(found) if !found.is_file() && !found.is_symlink() => {
            Err(StateError::corrupt("it is not a regular file").at(Some(&path)))
        }
        Ok(_) | Err(_) => Ok(path),
    }
}

/// Returns the path of a file that SQLite puts beside the database.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// Returns whether a process died with the database open: a log or a journal that is not empty was left.
pub(super) fn was_left_open(path: &Path) -> bool {
    ["-wal", "-journal"].iter().any(|ending| {
        fs::symlink_metadata(beside(path, ending)).is_ok_and(|metadata| metadata.len() > 0)
    })
}

/// Creates the database if there is none, readable by the owner only, and removes wider permissions.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(path) {
        Ok(_created) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    narrow(path)?;
    for ending in ["-wal", "-shm", "-journal"] {
        if_there(narrow(&beside(path, ending)))?;
    }
    Ok(())
}

fn narrow(path: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    // A link is refused when the database is opened; the permissions of its target are left alone.
    if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Returns whether other machines may change files here without an event, and whether a WAL database would be at risk:
/// its shared memory needs a local disk.
///
/// If the kind of disk is unknown, the answer is yes, because a rollback journal works everywhere, and so do scans.
#[cfg(target_os = "linux")]
pub fn is_remote(dir: &Path) -> bool {
    rustix::fs::statfs(dir).map_or(true, |found| {
        // The field's width and sign differ by platform; the magic numbers have 32 bits.
        let magic = i128::from(found.f_type) & 0xffff_ffff;
        u32::try_from(magic).map_or(true, is_remote_kind)
    })
}

/// Returns whether a WAL database would be at risk here: its shared memory needs a local disk.
#[cfg(target_vendor = "apple")]
pub fn is_remote(dir: &Path) -> bool {
    const MNT_LOCAL: u32 = 0x1000;
    rustix::fs::statfs(dir).map_or(true, |found| found.f_flags & MNT_LOCAL == 0)
}

/// Returns whether a WAL database would be at risk here. The kind of disk is unknown on this system, so the answer is
/// yes.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub fn is_remote(_dir: &Path) -> bool {
    true
}

/// Recognises network and shared file systems by their magic numbers (`linux/magic.h`).
#[cfg(target_os = "linux")]
const fn is_remote_kind(magic: u32) -> bool {
    matches!(
        magic,
        0x6969              // NFS
        | 0x517b            // SMB
        | 0xff53_4d42       // CIFS
        | 0xfe53_4d42       // SMB2
        | 0x6573_5546       // FUSE, and virtiofs with it
        | 0x0102_1997       // 9p
        | 0x7375_7245       // Coda
        | 0x5346_414f       // AFS
        | 0x00c3_6400       // Ceph
        | 0x0116_1970       // GFS2
        | 0x7461_636f       // OCFS2
        | 0x0bd0_0bd0       // Lustre
        | 0x786f_4256 // VirtualBox shared folders
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn f098_network_file_systems_are_known() {
        for (name, magic, remote) in [
            ("nfs", 0x6969, true),
            ("cifs", 0xff53_4d42, true),
            ("fuse, virtiofs", 0x6573_5546, true),
            ("9p", 0x0102_1997, true),
            ("ext4", 0xef53, false),
            ("xfs", 0x5846_5342, false),
            ("btrfs", 0x9123_683e, false),
            ("tmpfs", 0x0102_1994, false),
            ("overlayfs", 0x794c_7630, false),
            ("zfs", 0x2fc1_2fc1, false),
        ] {
            assert_eq!(is_remote_kind(magic), remote, "{name}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_asked_counts_as_remote() {
        assert!(is_remote(Path::new("/nonexistent/folder")));
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = locate(Path::new("/nonexistent/.kbsync")).expect_err("missing");
        assert!(
            error.to_string().contains("/nonexistent/.kbsync/state.db"),
            "{error}"
        );
    }
}
