//! What `check` says of a log that lies in a folder of the operating system.

use super::*;
use crate::faulty::Disk;
use crate::file_system::write_all;
use crate::record::{Encoder, HEADER, Key};
use crate::scan::DamageKind;
use crate::version_1;

const KEY: Key = Key([7; 16]);

/// A log of three changes: one name that has a value, one that has none any more.
fn log() -> Vec<u8> {
    let mut bytes = KEY.header().to_vec();
    let mut encoder = Encoder::new(KEY);
    encoder.push(&mut bytes, b"a", Some(b"1"));
    encoder.push(&mut bytes, b"b", Some(b"2"));
    encoder.push(&mut bytes, b"a", None);
    bytes
}

fn checked(bytes: &[u8], is_usable: impl FnMut(&[u8], &[u8]) -> bool) -> Check {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("test.log"), bytes).unwrap();
    check(folder.path(), "test", is_usable).unwrap()
}

#[test]
fn a_whole_log_is_counted_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.log");
    // The zeros that the file is ahead by are not the log's.
    std::fs::write(&path, [&log()[..], &[0; 300]].concat()).unwrap();
    for named in [folder.path(), &path] {
        let found = check(named, "test", |_, _| true).unwrap();
        assert_eq!(
            (found.records, found.values, found.length),
            (3, 1, log().len() as u64)
        );
        assert!(found.is_whole() && !found.in_use && !found.is_earlier_version);
        assert_eq!(found.path, path);
        assert_eq!(found.kept, Vec::<PathBuf>::new());
    }
    assert_eq!(std::fs::read(&path).unwrap().len(), log().len() + 300);
    assert!(check(&folder.path().join("none.log"), "test", |_, _| true).is_err());
    std::fs::write(&path, b"no log at all").unwrap();
    assert!(matches!(
        check(&path, "test", |_, _| true),
        Err(OpenError::NotALog(_))
    ));
}

#[test]
fn damage_and_values_that_cannot_be_used_make_it_less_than_whole() {
    let mut rotten = log();
    rotten[HEADER + 57] ^= 1;
    let found = checked(&rotten, |_, _| true);
    assert_eq!((found.damaged, found.lost, found.torn), (1, 1, 0));
    assert_eq!(found.damage[0].kind, DamageKind::Rotten);
    assert!(!found.is_whole());

    let found = checked(&log(), |name, value| (name, value) != (b"b", b"2"));
    assert_eq!(found.damage[0].kind, DamageKind::Unusable);
    assert_eq!((found.values, found.lost), (0, 1));
    assert!(!found.is_whole());
}

#[test]
fn a_torn_end_is_damage_unless_a_process_is_writing_there() {
    let mut torn = log();
    let length = torn.len();
    torn.truncate(length - 2);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.log");
    std::fs::write(&path, &torn).unwrap();
    let found = check(&path, "test", |_, _| true).unwrap();
    assert_eq!((found.records, found.damaged, found.in_use), (2, 0, false));
    assert!(found.torn > 0 && !found.is_whole());
    assert_eq!(
        found.length,
        torn.len() as u64,
        "what is torn was written too"
    );

    let owner = OsFileSystem.open(&path, Access::ReadWrite).unwrap();
    assert!(owner.lock().unwrap());
    let found = check(&path, "test", |_, _| true).unwrap();
    assert!(found.in_use && found.torn > 0 && found.is_whole());
    torn[HEADER + 57] ^= 1;
    write_all(&*owner, &torn, 0).unwrap();
    let found = check(&path, "test", |_, _| true).unwrap();
    assert!(found.in_use && !found.is_whole());
}

#[test]
fn a_log_of_the_earlier_version_is_called_that() {
    let found = checked(&version_1::encode(&[(b"a", Some(b"1"))]), |_, _| true);
    assert_eq!((found.records, found.values), (1, 1));
    assert!(found.is_earlier_version && found.is_whole());
}

#[test]
fn copies_that_were_kept_are_named_and_a_new_one_takes_the_first_free_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("test.log"), log()).unwrap();
    for name in ["test.kept-2.log", "test.kept-1.log", "other.kept-1.log"] {
        std::fs::write(at(name), b"copy").unwrap();
    }
    let found = check(&at("test.log"), "test", |_, _| true).unwrap();
    let kept = [at("test.kept-1.log"), at("test.kept-2.log")];
    assert_eq!(found.kept, kept);
    let place = Place {
        folder: folder.path().to_owned(),
        name: "test".to_owned(),
    };
    assert_eq!(place.kept(&OsFileSystem).unwrap(), at("test.kept-3.log"));
    // The log's own second name is its copy already.
    OsFileSystem
        .link(&at("test.log"), &at("test.kept-3.log"))
        .unwrap();
    assert_eq!(place.kept(&OsFileSystem).unwrap(), at("test.kept-3.log"));
    // Without a log any free name will do.
    let empty = Place {
        folder: "/none".into(),
        ..place
    };
    assert_eq!(
        empty.kept(&Disk::new()).unwrap(),
        PathBuf::from("/none/test.kept-1.log")
    );
}
