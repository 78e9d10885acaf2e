//! The interface to SQLite: a VFS in C around a [`Host`]. The only unsafe code of the crate.
//!
//! A VFS belongs to the thread that made it, and so does its connection. SQLite's list of VFSs is global and guarded by
//! SQLite. Other threads pass an entry but never call it, because every name is used once.

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::size_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use std::rc::Rc;
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::ffi::{self, SQLITE_OK, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};

use crate::host::{Code, Handle, Host};

/// Longest path.
const PATH_BYTES: c_int = 512;

/// A registered VFS.
pub(crate) struct Vfs {
    /// The entry in SQLite's list. It and what it points to must not move until it is removed from the list.
    entry: Box<sqlite3_vfs>,
    name: CString,
    host: Rc<RefCell<Host>>,
}

/// A file, in memory that SQLite allocates.
#[repr(C)]
struct File {
    base: sqlite3_file,
    host: *const RefCell<Host>,
    handle: Handle,
}

impl Vfs {
    /// Registers a VFS.
    pub fn new(host: Host) -> Vfs {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("ufsim-{number}")).expect("no zero bytes");
        let host = Rc::new(RefCell::new(host));
        let mut entry = Box::new(entry(&name, Rc::as_ptr(&host)));
        // SAFETY: the entry is complete, and it, its name and its host live until `drop` has removed it from the list.
        let code = unsafe { ffi::sqlite3_vfs_register(&raw mut *entry, 0) };
        assert_eq!(code, SQLITE_OK, "registering a VFS only fails when memory is short");
        Vfs { entry, name, host }
    }

    /// Its name.
    pub fn name(&self) -> &CStr {
        &self.name
    }

    /// The host behind it. A borrow must not be held across a call of SQLite.
    pub fn host(&self) -> &RefCell<Host> {
        &self.host
    }
}

impl Drop for Vfs {
    fn drop(&mut self) {
        // SAFETY: the entry was registered by `new`; the owner has closed the connection that used it.
        unsafe { ffi::sqlite3_vfs_unregister(&raw mut *self.entry) };
    }
}

fn entry(name: &CStr, host: *const RefCell<Host>) -> sqlite3_vfs {
    sqlite3_vfs {
        iVersion: 2,
        szOsFile: size_of::<File>() as c_int,
        mxPathname: PATH_BYTES,
        pNext: null_mut(),
        zName: name.as_ptr(),
        pAppData: host.cast_mut().cast(),
        xOpen: Some(x_open),
        xDelete: Some(x_delete),
        xAccess: Some(x_access),
        xFullPathname: Some(x_full_pathname),
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(x_randomness),
        xSleep: Some(x_sleep),
        xCurrentTime: Some(x_current_time),
        xGetLastError: Some(x_get_last_error),
        xCurrentTimeInt64: Some(x_current_time_int64),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(x_close),
    xRead: Some(x_read),
    xWrite: Some(x_write),
    xTruncate: Some(x_truncate),
    xSync: Some(x_sync),
    xFileSize: Some(x_file_size),
    xLock: Some(x_lock),
    xUnlock: Some(x_lock),
    xCheckReservedLock: Some(x_check_reserved_lock),
    xFileControl: Some(x_file_control),
    xSectorSize: Some(x_sector_size),
    xDeviceCharacteristics: Some(x_device_characteristics),
    xShmMap: Some(x_shm_map),
    xShmLock: Some(x_shm_lock),
    xShmBarrier: Some(x_shm_barrier),
    xShmUnmap: Some(x_shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Calls the host. A panic must not unwind through SQLite's frames, so it is stored for the caller of SQLite.
fn call(host: &RefCell<Host>, action: impl FnOnce(&mut Host) -> Result<(), Code>) -> c_int {
    let mut host = host.borrow_mut();
    match catch_unwind(AssertUnwindSafe(|| action(&mut host))) {
        Ok(Ok(())) => SQLITE_OK,
        Ok(Err(Code(code))) => code,
        Err(panic) => {
            host.panic.get_or_insert(panic);
            ffi::SQLITE_IOERR
        }
    }
}

/// The host of a VFS.
///
/// # Safety
/// `vfs` must be the entry of a [`Vfs`] that lives.
unsafe fn host_of<'a>(vfs: *mut sqlite3_vfs) -> &'a RefCell<Host> {
    // SAFETY: by contract the entry lives, and its `pAppData` points to the host, which lives as long.
    unsafe { &*(*vfs).pAppData.cast_const().cast() }
}

/// The host of a file, and the file's number there.
///
/// # Safety
/// `file` must have been opened by [`x_open`] and not be closed.
unsafe fn file_of<'a>(file: *mut sqlite3_file) -> (&'a RefCell<Host>, Handle) {
    // SAFETY: SQLite allocated `szOsFile` bytes, in which `x_open` wrote a `File`; its host outlives the connection.
    unsafe {
        let file = file.cast::<File>();
        (&*(*file).host, (*file).handle)
    }
}

/// A path from SQLite as text.
///
/// # Safety
/// `path` must be null or a string with a zero at its end.
unsafe fn text<'a>(path: *const c_char) -> Option<&'a str> {
    // SAFETY: by contract.
    (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) }).and_then(|path| path.to_str().ok())
}

