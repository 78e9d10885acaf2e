// SPDX-License-Identifier: GPL-2.0
/*
 * The phone's memory, and the killer.
 *
 * The phone is a memory cgroup with a group for each app in it. At memory.high the kernel lets those wait that take
 * more, and it does not kill: that is left to somebody who watches (cgroup-v2.rst). With processors that are free the
 * kernel's reclaim takes no time, so without such a group nobody would ever wait for memory, and the first that finds
 * none would be killed by the kernel.
 *
 * The killer has lmkd's published rules (source.android.com, "Low memory killer daemon"). It gets PSI's events: some
 * task waited for 70 ms of a second, or all for 700 ms. For a second it looks then, every 100 ms, or after 10 ms if it
 * has done something. It kills if
 *
 * - after a kill less is free than the low mark,
 * - all tasks waited,
 * - swap is low, which here means that there is none, and less is free than the high mark,
 *
 * and if the kernel has tried to reclaim memory since the last look. lmkd's rules of thrashing come after these, and
 * here tell nothing that the last one does not. A victim is of the highest level, and of these the largest. HPBvalve's
 * driver is told of it before; if memory comes back, the attempt is skipped, and the next look decides anew, as the
 * paper's authors have it in their lmkd.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "player.h"

#define GROUP		"/sys/fs/cgroup/phone"
#define SOME		"some 70000 1000000"
#define FULL		"full 700000 1000000"
#define WINDOW_NS	(1000 * MS)
#define LONG_NS		(100 * MS)
#define SHORT_NS	(10 * MS)
/* Levels of Android's ProcessList. */
#define FRONT		0
#define PREVIOUS	700
#define CACHED		900
#define CACHED_STEP	10
#define MOST_CACHED	999

static struct {
	/* In KiB; 0 if the phone has no bounds. */
	unsigned long memory, low, high;
	int some, full;
	/* It looks until then, and next at. */
	uint64_t window_end, next;
	/* What memory.events has told, and the driver has been asked for this attempt. */
	unsigned long seen;
	int asked, after_kill;
} killer = { .some = -1, .full = -1 };

/* A number of a file with lines of names and values, or of the only one. */
unsigned long value_of(const char *file, const char *name)
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

static void put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("%s does not take %s: %s", file, text, strerror(errno));
	close(fd);
}

static int trigger(const char *text)
{
	int fd = open(GROUP "/memory.pressure", O_RDWR);

	if (fd < 0 || write(fd, text, strlen(text) + 1) < 0)
		die("memory.pressure does not take %s: %s", text, strerror(errno));
	return fd;
}

void have_memory(unsigned long kib, unsigned long low_kib, unsigned long high_kib)
{
	char text[32];

	if (killer.memory || !kib || low_kib > high_kib || high_kib > kib)
		die("must be memory KIB LOW HIGH, once");
	put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(GROUP, 0755))
		die("no memory cgroup: %s", strerror(errno));
	put(GROUP "/cgroup.subtree_control", "+memory");
	snprintf(text, sizeof(text), "%lu", kib * 1024);
	put(GROUP "/memory.high", text);
	killer.memory = kib;
	killer.low = low_kib;
	killer.high = high_kib;
	killer.some = trigger(SOME);
	killer.full = trigger(FULL);
}

/* The task goes to the group of a UID; 0 is the system's. */
void enter_group(unsigned int uid)
{
	char name[64];

	if (!killer.memory)
		return;
	snprintf(name, sizeof(name), GROUP "/%u", uid);
	if (mkdir(name, 0755) && errno != EEXIST)
		die("no memory cgroup: %s", strerror(errno));
	strcat(name, "/cgroup.procs");
	put(name, "0");
}

void leave_group(unsigned int uid)
{
	char name[64];

	snprintf(name, sizeof(name), GROUP "/%u", uid);
	if (killer.memory && rmdir(name))
		die("%s stays: %s", name, strerror(errno));
}

/* Memory of the system's that never goes. HPB's entries can be of its account. */
void have_system(unsigned long kib, int entries)
{
	int up[2];
	char done = 0;

	if (!killer.memory)
		die("memory comes first");
	if (pipe(up))
		die("no pipe: %s", strerror(errno));
	fflush(stdout);
	switch (fork()) {
	case -1:
		die("no process: %s", strerror(errno));
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		enter_group(0);
		if (entries)
			tell("account", "1");
		take_memory(kib);
		whole(up[1], &done, 1, 1);
		for (;;)
			pause();
	}
	close(up[1]);
	if (read(up[0], &done, 1) != 1)
		die("there is no memory for %lu KiB of the system", kib);
	close(up[0]);
}

