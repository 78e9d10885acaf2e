// SPDX-License-Identifier: GPL-2.0
/*
 * Plays a scenario of apps: "player FILE". Each app is a process with a UID of its own that maps a file or a disk and
 * reads pages of it, as page faults one after another. The player is the phone around them: it starts them, tells
 * HPBvalve's driver what App-Detector and Mem-Detector would (linux/guest/hpbvalve_sysfs.c), and kills by Android's
 * levels (player_memory.c).
 *
 * A scenario has one command on a line. Pages are numbers of 4 KiB in what is mapped, 7+3 is three from 7 on; before
 * each that follows ~250 the app computes for 250 us:
 *
 *	map PATH		what all apps read; first of all
 *	fill PAGE...		is written before
 *	memory KIB LOW HIGH	the phone has so much memory, in a cgroup; the killer's marks of free memory
 *	system KIB [1]		memory in it that never goes; with 1 HPB's entries are in it, too
 *	app UID KIB [MS]	an app, the memory that its process takes, and in which time
 *	start UID		its process begins, and nobody sees it
 *	warm UID PAGE...	what it reads instead if its next launch finds its process there
 *	launch UID PAGE...	it comes to the front, in a new process unless it has one, and reads
 *	loading UID PAGE...	the app in front reads if its launch had no process
 *	use UID PAGE...		the app in front reads
 *	background UID PAGE...	an app that lives reads, and nobody waits for it
 *	write UID PAGE...	an app that lives writes zeroes, directly
 *	exit UID		the user ends it
 *	notice UID KIB		a killer would be about to end it, which would free so much
 *	wait MS
 *	until MS		waits until so long after the last launch began
 *
 * It prints a line for each launch and use, with the reads that found entries in the driver and those that did not (0
 * without HPBvalve's driver) and with what they took in ns; lines for what the killer does; and at the end, what the
 * phone has waited for memory. What was read is dropped from the page cache: scenarios are recorded below that, so
 * each page in them is a read of the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "player.h"

struct app apps[APPS];
unsigned int count;
struct app *front;
const char *path;

static unsigned int launches, starts, line_number;
static uint64_t launched;

void die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "player: line %u: ", line_number);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000ull + at.tv_nsec;
}

/* Without HPB there is nobody to be told. */
void tell(const char *file, const char *format, ...)
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

void whole(int fd, void *data, size_t bytes, int out)
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

static void await(struct app *app)
{
	uint32_t failed;

	while (app->reads && !wait_for(app->from, NEVER))
		;
	if (!app->reads)
		return;
	app->reads = 0;
	if (read(app->from, &failed, sizeof(failed)) != sizeof(failed))
		die("app %u has died, or cannot open %s", app->uid, path);
	if (failed)
		die("app %u: %u requests lie behind the end of %s, or are not written", app->uid, failed, path);
}

