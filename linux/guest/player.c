// SPDX-License-Identifier: GPL-2.0
/*
 * Plays a scenario of apps: "player FILE". Each app is a process with a UID of its own that maps a file or a disk and
 * reads pages of it, as page faults one after another. The player is the phone around them: it starts them, tells
 * HPBvalve's driver what App-Detector and Mem-Detector would (linux/guest/hpbvalve_sysfs.c), and kills by Android's
 * levels.
 *
 * A scenario has one command on a line; pages are numbers of 4 KiB in what is mapped:
 *
 *	map PATH		what all apps read; first of all
 *	app UID KIB		an app, and the memory that its process takes
 *	launch UID PAGE...	it comes to the front, in a new process unless it has one, and reads
 *	use UID PAGE...		the app in front reads
 *	background UID PAGE...	an app that lives reads, and nobody waits for it
 *	exit UID		the user ends it
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

struct app {
	unsigned int uid;
	unsigned int kib;
	/* 0 if it has no process. */
	pid_t pid;
	int to;
	int from;
	/* When it came to the front, counted in launches. */
	unsigned int front_at;
	/* It reads, and nobody has waited for that. */
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

/* The process of an app: takes its memory, then reads what it is told to, and tells when it has. */
static void __attribute__((noreturn)) live(struct app *app, int from, int to)
{
	int fd = open(path, O_RDONLY);
	off_t bytes = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	volatile const char *map = bytes > 0 ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
	char *own = mmap(NULL, app->kib * 1024ul + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t pages, page, failed = 0;
	unsigned long i;

	if (map == MAP_FAILED || own == MAP_FAILED || setgid(app->uid) || setuid(app->uid))
		_exit(1);
	madvise((void *)map, bytes, MADV_RANDOM);
	for (i = 0; i < app->kib * 1024ul; i += PAGE)
		own[i] = 1;
	whole(to, &failed, sizeof(failed), 1);
	for (;;) {
		whole(from, &pages, sizeof(pages), 0);
		for (i = 0; i < pages; i++) {
			whole(from, &page, sizeof(page), 0);
			if ((off_t)page * PAGE >= bytes) {
				failed++;
				continue;
			}
			(void)map[(off_t)page * PAGE];
			madvise((void *)(map + (off_t)page * PAGE), PAGE, MADV_DONTNEED);
			posix_fadvise(fd, (off_t)page * PAGE, PAGE, POSIX_FADV_DONTNEED);
		}
		whole(to, &failed, sizeof(failed), 1);
	}
}

static void start(struct app *app)
{
	int down[2], up[2];
	uint32_t failed;

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
		die("app %u cannot map %s", app->uid, path);
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
		die("app %u: a page lies behind the end of %s", app->uid, path);
}

/* The pages of a line go to the app's process. How many they are. */
static uint32_t read_pages(struct app *app, char *words)
{
	static uint32_t pages[1 << 18];
	uint32_t n = 0;
	char *word, *rest;

	await(app);
	for (word = strtok(words, " \n"); word; word = strtok(NULL, " \n")) {
		if (n + 1 == sizeof(pages) / sizeof(*pages))
			die("too many pages");
		pages[++n] = strtoul(word, &rest, 10);
		if (*rest)
			die("'%s' is no page", word);
	}
	pages[0] = n;
	whole(app->to, pages, (n + 1) * sizeof(*pages), 1);
	app->reads = 1;
	return n;
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

static void launch(struct app *app, char *words)
{
	const char *state = app->pid ? "warm" : "cold";
	uint64_t began;
	uint32_t n;

	tell("launch_start", "%u", app->uid);
	if (!app->pid)
		start(app);
	front = app;
	app->front_at = ++launches;
	began = now();
	n = read_pages(app, words);
	await(app);
	printf("launch %u %s pages %u ns %llu\n", app->uid, state, n, (unsigned long long)(now() - began));
	tell("launch_end", "%u", app->uid);
	look_for_memory();
}

static void use(struct app *app, char *words)
{
	uint64_t began = now();
	uint32_t n = read_pages(app, words);

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
	else if (!strcmp(command, "exit"))
		end(app_of(word));
	else if (!strcmp(command, "free"))
		needed_kib = strtoul(word, NULL, 10);
	else if (!strcmp(command, "wait"))
		usleep(strtoul(word, NULL, 10) * 1000);
	else if (strcmp(command, "use") && strcmp(command, "background"))
		die("'%s' is no command", command);
	else if (!app_of(word)->pid)
		printf("gone %s\n", word);
	else if (!strcmp(command, "use"))
		use(app_of(word), rest);
	else
		read_pages(app_of(word), rest);
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