/* How little the user would miss it: apps that he has opened, the last one first, then all others. */
static int level(const struct app *app)
{
	int newer = 0, opened = 0, at;
	const struct app *other;

	if (app == front)
		return FRONT;
	for (other = apps; other < apps + count; other++) {
		if (!other->pid || other == app || other == front)
			continue;
		opened += other->front_at > 0;
		newer += app->front_at ? other->front_at > app->front_at
				       : !other->front_at && other->began_at > app->began_at;
	}
	if (app->front_at && !newer)
		return PREVIOUS;
	at = app->front_at ? newer - 1 : newer + (opened ? opened - 1 : 0);
	return at * CACHED_STEP < MOST_CACHED - CACHED ? CACHED + at * CACHED_STEP : MOST_CACHED;
}

/* The kernel is told, too. */
void set_levels(void)
{
	char name[64], text[16];
	struct app *app;

	if (!killer.memory)
		return;
	for (app = apps; app < apps + count; app++) {
		if (!app->pid)
			continue;
		snprintf(name, sizeof(name), "/proc/%d/oom_score_adj", app->pid);
		snprintf(text, sizeof(text), "%d", level(app));
		put(name, text);
	}
}

static unsigned long taken_kib(const struct app *app)
{
	char name[64];

	snprintf(name, sizeof(name), GROUP "/%u/memory.current", app->uid);
	return value_of(name, NULL) / 1024;
}

static struct app *find_victim(void)
{
	struct app *victim = NULL, *app;

	for (app = apps; app < apps + count; app++)
		if (app->pid && app != front &&
		    (!victim || level(app) > level(victim) ||
		     (level(app) == level(victim) && taken_kib(app) > taken_kib(victim))))
			victim = app;
	return victim;
}

/* Asks the driver for memory, or kills. */
static void act(const char *reason)
{
	struct app *victim = find_victim();
	unsigned long kib, before, freed = 0;

	if (!victim)
		return;
	kib = taken_kib(victim);
	if (!killer.asked) {
		before = value_of(STATS "hpbvalve_reclaimed_bytes", NULL);
		tell("reclaim", "%u %lu", victim->uid, kib ?: 1);
		freed = (value_of(STATS "hpbvalve_reclaimed_bytes", NULL) - before) >> 10;
	}
	printf("%s %u level %d kib %lu freed %lu for %s\n", freed ? "skip" : "kill", victim->uid, level(victim), kib,
	       freed, reason);
	killer.asked = freed > 0;
	killer.after_kill = !freed;
	killer.next = now() + SHORT_NS;
	if (!freed)
		end(victim);
}

static void look(int all_waited)
{
	unsigned long current = value_of(GROUP "/memory.current", NULL) / 1024;
	unsigned long seen = value_of(GROUP "/memory.events", "high ");
	unsigned long free = current < killer.memory ? killer.memory - current : 0;
	int reclaims = seen > killer.seen, after_kill = killer.after_kill;

	killer.seen = seen;
	killer.after_kill = 0;
	killer.next = now() + LONG_NS;
	if (!reclaims)
		return;
	if (after_kill && free < killer.low)
		act("memory after a kill");
	else if (all_waited)
		act("a stall of all");
	else if (free < killer.high)
		act("low memory and swap");
}

/* Waits until something can be read, or until a time; for the killer, too. True if something can be read. */
int wait_for(int fd, uint64_t until)
{
	struct pollfd in[] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = killer.some, .events = POLLPRI },
		{ .fd = killer.full, .events = POLLPRI },
	};
	uint64_t at = now(), next = until;
	struct timespec rest;

	if (at < killer.window_end && killer.next < next)
		next = killer.next;
	rest.tv_sec = next > at ? (next - at) / 1000000000 : 0;
	rest.tv_nsec = next > at ? (next - at) % 1000000000 : 0;
	if (ppoll(in, 3, next == NEVER ? NULL : &rest, NULL) < 0)
		die("poll: %s", strerror(errno));
	at = now();
	if ((in[1].revents | in[2].revents) & POLLPRI) {
		killer.window_end = at + WINDOW_NS;
		killer.asked = 0;
		look(in[2].revents & POLLPRI);
	} else if (at < killer.window_end) {
		if (at >= killer.next)
			look(0);
	} else {
		killer.asked = 0;
		killer.after_kill = 0;
	}
	return in[0].revents != 0;
}

/* What the phone's group has waited for memory, in us, and how often the kernel had to reclaim or to kill. */
void tell_pressure(void)
{
	char line[128], *total;
	FILE *in;

	if (!killer.memory)
		return;
	in = fopen(GROUP "/memory.pressure", "r");
	while (in && fgets(line, sizeof(line), in)) {
		total = strstr(line, "total=");
		printf("pressure %.4s us %lu\n", line, strtoul(total + 6, NULL, 10));
	}
	if (in)
		fclose(in);
	printf("events high %lu kills %lu\n", value_of(GROUP "/memory.events", "high "),
	       value_of(GROUP "/memory.events", "oom_kill "));
}
