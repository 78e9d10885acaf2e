//! The simulated disk does what the real one does, and fails as it is told.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use ufsim_files::{Access, Append, Fault, File, FileError, Files, Kind, Real, Simulated, Sort, check, replace};

/// A directory of the real disk, removed at its end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("ufsim-files-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const KIND: Kind = Kind::new("result", |head| head.starts_with(b"result"));

/// Everything that programs ask of a disk, and what came of it.
fn session(files: &dyn Files, at: &Path) -> Vec<String> {
    let [a, b, link, folder] = ["a", "b", "link", "folder"].map(|name| at.join(name));
    let mut told = Vec::new();
    let mut tell = |what: std::io::Result<String>| told.push(what.unwrap_or_else(|error| error.kind().to_string()));
    let about = |path: &Path| {
        let found = files.about(path)?;
        Ok(found.map_or("nothing".into(), |found| match found.sort {
            Sort::Regular => format!("{:o} {}", found.mode, found.len),
            sort => format!("{sort:?}"),
        }))
    };
    tell(about(&a));
    let file = files.create_new(&a, Access::Private).unwrap();
    tell(about(&a));
    tell(files.create_new(&a, Access::Shared).map(|_| String::new()));
    file.write_at(b"hello", 5000).unwrap();
    let mut bytes = [1; 7];
    tell(file.read_at(&mut bytes, 4998).map(|()| format!("{bytes:?}")));
    tell(file.read_at(&mut bytes, 4999).map(|()| "beyond the end".into()));
    file.set_len(5002).unwrap();
    file.set_len(5006).unwrap();
    tell(file.read_at(&mut bytes[..6], 5000).map(|()| format!("{bytes:?}")));
    tell(about(&a));
    let again = files.open(&a, true).unwrap();
    tell(Ok(format!("{:?} {:?}", file.try_lock(), again.try_lock())));
    drop(file);
    tell(Ok(format!("{:?}", again.try_lock())));
    let reader = files.open(&a, false).unwrap();
    tell(reader.write_at(b"x", 0).map(|()| "written by a reader".into()).map_err(|_| std::io::ErrorKind::Other.into()));
    drop(files.create_new(&b, Access::Private).unwrap());
    tell(files.rename_new(&a, &b).map(|()| "replaced".into()));
    tell(files.rename(&a, &b).map(|()| "renamed".into()));
    tell(about(&b));
    tell(Ok(format!("{}", again.about().unwrap().identity == files.about(&b).unwrap().unwrap().identity)));
    tell(files.remove(&b).map(|()| "removed".into()));
    tell(again.read_at(&mut bytes[..1], 5000).map(|()| format!("{}", bytes[0])));
    tell(files.remove(&b).map(|()| String::new()));
    tell(files.open(&b, true).map(|_| String::new()));
    tell(about(&link));
    tell(files.open(&link, true).map(|_| String::new()));
    tell(files.create_new(&link, Access::Shared).map(|_| String::new()));
    tell(files.open(&folder, false).map(|_| String::new()));
    tell(files.rename(&link, &at.join("elsewhere")).map(|()| "renamed".into()));
    tell(about(&at.join("elsewhere")));
    tell(files.create_new(&at.join("no/where"), Access::Shared).map(|_| String::new()));
    told
}

#[test]
fn the_simulated_disk_does_what_the_real_one_does() {
    let directory = Directory::new("same");
    symlink("target", directory.0.join("link")).unwrap();
    std::fs::create_dir(directory.0.join("folder")).unwrap();
    let disk = Simulated::new();
    disk.make_directory("/d/folder");
    disk.plant("/d/link", Sort::Symlink);
    let (real, simulated) = (session(&Real, &directory.0), session(&disk, Path::new("/d")));
    assert_eq!(real, simulated);
    assert!(real.contains(&"600 5006".into()), "{real:?}");
    assert!(!directory.0.join("target").exists());
}

