/* A disk that is watched and that fails, for any program: loaded before libc with LD_PRELOAD.
 *
 * It counts the calls that change something below the directory DISK_ROOT, and writes a line to DISK_LOG before each:
 * the number of the call, its name, and every file with its length and a checksum. That is what a kill at this moment
 * would leave. Further lines tell the state when the program begins and when it ends.
 *
 * With DISK_FROM=N all changes from the Nth on fail with the error DISK_ERROR. The first write that fails is short: half
 * of it arrives. A disk that is full (ENOSPC) lets files be renamed and removed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))real(#name))

enum kind { CREATES, WRITES, NAMES };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static int log_file = -1;
static long count, from = -1;
static int error, torn;

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

static void put(const char *text, size_t length) {
    if (REAL(write)(log_file, text, length) != (ssize_t)length)
        abort();
}

static void tell_file(const char *path, const struct stat *about) {
    unsigned long sum = 0xcbf29ce484222325;
    unsigned char bytes[1 << 16];
    int file = S_ISREG(about->st_mode) ? REAL(open)(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    for (ssize_t got; file >= 0 && (got = read(file, bytes, sizeof bytes)) > 0;)
        for (ssize_t i = 0; i < got; i++)
            sum = (sum ^ bytes[i]) * 0x100000001b3;
    if (file >= 0)
        close(file);
    char text[PATH_MAX + 64];
    put(text, snprintf(text, sizeof text, "\t%s:%ld:%lx", path + strlen(root) + 1, (long)about->st_size, sum));
}

static void tell_directory(const char *path) {
    DIR *directory = opendir(path);
    if (directory == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char inside[PATH_MAX];
        struct stat about;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name) >= (int)sizeof inside)
            abort();
        if (lstat(inside, &about) != 0)
            continue;
        if (S_ISDIR(about.st_mode))
            tell_directory(inside);
        else
            tell_file(inside, &about);
    }
    closedir(directory);
}

static void tell(const char *what) {
    char text[64];
    put(text, snprintf(text, sizeof text, "%ld %s", count, what));
    tell_directory(root);
    put("\n", 1);
}

__attribute__((constructor)) static void begin(void) {
    const char *directory = getenv("DISK_ROOT"), *log = getenv("DISK_LOG");
    if (directory == NULL || log == NULL || realpath(directory, root) == NULL)
        return;
    int file = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    log_file = fcntl(file, F_DUPFD_CLOEXEC, 500);
    close(file);
    if (getenv("DISK_FROM") != NULL) {
        from = atol(getenv("DISK_FROM"));
        error = atoi(getenv("DISK_ERROR"));
    }
    tell("begin");
}

__attribute__((destructor)) static void end(void) {
    if (log_file >= 0)
        tell("end");
}

static int below(const char *path) {
    size_t length = strlen(root);
    return log_file >= 0 && strncmp(path, root, length) == 0 && path[length] == '/';
}

/* Whether a path lies below the directory; what it names need not be there. */
static int path_below(int at, const char *path) {
    char whole[PATH_MAX * 2], place[64];
    ssize_t length = 0;
    if (log_file < 0)
        return 0;
    if (path[0] == '/')
        return below(path);
    snprintf(place, sizeof place, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
    length = readlink(place, whole, PATH_MAX);
    if (length < 0)
        return 0;
    snprintf(whole + length, sizeof whole - length, "/%s", path);
    return below(whole);
}

static int file_below(int file) {
    char place[64], path[PATH_MAX];
    if (log_file < 0 || file == log_file)
        return 0;
    snprintf(place, sizeof place, "/proc/self/fd/%d", file);
    ssize_t length = readlink(place, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return below(path);
}

/* Counts a change; true if it is to fail. */
static int fails(const char *what, enum kind kind) {
    pthread_mutex_lock(&lock);
    tell(what);
    long number = count++;
    int failing = from >= 0 && number >= from && !(error == ENOSPC && kind == NAMES);
    pthread_mutex_unlock(&lock);
    if (failing)
        errno = error;
    return failing;
}

/* As much of the first write that fails as arrives; 0 for later ones. */
static size_t arrives(size_t length) {
    pthread_mutex_lock(&lock);
    size_t some = torn++ == 0 ? length / 2 : 0;
    pthread_mutex_unlock(&lock);
    return some;
}

static int opens(int at, const char *path, int flags, const char *what) {
    int changes = (flags & (O_CREAT | O_TRUNC)) != 0;
    return changes && path_below(at, path) && fails(what, CREATES);
}

#define MODE(flags) \
    mode_t mode = 0; \
    if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE) { \
        va_list more; \
        va_start(more, flags); \
        mode = va_arg(more, mode_t); \
        va_end(more); \
    }

int open(const char *path, int flags, ...) {
    MODE(flags)
    return opens(AT_FDCWD, path, flags, "open") ? -1 : REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE(flags)
    return opens(AT_FDCWD, path, flags, "open") ? -1 : REAL(open64)(path, flags, mode);
}

int openat(int at, const char *path, int flags, ...) {
    MODE(flags)
    return opens(at, path, flags, "open") ? -1 : REAL(openat)(at, path, flags, mode);
}

int openat64(int at, const char *path, int flags, ...) {
    MODE(flags)
    return opens(at, path, flags, "open") ? -1 : REAL(openat64)(at, path, flags, mode);
}

#define SHORT(length, write) \
    size_t some = arrives(length); \
    if (some == 0) { \
        errno = error; \
        return -1; \
    } \
    return write;

ssize_t write(int file, const void *bytes, size_t length) {
    if (!file_below(file) || !fails("write", WRITES))
        return REAL(write)(file, bytes, length);
    SHORT(length, REAL(write)(file, bytes, some))
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t at) {
    if (!file_below(file) || !fails("pwrite", WRITES))
        return REAL(pwrite)(file, bytes, length, at);
    SHORT(length, REAL(pwrite)(file, bytes, some, at))
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) {
    if (!file_below(file) || !fails("pwrite", WRITES))
        return REAL(pwrite64)(file, bytes, length, at);
    SHORT(length, REAL(pwrite64)(file, bytes, some, at))
}

ssize_t writev(int file, const struct iovec *parts, int number) {
    if (!file_below(file) || !fails("writev", WRITES))
        return REAL(writev)(file, parts, number);
    SHORT(parts[0].iov_len, REAL(write)(file, parts[0].iov_base, some))
}

int ftruncate(int file, off_t length) {
    return file_below(file) && fails("ftruncate", WRITES) ? -1 : REAL(ftruncate)(file, length);
}

int ftruncate64(int file, off64_t length) {
    return file_below(file) && fails("ftruncate", WRITES) ? -1 : REAL(ftruncate64)(file, length);
}

int fsync(int file) { return file_below(file) && fails("fsync", WRITES) ? -1 : REAL(fsync)(file); }

int fdatasync(int file) { return file_below(file) && fails("fsync", WRITES) ? -1 : REAL(fdatasync)(file); }

int rename(const char *old, const char *new) {
    return path_below(AT_FDCWD, new) && fails("rename", NAMES) ? -1 : REAL(rename)(old, new);
}

int renameat(int old_at, const char *old, int new_at, const char *new) {
    return path_below(new_at, new) && fails("rename", NAMES) ? -1 : REAL(renameat)(old_at, old, new_at, new);
}

int renameat2(int old_at, const char *old, int new_at, const char *new, unsigned flags) {
    return path_below(new_at, new) && fails("rename", NAMES) ? -1 : REAL(renameat2)(old_at, old, new_at, new, flags);
}

int link(const char *old, const char *new) {
    return path_below(AT_FDCWD, new) && fails("link", NAMES) ? -1 : REAL(link)(old, new);
}

int linkat(int old_at, const char *old, int new_at, const char *new, int flags) {
    return path_below(new_at, new) && fails("link", NAMES) ? -1 : REAL(linkat)(old_at, old, new_at, new, flags);
}

int unlink(const char *path) {
    return path_below(AT_FDCWD, path) && fails("unlink", NAMES) ? -1 : REAL(unlink)(path);
}

int unlinkat(int at, const char *path, int flags) {
    return path_below(at, path) && fails("unlink", NAMES) ? -1 : REAL(unlinkat)(at, path, flags);
}