static void start(struct app *app)
{
	int down[2], up[2];

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
		enter_group(app->uid);
		live(app, down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	app->to = down[1];
	app->from = up[0];
	app->began_at = ++starts;
	app->reads = 1;
	set_levels();
	await(app);
}

void end(struct app *app)
{
	if (!app->pid)
		return;
	kill(app->pid, SIGKILL);
	waitpid(app->pid, NULL, 0);
	leave_group(app->uid);
	close(app->to);
	close(app->from);
	app->pid = 0;
	app->reads = 0;
	if (front == app)
		front = NULL;
	set_levels();
	tell("ended", "%u", app->uid);
}

static struct step steps[1 << 18];

/* Takes the pages of a line. How many requests they are. */
static uint32_t take_pages(char *line)
{
	uint32_t n = 0, pause_us = 0;
	char *text, *rest;

	for (text = strtok(line, " \n"); text; text = strtok(NULL, " \n")) {
		unsigned long page, pages;

		if (*text == '~') {
			pause_us = strtoul(text + 1, &rest, 10);
			if (*rest)
				die("'%s' is no time in us", text);
			continue;
		}
		page = strtoul(text, &rest, 10);
		pages = *rest == '+' ? strtoul(rest + 1, &rest, 10) : 1;
		if (*rest || page > UINT32_MAX || !pages || pages > MOST_PAGES)
			die("'%s' is no page, and not up to %d of them", text, MOST_PAGES);
		if (n == sizeof(steps) / sizeof(*steps))
			die("too many pages");
		steps[n++] = (struct step){ page, pages, pause_us };
	}
	return n;
}

static void send(struct app *app, struct step *own, uint32_t n, uint32_t flags)
{
	uint32_t head = n | flags;

	whole(app->to, &head, sizeof(head), 1);
	whole(app->to, own, n * sizeof(*own), 1);
	app->reads = 1;
}

/* The pages of a line go to the app's process. How many requests they are. */
static uint32_t pages_to(struct app *app, char *line, uint32_t flags)
{
	uint32_t n = take_pages(line);

	await(app);
	/* The killer may have come first. */
	if (app->pid)
		send(app, steps, n, flags);
	return n;
}

static void keep_for_warm(struct app *app, char *line)
{
	free(app->again);
	app->again_count = take_pages(line);
	app->again = malloc(app->again_count * sizeof(*steps) + 1);
	memcpy(app->again, steps, app->again_count * sizeof(*steps));
}

/* What the app in front has read: entries of how many reads the driver had. */
struct found {
	unsigned long hits;
	unsigned long misses;
};

static struct found found(void)
{
	return (struct found){ value_of(STATS "front_hits", NULL), value_of(STATS "front_misses", NULL) };
}

static void tell_reads(uint32_t pages, struct found before, uint64_t began)
{
	uint64_t ns = now() - began;
	struct found all = found();

	printf(" pages %u hits %lu misses %lu ns %llu\n", pages, all.hits - before.hits, all.misses - before.misses,
	       (unsigned long long)ns);
}

static void launch(struct app *app, char *line)
{
	struct found before = found();
	uint32_t n;

	launched = now();
	app->warm = app->pid != 0;
	tell("launch_start", "%u", app->uid);
	front = app;
	app->front_at = ++launches;
	start(app);
	set_levels();
	await(app);
	if (app->warm && app->again) {
		n = app->again_count;
		send(app, app->again, n, 0);
	} else {
		n = pages_to(app, line, 0);
	}
	await(app);
	printf("launch %u %s", app->uid, app->warm ? "warm" : "cold");
	tell_reads(n, before, launched);
	tell("launch_end", "%u", app->uid);
}

static void use(struct app *app, char *line, const char *what)
{
	struct found before = found();
	uint64_t began = now();
	uint32_t n = pages_to(app, line, 0);

	await(app);
	printf("%s %u", what, app->uid);
	tell_reads(n, before, began);
}

static unsigned long number_of(const char *word)
{
	char *behind;
	unsigned long value = strtoul(word, &behind, 10);

	if (*behind)
		die("'%s' is no number", word);
	return value;
}

static struct app *app_of(const char *word)
{
	unsigned long uid = number_of(word ?: "");
	unsigned int i;

	for (i = 0; i < count; i++)
		if (apps[i].uid == uid)
			return &apps[i];
	die("'%s' is no app", word ?: "");
}

/* The next number of a line. One that is not there is 0. */
static unsigned long number(char **rest)
{
	return number_of(strtok_r(NULL, " \n", rest) ?: "0");
}

static void declare(unsigned long uid, char **rest)
{
	struct app app = { .uid = uid };

	app.kib = number(rest);
	app.ramp_ms = number(rest);
	if (count == APPS || !uid || app.uid != uid || !app.kib)
		die("must be app UID KIB [MS], of %d at most", APPS);
	apps[count++] = app;
}

/* What is said of an app. */
static void obey_app(const char *command, struct app *app, char *rest)
{
	if (!strcmp(command, "launch"))
		launch(app, rest);
	else if (!strcmp(command, "warm"))
		keep_for_warm(app, rest);
	else if (!strcmp(command, "start"))
		start(app);
	else if (!strcmp(command, "exit"))
		end(app);
	else if (strcmp(command, "use") && strcmp(command, "background") && strcmp(command, "write") &&
		 strcmp(command, "loading"))
		die("'%s' is no command", command);
	else if (!app->pid)
		printf("gone %u\n", app->uid);
	else if (!strcmp(command, "use"))
		use(app, rest, command);
	else if (strcmp(command, "loading"))
		pages_to(app, rest, strcmp(command, "write") ? 0 : WRITES);
	else if (!app->warm)
		use(app, rest, command);
}

static void obey_memory(unsigned long kib, char **rest)
{
	unsigned long low = number(rest);

	have_memory(kib, low, number(rest));
}

static void rest_until(uint64_t at)
{
	while (now() < at)
		wait_for(-1, at);
}

static void obey(char *line)
{
	char *rest, *command = strtok_r(line, " \n", &rest), *word;

	if (!command || *command == '#')
		return;
	if (!strcmp(command, "fill")) {
		write_pages(steps, take_pages(rest));
		return;
	}
	word = strtok_r(NULL, " \n", &rest);
	if (!word)
		die("%s what?", command);
	if (!strcmp(command, "map")) {
		path = strdup(word);
		return;
	}
	if (!path)
		die("map comes first");
	if (!strcmp(command, "memory"))
		obey_memory(number_of(word), &rest);
	else if (!strcmp(command, "system"))
		have_system(number_of(word), number(&rest) > 0);
	else if (!strcmp(command, "app"))
		declare(number_of(word), &rest);
	else if (!strcmp(command, "notice"))
		tell("reclaim", "%lu %lu", number_of(word), number(&rest));
	else if (!strcmp(command, "wait"))
		rest_until(now() + number_of(word) * MS);
	else if (!strcmp(command, "until"))
		rest_until(launched + number_of(word) * MS);
	else
		obey_app(command, app_of(word), rest);
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
		await(&apps[i]);
	tell_pressure();
	/* The driver is not told: what it knows stays as it is. */
	for (i = 0; i < count; i++)
		if (apps[i].pid) {
			kill(apps[i].pid, SIGKILL);
			waitpid(apps[i].pid, NULL, 0);
		}
	return 0;
}
