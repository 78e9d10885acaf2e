//! `replace` leaves the old file or the new one, whatever happens, and touches nothing of another kind.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use ufsim_files::trial::{Trial, Tried};
use ufsim_files::{Access, Append, FileError, Files, Kind, Simulated, Sort, check, is_unfinished, make_new, replace};

const PATH: &str = "/out/result.txt";
const KIND: Kind = Kind::new("result", |head| head.starts_with(b"result"));

/// More than is written at a time.
fn text(of: &str) -> Vec<u8> {
    let mut text = format!("result {of}\n");
    (0..20_000).for_each(|line| writeln!(text, "{line}").unwrap());
    text.into_bytes()
}

fn write(files: &dyn Files, path: &str, bytes: &[u8]) -> Result<(), String> {
    let written: Result<(), FileError> = replace(files, Path::new(path), KIND, |out| {
        bytes
            .chunks(1000)
            .try_for_each(|piece| out.write_all(piece))
            .map_err(|error| FileError::new(Path::new(path), error))
    });
    written.map_err(|error| error.to_string())
}

fn disk() -> Simulated {
    let disk = Simulated::new();
    disk.make_directory("/out");
    disk
}

fn with_old() -> Simulated {
    let disk = disk();
    disk.put(PATH, b"result old\n");
    disk.put("/out/other", b"of somebody else");
    disk
}

fn tried(before: &dyn Fn() -> Simulated, write: &dyn Fn(&dyn Files) -> Result<(), String>) -> Result<Tried, String> {
    Trial::of(before, write).run()
}

#[test]
fn whatever_stops_a_writer_the_old_file_is_there_or_the_new_one() {
    let new = text("new");
    let writer = |files: &dyn Files| write(files, PATH, &new);
    for before in [&disk as &dyn Fn() -> Simulated, &with_old] {
        let tried = tried(before, &writer).unwrap();
        // Create, writes, sync, rename.
        assert!(tried.changes >= 5 && tried.stopped > 1000, "{tried:?}");
    }
    let small = |files: &dyn Files| write(files, PATH, b"result, small");
    let tried = tried(&with_old, &small).unwrap();
    // With so few bytes every size of the disk is tried.
    assert_eq!(tried.changes, 4);
    assert!(tried.stopped >= 13 + 16 + "of somebody else".len() as u64, "{tried:?}");
}

#[test]
fn what_killed_writers_have_left_goes_with_the_next_one() {
    let left = || {
        let disk = with_old();
        disk.plan(disk.changes() + 2, ufsim_files::Fault::Kill { torn: 3 });
        write(&disk, PATH, &text("never")).unwrap_err();
        disk.revive();
        // Two have died at the same time.
        disk.put("/out/.unfinished-3-result.txt", b"resu");
        disk
    };
    assert_eq!(left().paths().iter().filter(|path| is_unfinished(path.file_name().unwrap())).count(), 2);
    tried(&left, &|files| write(files, PATH, b"result new")).unwrap();
}

#[test]
fn a_writer_in_place_is_found_out() {
    let in_place = |files: &dyn Files| -> std::io::Result<()> {
        let file = match files.about(Path::new(PATH))? {
            Some(_) => files.open(Path::new(PATH), true)?,
            None => files.create_new(Path::new(PATH), Access::Shared)?,
        };
        file.set_len(0)?;
        Append::empty(file).write_all(b"result new, in place")
    };
    let told = |files: &dyn Files| in_place(files).map_err(|error| error.to_string());
    let finding = tried(&with_old, &told).unwrap_err();
    assert_eq!(finding, "killed at change 1, torn at 0: /out/result.txt: has 0 bytes, and is none of both");
    // So is one that names a file before it is complete.
    let early = |files: &dyn Files| {
        let beside = Path::new("/out/.unfinished-0-x");
        let _ = files.remove(beside);
        let file = files.create_new(beside, Access::Shared)?;
        let named = files.rename(beside, Path::new(PATH));
        named.and_then(|()| Append::empty(file).write_all(b"result new")).inspect_err(|_| drop(files.remove(beside)))
    };
    let finding = tried(&disk, &|files| early(files).map_err(|error: std::io::Error| error.to_string())).unwrap_err();
    assert_eq!(finding, "killed at change 3, torn at 0: /out/result.txt: has 0 bytes, and is none of both");
}

