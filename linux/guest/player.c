// SPDX-License-Identifier: GPL-2.0
/*
 * Plays a scenario of apps: "player FILE". Each app is a process with a UID of its own that maps a file or a disk and
 * reads pages of it, as page faults one after another. The player is the phone around them: it starts them, tells
 * HPBvalve's driver what App-Detector and Mem-Detector would (linux/guest/hpbvalve_sysfs.c), and kills by Android's
 * levels.
 *
 * A scenario has one command on a line; pages are numbers of 4 KiB in what is mapped, 7+3 is three from 7 on:
 *
 *	map PATH		what all apps read; first of all
 *	fill PAGE...		is written before
 *	app UID KIB		an app, and the memory that its process takes
 *	start UID		its process begins, and nobody sees it
 *	launch UID PAGE...	it comes to the front, in a new process unless it has one, and reads
 *	use UID PAGE...		the app in front reads
 *	background UID PAGE...	an app that lives reads, and nobody waits for it
 *	write UID PAGE...	an app that lives writes zeroes, directly
 *	exit UID		the user ends it
 *	notice UID KIB		a killer would be about to end it, which would free so much
 *	free KIB		from now on the killer sees to so much available memory (MemAvailable)
 *	wait MS
 *
 * It prints a line for each launch and use, with what reads took in ns, and for what the killer does. What was read is
 * dropped from the page cache: scenarios are recorded below that, so each page in them is a read of the disk.
 *
 * The killer looks after each launch and use. A victim is of the highest level, and of these the one that was in front
 * longest ago: 0 in front, 700 the app before, 900 and up all others (Android's ProcessList). The driver is told of it
 * before, and it lives if as much comes back as its end would free.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLICY		"/sys/block/sda/device/hpbvalve/"
#define RECLAIMED	"/sys/block/sda/device/hpbvalve_stats/hpbvalve_reclaimed_bytes"
#define PAGE		4096
#define APPS		64
#define FRONT		0
#define PREVIOUS	700
#define CACHED		900
#define MOST_CACHED	999
/* Pages are written. */
#define WRITES		0x80000000
/* A word has a page in its lower bits, and how many more in the others. */
#define PAGE_BITS	28
#define MOST_PAGES	16

struct app {
	unsigned int uid;
	unsigned int kib;
	/* 0 if it has no process. */
	pid_t pid;
	int to;
	int from;
	/* When it came to the front, counted in launches. */
	unsigned int front_at;
	/* It reads or writes, and nobody has waited for that. */
	int reads;
};

static struct app apps[APPS];
static unsigned int count, launches, line_number;
static struct app *front;
static unsigned long needed_kib;
static const char *path;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "player: line %u: ", line_number);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000ull + at.tv_nsec;
}

/* Without HPB there is nobody to be told. */
static void tell(const char *file, const char *format, ...)
{
	char name[128], text[64];
	va_list args;
	int fd, length;

	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(name, sizeof(name), POLICY "%s", file);
	fd = open(name, O_WRONLY);
	if (fd < 0)
		return;
	if (write(fd, text, length) != length && errno != ENODEV)
		die("%s does not take %s: %s", name, text, strerror(errno));
	close(fd);
}

static void whole(int fd, void *data, size_t bytes, int out)
{
	char *at = data;

	while (bytes) {
		ssize_t done = out ? write(fd, at, bytes) : read(fd, at, bytes);

		if (done <= 0)
			_exit(1);
		at += done;
		bytes -= done;
	}
}

struct mapped {
	int fd;
	int direct;
	off_t bytes;
};

/* Reads or writes neighbouring pages. 0 if that can be done. */
static int access_pages(struct mapped *mapped, uint32_t word, int writes)
{
	static char zeroes[MOST_PAGES * PAGE] __attribute__((aligned(PAGE)));
	off_t from = (off_t)(word & ((1u << PAGE_BITS) - 1)) * PAGE;
	ssize_t length = ((word >> PAGE_BITS) + 1) * PAGE, i;
	volatile const char *at;

	if (from + length > mapped->bytes)
		return 1;
	if (writes)
		return pwrite(mapped->direct, zeroes, length, from) != length;
	/* A disk may be larger than the address space, so what is read is mapped, and no more. */
	at = mmap(NULL, length, PROT_READ, MAP_SHARED, mapped->fd, from);
	if (at == MAP_FAILED)
		return 1;
	madvise((void *)at, length, MADV_RANDOM);
	/* One request; whoever looks at the pages waits for it. */
	if (length > PAGE)
		madvise((void *)at, length, MADV_WILLNEED);
	for (i = 0; i < length; i += PAGE)
		(void)at[i];
	munmap((void *)at, length);
	posix_fadvise(mapped->fd, from, length, POSIX_FADV_DONTNEED);
	return 0;
}

