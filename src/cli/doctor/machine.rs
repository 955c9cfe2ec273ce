//! Checks the operating system: rights, file system, limits on watches. Writes nothing.

use super::{Check, Verdict};
use std::path::Path;

/// A limit below this is soon used up by editors and other tools.
#[cfg(target_os = "linux")]
const FEW_WATCHES: u64 = 8192;

/// Checks the machine of a mirror.
pub(super) fn checks(mirror: &Path) -> Vec<Check> {
    let mut checks = vec![writable(mirror)];
    #[cfg(target_os = "linux")]
    {
        checks.push(file_system(mirror));
        checks.push(watches());
    }
    checks
}

/// Checks that the mirror is a writable folder, on a disk with room for a small sync.
fn writable(mirror: &Path) -> Check {
    if let Err(error) = rustix::fs::access(mirror, rustix::fs::Access::WRITE_OK) {
        let message = format!("{} cannot be written to: {error}", mirror.display());
        return Check::new("mirror", Verdict::Bad, message)
            .help("give this user the right to write there; with a read-only mount only `check`, `status` and `diff` work");
    }
    // Some file systems do not say how large they are.
    let disk = rustix::fs::statvfs(mirror)
        .ok()
        .filter(|disk| disk.f_blocks > 0);
    if disk.is_some_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < 1 << 20) {
        let message = format!("the disk of {} is full", mirror.display());
        return Check::new("mirror", Verdict::Bad, message).help("make room on this disk");
    }
    Check::good("mirror", mirror.display().to_string())
}

#[cfg(target_os = "linux")]
fn file_system(mirror: &Path) -> Check {
    let found = match rustix::fs::statfs(mirror) {
        Ok(found) => found,
        Err(error) => {
            let message = format!("the file system cannot be asked: {error}");
            return Check::new("file-system", Verdict::Unknown, message);
        }
    };
    // The field's width and sign differ by platform; the magic numbers have 32 bits.
    let magic = u32::try_from(i128::from(found.f_type) & 0xffff_ffff).unwrap_or(0);
    match known(magic) {
        Some((name, false)) => Check::good("file-system", name),
        Some((name, true)) => Check::new(
            "file-system",
            Verdict::Warning,
            format!("{name}: a shared file system, which may not report changes made elsewhere"),
        )
        .help("kbsync scans the files every `rescan` as well, and keeps its state without shared memory"),
        None => Check::good("file-system", format!("type {magic:#x}")),
    }
}

/// Returns the name of a file system that needs a remark, by its magic number (`linux/magic.h`), and whether the file
/// system is shared.
#[cfg(target_os = "linux")]
const fn known(magic: u32) -> Option<(&'static str, bool)> {
    Some(match magic {
        0x0102_1994 => ("tmpfs: its files are gone after a restart", false),
        0x794c_7630 => ("overlay: its files may go with the container", false),
        0x6969 => ("NFS", true),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => ("SMB", true),
        0x6573_5546 => ("FUSE or virtiofs", true),
        0x0102_1997 => ("9p", true),
        0x00c3_6400 => ("Ceph", true),
        0x786f_4256 => ("a VirtualBox folder", true),
        _ => return None,
    })
}

#[cfg(target_os = "linux")]
fn watches() -> Check {
    let read = |name: &str| {
        std::fs::read_to_string(format!("/proc/sys/fs/inotify/{name}"))
            .ok()
            .and_then(|text| text.trim().parse::<u64>().ok())
    };
    let (Some(watches), Some(instances)) = (read("max_user_watches"), read("max_user_instances"))
    else {
        let message = "the limits on file watches cannot be read";
        return Check::new("watches", Verdict::Unknown, message)
            .help("`kbsync run` scans the files every `rescan` where watching fails");
    };
    judge(watches, instances)
}

#[cfg(target_os = "linux")]
fn judge(watches: u64, instances: u64) -> Check {
    let message = format!("{watches} watches, {instances} instances allowed for this user");
    if watches < FEW_WATCHES || instances < 16 {
        return Check::new("watches", Verdict::Warning, message).help(
            "raise fs.inotify.max_user_watches to 65536 and max_user_instances to 128 with sysctl",
        );
    }
    Check::good("watches", message)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn f077_few_watches_are_worth_a_look() {
        assert_eq!(judge(65_536, 128).result, Verdict::Good);
        assert_eq!(judge(100, 128).result, Verdict::Warning);
        assert_eq!(judge(65_536, 1).result, Verdict::Warning);
    }

    #[test]
    fn f098_shared_file_systems_are_named() {
        assert_eq!(known(0x6969), Some(("NFS", true)));
        assert_eq!(known(0x6573_5546).map(|(_, shared)| shared), Some(true));
        assert_eq!(known(0x0102_1994).map(|(_, shared)| shared), Some(false));
        assert_eq!(known(1), None);
    }
}