#[test]
fn nothing_of_another_kind_is_replaced() {
    let disk = with_old();
    disk.make_directory("/out/directory");
    for (path, sort) in [("/out/link", Sort::Symlink), ("/out/node", Sort::Other), ("/out/socket", Sort::Socket)] {
        disk.plant(path, sort);
    }
    let before = (disk.paths(), disk.bytes("/out/other"));
    for (path, told) in [
        ("/out/other", "/out/other: is no result: not replaced"),
        ("/out/directory", "/out/directory: is a directory: not replaced"),
        ("/out/link", "/out/link: is a symbolic link: not replaced"),
        ("/out/node", "/out/node: is no ordinary file: not replaced"),
        ("/out/socket", "/out/socket: is no ordinary file: not replaced"),
        ("/out/..", "/out/..: is no name of a file"),
        ("/nowhere/x", "/nowhere/x: No such file or directory (os error 2)"),
    ] {
        let begin = disk.changes();
        assert_eq!(write(&disk, path, b"result new").unwrap_err(), told);
        // Found before anything is written.
        assert!(path.starts_with("/nowhere") || disk.changes() == begin, "{path}");
        assert_eq!((disk.paths(), disk.bytes("/out/other")), before);
    }
    disk.put("/out/empty", b"");
    write(&disk, "/out/empty", b"result new").unwrap();
    assert!(check(&disk, Path::new("/out/new"), KIND).is_ok());
}

#[test]
fn what_comes_to_the_place_meanwhile_is_not_replaced_either() {
    let disk = disk();
    let written: Result<(), FileError> = replace(&disk, Path::new(PATH), KIND, |out| {
        disk.plant(PATH, Sort::Symlink);
        out.write_all(b"result").map_err(|error| FileError::new(Path::new(PATH), error))
    });
    assert_eq!(written.unwrap_err().to_string(), "/out/result.txt: is a symbolic link: not replaced");
    assert_eq!(disk.paths(), [Path::new("/out"), Path::new(PATH)]);
}

#[test]
fn links_planted_where_a_file_is_written_are_stepped_over() {
    let disk = disk();
    disk.plant("/out/.unfinished-0-result.txt", Sort::Symlink);
    disk.plant("/out/.unfinished-1-result.txt", Sort::Other);
    write(&disk, PATH, b"result new").unwrap();
    assert_eq!(disk.bytes(PATH).unwrap(), b"result new");
    assert_eq!(disk.paths().len(), 4);
}

#[test]
fn a_file_that_another_process_writes_is_left_to_it() {
    let disk = disk();
    let outer: Result<(), FileError> = replace(&disk, Path::new(PATH), KIND, |out| {
        write(&disk, PATH, b"result of the faster one").unwrap();
        out.write_all(b"result of the slower one").map_err(|error| FileError::new(Path::new(PATH), error))
    });
    outer.unwrap();
    assert_eq!(disk.bytes(PATH).unwrap(), b"result of the slower one");
    assert_eq!(disk.paths().len(), 2);
}

#[test]
fn modes_are_right_under_any_umask() {
    for umask in [0, 0o022, 0o077, 0o777] {
        let disk = disk();
        disk.set_umask(umask);
        for (path, kind, mode) in [("/out/a", KIND, 0o666 & !umask), ("/out/b", KIND.private(), 0o600)] {
            let write =
                |out: &mut dyn Write| out.write_all(b"result").map_err(|error| FileError::new(Path::new(path), error));
            replace(&disk, Path::new(path), kind, write).unwrap();
            assert_eq!(disk.about(Path::new(path)).unwrap().unwrap().mode, mode);
        }
    }
}

#[test]
fn a_name_of_any_length_has_room_beside_it() {
    let (disk, name) = (disk(), "n".repeat(255));
    write(&disk, &format!("/out/{name}"), b"result").unwrap();
    let beside: Result<(), FileError> = replace(&disk, &Path::new("/out").join(&name), KIND, |_| {
        let longest = disk.paths().iter().map(|path| path.file_name().unwrap_or_default().len()).max();
        assert_eq!(longest, Some(255));
        Ok(())
    });
    beside.unwrap();
}

#[test]
fn a_new_file_appears_whole_and_never_in_place_of_another() {
    let path = Path::new("/out/new");
    let whole = [7; 9000];
    let make = |files: &dyn Files| {
        let made = make_new(files, path, Access::Private, |file| {
            whole.chunks(1000).zip(0..).try_for_each(|(piece, at)| file.write_at(piece, at * 1000))
        });
        made.map(drop).map_err(|error| error.to_string())
    };
    tried(&with_old, &make).unwrap();
    let disk = with_old();
    make(&disk).unwrap();
    assert_eq!((disk.bytes(path).unwrap(), disk.about(path).unwrap().unwrap().mode), (whole.to_vec(), 0o600));
    disk.remove(path).unwrap();
    disk.put(path, b"of another");
    assert!(make(&disk).is_err());
    assert_eq!(disk.bytes(path).unwrap(), b"of another");
}