// SQLite calls all functions below with the arguments that https://www.sqlite.org/c3ref/vfs.html and io_methods.html
// promise: a VFS or file that lives, and pointers to results or to buffers of the length given beside them.

unsafe extern "C" fn x_open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: see above; `file` has room for a `File`, and a null `pMethods` says that there is nothing to close.
    unsafe {
        (*file).pMethods = null();
        let host = host_of(vfs);
        call(host, |h| {
            let handle = h.open(text(name), flags)?;
            file.cast::<File>().write(File { base: sqlite3_file { pMethods: &raw const METHODS }, host, handle });
            if !out_flags.is_null() {
                *out_flags = flags;
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn x_delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync_directory: c_int) -> c_int {
    // SAFETY: see above.
    unsafe { call(host_of(vfs), |h| h.delete(text(name).unwrap_or_default(), sync_directory != 0)) }
}

unsafe extern "C" fn x_access(vfs: *mut sqlite3_vfs, name: *const c_char, flags: c_int, result: *mut c_int) -> c_int {
    // SAFETY: see above.
    unsafe {
        call(host_of(vfs), |h| {
            *result = c_int::from(h.exists(text(name).unwrap_or_default(), flags));
            Ok(())
        })
    }
}

unsafe extern "C" fn x_full_pathname(
    _vfs: *mut sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: see above; `out` has `room` bytes.
    unsafe {
        let name = CStr::from_ptr(name).to_bytes_with_nul();
        if name.len() > room as usize {
            return ffi::SQLITE_CANTOPEN;
        }
        out.copy_from_nonoverlapping(name.as_ptr().cast(), name.len());
    }
    SQLITE_OK
}

unsafe extern "C" fn x_randomness(vfs: *mut sqlite3_vfs, bytes: c_int, out: *mut c_char) -> c_int {
    // SAFETY: see above; `out` has `bytes` bytes.
    unsafe {
        call(host_of(vfs), |h| {
            h.randomness(from_raw_parts_mut(out.cast(), bytes as usize));
            Ok(())
        });
    }
    bytes
}

unsafe extern "C" fn x_sleep(vfs: *mut sqlite3_vfs, micros: c_int) -> c_int {
    // SAFETY: see above.
    unsafe {
        call(host_of(vfs), |h| {
            h.sleep(micros.max(0) as u64);
            Ok(())
        });
    }
    micros
}

unsafe extern "C" fn x_current_time(vfs: *mut sqlite3_vfs, days: *mut f64) -> c_int {
    // SAFETY: see above.
    unsafe {
        call(host_of(vfs), |h| {
            *days = h.clock_ms() as f64 / 86_400_000.0;
            Ok(())
        })
    }
}

unsafe extern "C" fn x_current_time_int64(vfs: *mut sqlite3_vfs, ms: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: see above.
    unsafe {
        call(host_of(vfs), |h| {
            *ms = h.clock_ms();
            Ok(())
        })
    }
}

unsafe extern "C" fn x_get_last_error(_vfs: *mut sqlite3_vfs, _bytes: c_int, _out: *mut c_char) -> c_int {
    0
}

unsafe extern "C" fn x_close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: see above.
    unsafe {
        let (host, handle) = file_of(file);
        call(host, |h| {
            h.close(handle);
            Ok(())
        })
    }
}

unsafe extern "C" fn x_read(file: *mut sqlite3_file, into: *mut c_void, bytes: c_int, offset: i64) -> c_int {
    // SAFETY: see above; `into` has `bytes` bytes.
    unsafe {
        let (host, handle) = file_of(file);
        let into = from_raw_parts_mut(into.cast(), bytes as usize);
        call(host, |h| h.read(handle, offset as u64, into))
    }
}

unsafe extern "C" fn x_write(file: *mut sqlite3_file, from: *const c_void, bytes: c_int, offset: i64) -> c_int {
    // SAFETY: see above; `from` has `bytes` bytes.
    unsafe {
        let (host, handle) = file_of(file);
        let from = from_raw_parts(from.cast(), bytes as usize);
        call(host, |h| h.write(handle, offset as u64, from))
    }
}

unsafe extern "C" fn x_truncate(file: *mut sqlite3_file, size: i64) -> c_int {
    // SAFETY: see above.
    unsafe {
        let (host, handle) = file_of(file);
        call(host, |h| h.truncate(handle, size as u64))
    }
}

unsafe extern "C" fn x_sync(file: *mut sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: see above.
    unsafe {
        let (host, handle) = file_of(file);
        call(host, |h| h.sync(handle))
    }
}

unsafe extern "C" fn x_file_size(file: *mut sqlite3_file, size: *mut i64) -> c_int {
    // SAFETY: see above.
    unsafe {
        let (host, handle) = file_of(file);
        call(host, |h| {
            *size = h.size(handle) as i64;
            Ok(())
        })
    }
}

unsafe extern "C" fn x_lock(_file: *mut sqlite3_file, _level: c_int) -> c_int {
    SQLITE_OK
}

unsafe extern "C" fn x_check_reserved_lock(_file: *mut sqlite3_file, result: *mut c_int) -> c_int {
    // SAFETY: see above.
    unsafe { *result = 0 };
    SQLITE_OK
}

unsafe extern "C" fn x_file_control(_file: *mut sqlite3_file, _op: c_int, _arg: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn x_sector_size(file: *mut sqlite3_file) -> c_int {
    // SAFETY: see above.
    unsafe { file_of(file).0.borrow().sectors().0 }
}

unsafe extern "C" fn x_device_characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: see above.
    unsafe { file_of(file).0.borrow().sectors().1 }
}

unsafe extern "C" fn x_shm_map(
    file: *mut sqlite3_file,
    region: c_int,
    bytes: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: see above. A region stays where it is until `x_shm_unmap`.
    unsafe {
        let (host, handle) = file_of(file);
        call(host, |h| {
            *out = h.region(handle, region, bytes, extend != 0).map_or(null_mut(), <*mut u64>::cast);
            Ok(())
        })
    }
}

unsafe extern "C" fn x_shm_lock(_file: *mut sqlite3_file, _offset: c_int, _n: c_int, _flags: c_int) -> c_int {
    SQLITE_OK
}

unsafe extern "C" fn x_shm_barrier(_file: *mut sqlite3_file) {}

unsafe extern "C" fn x_shm_unmap(file: *mut sqlite3_file, _delete: c_int) -> c_int {
    // SAFETY: see above; SQLite uses no region after this call.
    unsafe {
        let (host, handle) = file_of(file);
        call(host, |h| {
            h.drop_regions(handle);
            Ok(())
        })
    }
}