/* The process of an app: takes its memory, then reads what it is told to, and tells when it has. */
static void __attribute__((noreturn)) live(struct app *app, int from, int to)
{
	struct mapped mapped = { .fd = open(path, O_RDWR), .direct = open(path, O_RDWR | O_DIRECT) };
	char *own = mmap(NULL, app->kib * 1024ul + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t pages, word, failed = 0;
	unsigned long i;

	mapped.bytes = lseek(mapped.fd, 0, SEEK_END);
	if (mapped.bytes < 0 || mapped.direct < 0 || own == MAP_FAILED || setgid(app->uid) || setuid(app->uid))
		_exit(1);
	for (i = 0; i < app->kib * 1024ul; i += PAGE)
		own[i] = 1;
	whole(to, &failed, sizeof(failed), 1);
	for (;;) {
		whole(from, &pages, sizeof(pages), 0);
		for (i = 0; i < (pages & ~WRITES); i++) {
			whole(from, &word, sizeof(word), 0);
			failed += access_pages(&mapped, word, pages & WRITES);
		}
		whole(to, &failed, sizeof(failed), 1);
	}
}

static void start(struct app *app)
{
	int down[2], up[2];
	uint32_t failed;

	if (app->pid)
		return;
	if (pipe(down) || pipe(up))
		die("no pipe: %s", strerror(errno));
	fcntl(down[1], F_SETPIPE_SZ, 1 << 20);
	fflush(stdout);
	app->pid = fork();
	if (app->pid < 0)
		die("no process: %s", strerror(errno));
	if (!app->pid) {
		close(down[1]);
		close(up[0]);
		live(app, down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	app->to = down[1];
	app->from = up[0];
	if (read(app->from, &failed, sizeof(failed)) != sizeof(failed))
		die("app %u cannot open %s", app->uid, path);
}

static void end(struct app *app)
{
	if (!app->pid)
		return;
	kill(app->pid, SIGKILL);
	waitpid(app->pid, NULL, 0);
	close(app->to);
	close(app->from);
	app->pid = 0;
	app->reads = 0;
	if (front == app)
		front = NULL;
	tell("ended", "%u", app->uid);
}

static void await(struct app *app)
{
	uint32_t failed;

	if (!app->reads)
		return;
	app->reads = 0;
	if (read(app->from, &failed, sizeof(failed)) != sizeof(failed))
		die("app %u has died", app->uid);
	if (failed)
		die("app %u: %u pages lie behind the end of %s, or are not written", app->uid, failed, path);
}

static uint32_t words[1 << 18];

/* Takes the pages of a line. How many words they are. */
static uint32_t take_pages(char *line)
{
	uint32_t n = 0;
	char *text, *rest;

	for (text = strtok(line, " \n"); text; text = strtok(NULL, " \n")) {
		unsigned long page = strtoul(text, &rest, 10), more = *rest == '+' ? strtoul(rest + 1, &rest, 10) : 1;

		if (*rest || page >> PAGE_BITS || !more || more > MOST_PAGES)
			die("'%s' is no page, and not up to %d of them", text, MOST_PAGES);
		if (n == sizeof(words) / sizeof(*words))
			die("too many pages");
		words[n++] = page | (more - 1) << PAGE_BITS;
	}
	return n;
}

/* The pages of a line go to the app's process. How many words they are. */
static uint32_t pages_to(struct app *app, char *line, uint32_t flags)
{
	uint32_t n, head;

	await(app);
	n = take_pages(line);
	head = n | flags;
	whole(app->to, &head, sizeof(head), 1);
	whole(app->to, words, n * sizeof(*words), 1);
	app->reads = 1;
	return n;
}

/* Writes pages for the system. */
static void fill(char *line)
{
	struct mapped mapped = { .direct = open(path, O_RDWR | O_DIRECT) };
	uint32_t n = take_pages(line), i;

	mapped.bytes = lseek(mapped.direct, 0, SEEK_END);
	for (i = 0; i < n; i++)
		if (access_pages(&mapped, words[i], 1))
			die("fill: %s", strerror(errno));
	close(mapped.direct);
}

static int level(struct app *app)
{
	unsigned int before = launches - app->front_at;

	if (app == front)
		return FRONT;
	if (before <= 1)
		return PREVIOUS;
	return CACHED + before < MOST_CACHED ? CACHED + (int)before : MOST_CACHED;
}

/* A number of a file with lines of names and values, or of the only one. */
static unsigned long value_of(const char *file, const char *name)
{
	unsigned long value = 0;
	char line[128];
	FILE *in = fopen(file, "r");

	while (in && fgets(line, sizeof(line), in))
		if (!name || !strncmp(line, name, strlen(name))) {
			value = strtoul(line + (name ? strlen(name) : 0), NULL, 10);
			break;
		}
	if (in)
		fclose(in);
	return value;
}

static unsigned long resident_kib(struct app *app)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/status", app->pid);
	return value_of(name, "RssAnon:");
}

/* Sees to it that enough memory is available: asks the driver first, then kills. */
static void look_for_memory(void)
{
	while (needed_kib && value_of("/proc/meminfo", "MemAvailable:") < needed_kib) {
		struct app *victim = NULL, *app;
		unsigned long kib, before, freed;

		for (app = apps; app < apps + count; app++)
			if (app->pid && app != front && (!victim || level(app) > level(victim) ||
			    (level(app) == level(victim) && app->front_at < victim->front_at)))
				victim = app;
		if (!victim)
			return;
		kib = resident_kib(victim);
		before = value_of(RECLAIMED, NULL);
		tell("reclaim", "%u %lu", victim->uid, kib ?: 1);
		freed = (value_of(RECLAIMED, NULL) - before) >> 10;
		printf("%s %u level %d kib %lu freed %lu\n", freed >= kib ? "spare" : "kill", victim->uid,
		       level(victim), kib, freed);
		if (freed < kib)
			end(victim);
		else
			return;
	}
}

static void launch(struct app *app, char *line)
{
	const char *state = app->pid ? "warm" : "cold";
	uint64_t began;
	uint32_t n;

	tell("launch_start", "%u", app->uid);
	start(app);
	front = app;
	app->front_at = ++launches;
	began = now();
	n = pages_to(app, line, 0);
	await(app);
	printf("launch %u %s pages %u ns %llu\n", app->uid, state, n, (unsigned long long)(now() - began));
	tell("launch_end", "%u", app->uid);
	look_for_memory();
}

static void use(struct app *app, char *line)
{
	uint64_t began = now();
	uint32_t n = pages_to(app, line, 0);

	await(app);
	printf("use %u pages %u ns %llu\n", app->uid, n, (unsigned long long)(now() - began));
	look_for_memory();
}

static struct app *app_of(const char *word)
{
	unsigned int i, uid = word ? strtoul(word, NULL, 10) : 0;

	for (i = 0; i < count; i++)
		if (apps[i].uid == uid)
			return &apps[i];
	die("'%s' is no app", word ?: "");
}

static void declare(const char *uid, const char *kib)
{
	if (count == APPS || !uid || !kib || !strtoul(uid, NULL, 10))
		die("must be app UID KIB, of %d at most", APPS);
	apps[count].uid = strtoul(uid, NULL, 10);
	apps[count++].kib = strtoul(kib, NULL, 10);
}

static void obey(char *line)
{
	char *rest, *command = strtok_r(line, " \n", &rest), *word;

	if (!command || *command == '#')
		return;
	if (!strcmp(command, "fill")) {
		fill(rest);
		return;
	}
	word = strtok_r(NULL, " \n", &rest);
	if (!word)
		die("%s what?", command);
	if (!strcmp(command, "map"))
		path = strdup(word);
	else if (!path)
		die("map comes first");
	else if (!strcmp(command, "app"))
		declare(word, strtok_r(NULL, " \n", &rest));
	else if (!strcmp(command, "launch"))
		launch(app_of(word), rest);
	else if (!strcmp(command, "start"))
		start(app_of(word));
	else if (!strcmp(command, "exit"))
		end(app_of(word));
	else if (!strcmp(command, "free"))
		needed_kib = strtoul(word, NULL, 10);
	else if (!strcmp(command, "notice"))
		tell("reclaim", "%s %lu", word, strtoul(strtok_r(NULL, " \n", &rest) ?: "0", NULL, 10));
	else if (!strcmp(command, "wait"))
		usleep(strtoul(word, NULL, 10) * 1000);
	else if (strcmp(command, "use") && strcmp(command, "background") && strcmp(command, "write"))
		die("'%s' is no command", command);
	else if (!app_of(word)->pid)
		printf("gone %s\n", word);
	else if (!strcmp(command, "use"))
		use(app_of(word), rest);
	else
		pages_to(app_of(word), rest, strcmp(command, "write") ? 0 : WRITES);
}

int main(int argc, char **argv)
{
	FILE *in = argc == 2 ? fopen(argv[1], "r") : NULL;
	char *line = NULL;
	size_t room = 0;
	unsigned int i;

	if (!in) {
		fprintf(stderr, "usage: player FILE\n");
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	while (getline(&line, &room, in) > 0) {
		line_number++;
		obey(line);
	}
	for (i = 0; i < count; i++)
		if (apps[i].pid) {
			await(&apps[i]);
			kill(apps[i].pid, SIGKILL);
			waitpid(apps[i].pid, NULL, 0);
		}
	return 0;
}
