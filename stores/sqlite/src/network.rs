//! File systems on which a write-ahead log cannot be shared.

use std::path::Path;

/// The kind of the file system that the path is on, where the system tells that
/// it is a network's, or cannot tell that it is not.
#[cfg(target_os = "linux")]
pub(crate) fn kind(path: &Path) -> Option<&'static str> {
    // Without an answer, opening the file has one.
    let found = nix::sys::statfs::statfs(path).ok()?;
    kind_of(i128::from(found.filesystem_type().0))
}

#[cfg(not(target_os = "linux"))]
pub(crate) const fn kind(_: &Path) -> Option<&'static str> {
    None
}

/// By the magic number of Linux.
#[cfg(target_os = "linux")]
fn kind_of(magic: i128) -> Option<&'static str> {
    // The number has 32 bits; the field is wider on some machines, and signed.
    Some(match magic & 0xffff_ffff {
        0x6969 => "NFS",
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => "SMB",
        0x0102_1997 => "9P",
        // Of a network or of the host of a virtual machine, most often.
        0x6573_5546 => "FUSE",
        0x00c3_6400 => "Ceph",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x0bd0_0bd0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x7461_636f => "OCFS2",
        0x0116_1970 => "GFS2",
        0x7375_7245 => "Coda",
        0x564c => "NCP",
        0x786f_4256 => "a folder of VirtualBox",
        _ => return None,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use nix::sys::statfs;

    #[test]
    fn file_systems_of_a_network_are_told_from_local_ones() {
        for (magic, name) in [
            (statfs::NFS_SUPER_MAGIC, "NFS"),
            (statfs::SMB_SUPER_MAGIC, "SMB"),
            (statfs::FUSE_SUPER_MAGIC, "FUSE"),
            (statfs::AFS_SUPER_MAGIC, "AFS"),
            (statfs::CODA_SUPER_MAGIC, "Coda"),
            (statfs::NCP_SUPER_MAGIC, "NCP"),
            (statfs::OCFS2_SUPER_MAGIC, "OCFS2"),
        ] {
            assert_eq!(kind_of(i128::from(magic.0)), Some(name));
        }
        assert_eq!(kind_of(i128::from(0xfe53_4d42_u32 as i32)), Some("SMB"));
        for local in [
            statfs::EXT4_SUPER_MAGIC,
            statfs::BTRFS_SUPER_MAGIC,
            statfs::XFS_SUPER_MAGIC,
            statfs::TMPFS_MAGIC,
            statfs::OVERLAYFS_SUPER_MAGIC,
        ] {
            assert_eq!(kind_of(i128::from(local.0)), None);
        }
    }

    #[test]
    fn the_system_is_asked() {
        assert_eq!(kind(Path::new("/proc")), None);
        assert_eq!(kind(Path::new("/no such folder")), None);
    }
}
