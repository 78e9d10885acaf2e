// SPDX-License-Identifier: GPL-2.0
/*
 * The process of an app: it takes its memory, reads what it is told to, and tells when it has.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "player.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif
/* Memory comes in steps, as long as it grows. */
#define STEP_NS			(10 * MS)

struct mapped {
	int fd;
	int direct;
	off_t bytes;
};

/* Memory that grows from the beginning of the process. */
struct growth {
	char *at;
	unsigned long bytes;
	unsigned long taken;
	uint64_t began;
	uint64_t ns;
};

/* Reads or writes neighbouring pages. 0 if that can be done. */
static int access_pages(struct mapped *mapped, const struct step *step, int writes)
{
	static char zeroes[MOST_PAGES * PAGE] __attribute__((aligned(PAGE)));
	off_t from = (off_t)step->page * PAGE;
	ssize_t length = step->pages * PAGE, i;
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

/* Writes pages for the system. */
void write_pages(const struct step *steps, uint32_t count)
{
	struct mapped mapped = { .direct = open(path, O_RDWR | O_DIRECT) };
	uint32_t i;

	mapped.bytes = lseek(mapped.direct, 0, SEEK_END);
	for (i = 0; i < count; i++)
		if (access_pages(&mapped, &steps[i], 1))
			die("page %u is not written", steps[i].page);
	close(mapped.direct);
}

/* The kernel touches it, page by page as a program would, but without a stop of the program for each. */
static int touch(char *at, unsigned long bytes)
{
	return bytes && madvise(at, bytes, MADV_POPULATE_WRITE);
}

/* Takes memory that stays. */
void take_memory(unsigned long kib)
{
	char *own = mmap(NULL, kib * 1024 + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (own == MAP_FAILED || touch(own, kib / 4 * PAGE))
		_exit(1);
}

/* Takes as much memory as is due. True once it has all. */
static int grow(struct growth *growth)
{
	unsigned long due = growth->bytes;
	uint64_t age;

	if (growth->taken == growth->bytes)
		return 1;
	age = now() - growth->began;
	if (age < growth->ns)
		due = (double)growth->bytes * age / growth->ns;
	due -= due % PAGE;
	if (due > growth->taken && touch(growth->at + growth->taken, due - growth->taken))
		_exit(1);
	if (due > growth->taken)
		growth->taken = due;
	return growth->taken == growth->bytes;
}

/* Computes, and grows beside it. */
static void compute(struct growth *growth, uint64_t ns)
{
	uint64_t until = now() + ns, at;

	while (ns && (at = now()) < until) {
		uint64_t rest = until - at, part = !grow(growth) && rest > STEP_NS ? STEP_NS : rest;
		struct timespec nap = { part / 1000000000, part % 1000000000 };

		nanosleep(&nap, NULL);
	}
}

/* Waits for the player, and grows meanwhile. */
static void await_command(struct growth *growth, int from)
{
	struct pollfd in = { .fd = from, .events = POLLIN };

	while (!grow(growth) && !poll(&in, 1, STEP_NS / MS))
		;
}

void live(struct app *app, int from, int to)
{
	struct mapped mapped = { .fd = open(path, O_RDWR), .direct = open(path, O_RDWR | O_DIRECT) };
	struct growth growth = { .bytes = app->kib / 4 * PAGE, .began = now(), .ns = app->ramp_ms * MS };
	uint32_t steps, failed = 0, i;
	struct step step;

	/* It sleeps exactly as long as it should. */
	prctl(PR_SET_TIMERSLACK, 1);
	growth.at = mmap(NULL, growth.bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mapped.bytes = lseek(mapped.fd, 0, SEEK_END);
	if (mapped.bytes < 0 || mapped.direct < 0 || growth.at == MAP_FAILED || setgid(app->uid) || setuid(app->uid))
		_exit(1);
	grow(&growth);
	whole(to, &failed, sizeof(failed), 1);
	for (;;) {
		await_command(&growth, from);
		whole(from, &steps, sizeof(steps), 0);
		for (i = 0; i < (steps & ~WRITES); i++) {
			whole(from, &step, sizeof(step), 0);
			compute(&growth, step.pause_us * 1000ull);
			grow(&growth);
			failed += access_pages(&mapped, &step, steps & WRITES);
		}
		whole(to, &failed, sizeof(failed), 1);
	}
}
