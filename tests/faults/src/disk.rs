//! A disk that can be full.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Error, Result, bail};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};

/// How a disk is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// A small file system of its own, in memory, which only this process sees: it
    /// takes a right that not every machine gives.
    Small,
    /// The system lets this process write no more into files. SQLite then knows of
    /// no reason.
    Limited,
}

/// A disk of this process, with a store on it.
#[derive(Debug)]
pub struct SmallDisk {
    kind: Disk,
    store: PathBuf,
}

impl SmallDisk {
    /// Of the process that is still alone with one thread. The store is on it, or
    /// where it was said to be.
    ///
    /// # Errors
    /// The system does not give it.
    pub fn new(kind: Disk, store: &Path) -> Result<Self> {
        let store = match kind {
            Disk::Small => mount(store)?,
            Disk::Limited => {
                // A signal that is blocked is an error of the write.
                SigSet::from(Signal::SIGXFSZ).thread_block()?;
                store.to_owned()
            }
        };
        Ok(Self { kind, store })
    }

    /// Where the store is.
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// Leaves no room.
    ///
    /// # Errors
    /// The system says no.
    pub fn fill(&self) -> Result<()> {
        match self.kind {
            Disk::Small => {
                let mut file = File::create(self.junk())?;
                let mut size = 64 << 10;
                while size > 0 {
                    match file.write_all(&vec![0; size]) {
                        Ok(()) => {}
                        Err(error) if error.kind() == io::ErrorKind::StorageFull => size /= 2,
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok(())
            }
            Disk::Limited => limit(|_| 0),
        }
    }

    /// Gives back what [`fill`](Self::fill) took.
    ///
    /// # Errors
    /// The system says no.
    pub fn free(&self) -> Result<()> {
        match self.kind {
            Disk::Small => Ok(fs::remove_file(self.junk())?),
            Disk::Limited => limit(|most| most),
        }
    }

    /// Copies the store, which is closed, to where it was said to be.
    ///
    /// # Errors
    /// It cannot be copied.
    pub fn leave(self, store: &Path) -> Result<()> {
        match self.kind {
            Disk::Small => fs::copy(&self.store, store).map(drop).context("copy the store"),
            Disk::Limited => Ok(()),
        }
    }

    fn junk(&self) -> PathBuf {
        self.store.with_file_name("junk")
    }
}

fn limit(soft: impl Fn(u64) -> u64) -> Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_FSIZE)?;
    Ok(setrlimit(Resource::RLIMIT_FSIZE, soft(most), most)?)
}

#[cfg(target_os = "linux")]
fn mount(store: &Path) -> Result<PathBuf> {
    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};
    use nix::unistd::{Gid, Uid};

    const SIZE: &str = "size=16m";
    let (user, group) = (Uid::effective(), Gid::effective());
    let mut own = CloneFlags::CLONE_NEWNS;
    if !user.is_root() {
        own |= CloneFlags::CLONE_NEWUSER;
    }
    unshare(own).context("a name space of its own")?;
    if !user.is_root() {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    let none = None::<&str>;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(none, "/", none, private, none).context("keep its mounts to itself")?;
    let folder = store.with_file_name("disk");
    fs::create_dir_all(&folder)?;
    let tmpfs = Some("tmpfs");
    mount(tmpfs, &folder, tmpfs, MsFlags::empty(), Some(SIZE)).context("mount a small disk")?;
    Ok(folder.join("store.db"))
}

#[cfg(not(target_os = "linux"))]
fn mount(_: &Path) -> Result<PathBuf> {
    bail!("this system has no file systems in memory for one process")
}

impl FromStr for Disk {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "small" => Ok(Self::Small),
            "limited" => Ok(Self::Limited),
            _ => bail!("`{text}` is no disk; one is `small`"),
        }
    }
}
