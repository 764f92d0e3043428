//! What a store asks of a file system holds for the operating system's own, and for the one in memory
//! that the other tests put in its place: what they show is worth as much as the two are alike.

use super::*;
use crate::faulty::Disk;
use std::path::PathBuf;
use std::sync::Arc;

/// A folder of an empty file system; the guard keeps it.
fn each(check: impl Fn(&dyn FileSystem, &Path)) {
    check(&Disk::new(), Path::new("/store"));
    let folder = tempfile::tempdir().unwrap();
    check(&OsFileSystem, &folder.path().join("above/store"));
}

fn open(on: &dyn FileSystem, path: &Path, access: Access) -> Arc<dyn StoreFile> {
    on.open(path, access).unwrap()
}

fn written(on: &dyn FileSystem, path: &Path, bytes: &[u8]) -> Arc<dyn StoreFile> {
    let file = open(on, path, Access::ReadWrite);
    write_all(&*file, bytes, 0).unwrap();
    file
}

/// All of a file, a few bytes at a time.
fn bytes(file: &dyn StoreFile) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), [0; 3]);
    loop {
        match file.read_at(&mut piece, all.len() as u64).unwrap() {
            0 => return all,
            read => all.extend(&piece[..read]),
        }
    }
}

#[test]
fn a_file_holds_what_was_written_to_each_place() {
    each(|on, folder| {
        on.create_folder(folder).unwrap();
        let path = folder.join("a");
        assert!(on.open(&path, Access::Read).is_err(), "it is not there");
        let file = written(on, &path, b"0123456789");
        write_all(&*file, b"ab", 4).unwrap();
        file.sync().unwrap();
        assert_eq!(bytes(&*open(on, &path, Access::Read)), b"0123ab6789");
        // Opened once more, it is as it was; opened as new, it is empty, for all that have it open.
        assert_eq!(bytes(&*open(on, &path, Access::ReadWrite)), b"0123ab6789");
        open(on, &path, Access::New);
        assert_eq!(bytes(&*file), b"");
    });
}

#[test]
fn what_cannot_be_synchronised_says_so() {
    // The kernel has nothing to bring to a disk there, and refuses (fsync(2), EINVAL).
    let null = open(&OsFileSystem, Path::new("/dev/null"), Access::Read);
    assert!(null.sync().is_err());
}

#[test]
fn a_file_is_cut_and_made_longer_with_zeros_and_extending_never_cuts() {
    each(|on, folder| {
        on.create_folder(folder).unwrap();
        let file = written(on, &folder.join("a"), b"0123");
        file.extend(6).unwrap();
        assert_eq!(bytes(&*file), b"0123\0\0");
        file.extend(2).unwrap();
        assert_eq!(file.state().unwrap().length, 6);
        file.set_length(3).unwrap();
        assert_eq!(bytes(&*file), b"012");
        file.set_length(5).unwrap();
        assert_eq!(bytes(&*file), b"012\0\0");
    });
}

#[test]
fn a_lock_is_held_by_one_handle_until_it_is_dropped() {
    each(|on, folder| {
        on.create_folder(folder).unwrap();
        let path = folder.join("a");
        let first = written(on, &path, b"");
        let second = open(on, &path, Access::ReadWrite);
        assert!(first.lock().unwrap());
        assert!(!second.lock().unwrap());
        drop(first);
        assert!(second.lock().unwrap());
    });
}

#[test]
fn names_lead_to_files_and_a_name_that_is_not_there_is_no_fault() {
    each(|on, folder| {
        on.create_folder(folder).unwrap();
        on.create_folder(folder).unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| folder.join(name));
        let identity = |path: &PathBuf| on.state(path).unwrap().map(|found| found.identity);
        assert_eq!(identity(&a), None);
        on.remove(&a).unwrap();
        let (one, two) = (written(on, &a, b"1"), written(on, &b, b"22"));
        let [one_is, two_is] = [&one, &two].map(|file| file.state().unwrap().identity);
        assert_ne!(one_is, two_is);
        assert_eq!(on.state(&b).unwrap().unwrap().length, 2);
        on.link(&a, &c).unwrap();
        assert!(on.link(&a, &b).is_err(), "a second name must be free");
        on.rename(&a, &b).unwrap();
        on.sync_folder(folder).unwrap();
        assert_eq!(
            [&a, &b, &c].map(identity),
            [None, Some(one_is), Some(one_is)]
        );
        // What was replaced is still there for its handle.
        assert_eq!(bytes(&*two), b"22");
        on.remove(&b).unwrap();
        assert_eq!(identity(&b), None);
        assert_ne!(on.new_key().unwrap(), on.new_key().unwrap());
    });
}