#[test]
fn the_real_disk_replaces_files_of_their_kind_and_nothing_else() {
    let directory = Directory::new("kinds");
    let write = |name: &str, kind: Kind| {
        let path = directory.0.join(name);
        let write = |out: &mut dyn Write| out.write_all(b"result").map_err(|error| FileError::new(&path, error));
        replace(&Real, &path, kind, write).map_err(|error| error.to_string().split_once(": ").unwrap().1.to_owned())
    };
    write("new", KIND.private()).unwrap();
    assert_eq!(std::fs::metadata(directory.0.join("new")).unwrap().permissions().mode() & 0o777, 0o600);
    write("new", KIND).unwrap();
    std::fs::write(directory.0.join("foreign"), "of somebody else").unwrap();
    symlink("target", directory.0.join("link")).unwrap();
    let _socket = UnixListener::bind(directory.0.join("socket")).unwrap();
    assert_eq!(write("foreign", KIND).unwrap_err(), "is no result: not replaced");
    assert_eq!(write("link", KIND).unwrap_err(), "is a symbolic link: not replaced");
    assert_eq!(write("socket", KIND).unwrap_err(), "is no ordinary file: not replaced");
    let told = check(&Real, Path::new("/dev/null"), KIND).unwrap_err().to_string();
    assert_eq!(told, "/dev/null: is no ordinary file: not replaced");
    assert_eq!(std::fs::read_dir(&directory.0).unwrap().count(), 4);
    assert_eq!(std::fs::read_to_string(directory.0.join("foreign")).unwrap(), "of somebody else");
}

fn file(disk: &Simulated) -> Box<dyn File> {
    disk.create_new(Path::new("/f"), Access::Private).unwrap()
}

#[test]
fn writes_fail_in_each_way_at_the_operation_that_was_planned() {
    let after = |fault: Fault, writes: [(u64, &[u8]); 3]| {
        let disk = Simulated::new();
        let file = file(&disk);
        disk.plan(1, fault);
        let ended: Vec<bool> = writes.iter().map(|(at, bytes)| file.write_at(bytes, *at).is_ok()).collect();
        (String::from_utf8(disk.bytes("/f").unwrap()).unwrap(), ended)
    };
    let writes: [(u64, &[u8]); 3] = [(0, b"abcd"), (4, b"efgh"), (0, b"AB")];
    let all = vec![true; 3];
    assert_eq!(after(Fault::Lost, writes), ("AB\0\0efgh".into(), all.clone()));
    assert_eq!(after(Fault::Misdirected { to: 6 }, writes), ("AB\0\0efghcd".into(), all.clone()));
    assert_eq!(after(Fault::Repeated { after: 1 }, writes), ("ABcdefgh".into(), all.clone()));
    assert_eq!(
        after(Fault::Repeated { after: 0 }, [writes[0], writes[2], writes[1]]),
        ("ABcdefgh".into(), all.clone())
    );
    let late = [writes[0], writes[2], writes[1]];
    assert_eq!(after(Fault::Repeated { after: 1 }, late), ("abcdefgh".into(), all));
    assert_eq!(after(Fault::Fails { torn: 1 }, writes), ("AB\0\0efgh".into(), vec![false, true, true]));
    assert_eq!(after(Fault::Broken, writes), (String::new(), vec![false; 3]));
    assert_eq!(after(Fault::Kill { torn: 2 }, writes), ("ab".into(), vec![false; 3]));
}

#[test]
fn room_is_counted_to_the_byte_and_given_back() {
    let disk = Simulated::new();
    let mut log = Append::empty(file(&disk));
    disk.set_room(Some(10_000));
    log.write_all(&[1; 9_990]).unwrap();
    let full = log.write_all(&[2; 11]).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    // What arrived of it is covered by the next one.
    log.write_all(&[3; 10]).unwrap();
    assert_eq!(disk.bytes("/f").unwrap()[9_980..], [[1; 10], [3; 10]].concat());
    log.file().set_len(5_000).unwrap();
    log.file().write_at(&[4; 5_000], 5_000).unwrap();
    assert!(log.file().write_at(&[5], 10_000).is_err());
    // An open file keeps its room without a name.
    disk.remove(Path::new("/f")).unwrap();
    let other = file(&disk);
    assert!(other.write_at(&[6], 0).is_err());
    drop(log);
    other.write_at(&[6; 10_000], 1 << 40).unwrap();
}

#[test]
fn a_killed_process_changes_nothing_and_loses_its_locks() {
    let disk = Simulated::new();
    let old = file(&disk);
    assert!(old.try_lock().unwrap());
    disk.kill();
    assert!(old.write_at(b"x", 0).is_err() && old.try_lock().is_err() && disk.about(Path::new("/f")).is_err());
    assert!(disk.remove(Path::new("/f")).is_err());
    disk.revive();
    assert!(old.write_at(b"x", 0).is_err(), "a handle of the process before");
    let new = disk.open(Path::new("/f"), true).unwrap();
    assert!(new.try_lock().unwrap());
    drop(old);
    assert!(!disk.open(Path::new("/f"), true).unwrap().try_lock().unwrap(), "the old handle has unlocked a new one");
    new.write_at(b"new", 0).unwrap();
    disk.damage("/f", 1, 0x20);
    assert_eq!(disk.bytes("/f").unwrap(), b"nEw");
}