#[test]
fn folders_and_files_are_for_their_owner_and_what_was_open_to_others_is_closed() {
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("one/two");
    OsFileSystem.create_folder(&folder).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(
        [mode(&folder), mode(folder.parent().unwrap())],
        [FOLDER_MODE; 2]
    );
    for access in [Access::ReadWrite, Access::New] {
        let path = folder.join(format!("{access:?}"));
        open(&OsFileSystem, &path, access);
        assert_eq!(mode(&path), FILE_MODE);
        // One bit for others is enough to be taken away; who only reads leaves all as it is.
        for open_to in [0o640, 0o604, 0o644] {
            std::fs::set_permissions(&path, Permissions::from_mode(open_to)).unwrap();
            open(&OsFileSystem, &path, Access::Read);
            assert_eq!(mode(&path), open_to);
            open(&OsFileSystem, &path, access);
            assert_eq!(mode(&path), FILE_MODE, "{access:?} of {open_to:o}");
        }
        // Its owner's own choice stays.
        std::fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        open(&OsFileSystem, &path, access);
        assert_eq!(mode(&path), 0o700);
    }
}

#[test]
fn other_faults_than_a_missing_name_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    written(&OsFileSystem, &file, b"1");
    // A file is no folder.
    let below = file.join("below");
    assert!(OsFileSystem.state(&below).is_err());
    assert!(OsFileSystem.remove(&below).is_err());
    assert!(OsFileSystem.create_folder(&below).is_err());
    assert!(OsFileSystem.sync_folder(&below).is_err());
    assert!(OsFileSystem.open(&below, Access::New).is_err());
    // A folder is no file.
    assert!(OsFileSystem.remove(folder.path()).is_err());
    // What is open to be read only is not changed.
    let file = open(&OsFileSystem, &file, Access::Read);
    assert!(file.write_at(b"2", 0).is_err());
    assert!(file.set_length(0).is_err());
    assert!(file.extend(9).is_err());
}

/// Writes as its script says.
#[derive(Debug)]
struct Scripted {
    script: std::sync::Mutex<Vec<io::Result<usize>>>,
    file: Arc<dyn StoreFile>,
}

impl StoreFile for Scripted {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        self.file.read_at(bytes, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        let next = self.script.lock().unwrap().pop();
        let written = next.unwrap_or(Ok(bytes.len()))?;
        match written {
            0 => Ok(0),
            some => self.file.write_at(&bytes[..some], at),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn extend(&self, length: u64) -> io::Result<()> {
        self.file.extend(length)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.file.set_length(length)
    }

    fn state(&self) -> io::Result<FileState> {
        self.file.state()
    }

    fn lock(&self) -> io::Result<bool> {
        self.file.lock()
    }
}

#[test]
fn all_is_written_however_many_calls_it_takes_and_a_disk_that_takes_nothing_is_a_fault() {
    let attempt = |mut script: Vec<io::Result<usize>>| {
        script.reverse();
        let file = Scripted {
            script: script.into(),
            file: open(&Disk::new(), Path::new("/a"), Access::New),
        };
        let done = write_all(&file, b"0123456789", 1).map_err(|error| error.kind());
        (done, bytes(&file))
    };
    let kind = |kind: io::ErrorKind| Err(kind.into());
    let (done, held) = attempt(vec![Ok(3), kind(io::ErrorKind::Interrupted), Ok(1)]);
    assert_eq!((done, &held[..]), (Ok(()), &b"\x000123456789"[..]));
    let (done, held) = attempt(vec![Ok(2), Ok(0)]);
    assert_eq!(
        (done, &held[..]),
        (Err(io::ErrorKind::WriteZero), &b"\x0001"[..])
    );
    let (done, held) = attempt(vec![Ok(4), kind(io::ErrorKind::StorageFull)]);
    assert_eq!(
        (done, &held[..]),
        (Err(io::ErrorKind::StorageFull), &b"\x000123"[..])
    );
}
