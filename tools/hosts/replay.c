// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Replays requests at their times: "replay FILE DISK DEPTH". A line of FILE is a request: nanoseconds from the beginning
 * on, r or w, first byte, bytes; both of the latter are multiples of the disk's sectors. Lines are in order of time.
 *
 * Each request is submitted by itself, directly, when it is due, or when fewer than DEPTH are under way: those that are
 * due wait outside until then. For each it prints its kind, when it was due, submitted and done, in nanoseconds from the
 * beginning on, in order of completion.
 *
 * fio 3.33 replays logs as well, but asks for completions only when its queue is full, so its latencies are those of
 * filling the queue.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND		1000000000ull
#define MOST_DEPTH	4096
#define MOST_BYTES	(1 << 20)
#define AT_ONCE		64

struct request {
	struct iocb iocb;
	uint64_t due, submitted;
	struct request *next;
};

static struct request requests[MOST_DEPTH], *spare;
static unsigned int under_way, line_number;
static aio_context_t context;
static uint64_t began;
static char *data;
static FILE *file;
static int disk;

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "replay: line %u: %s\n", line_number, what);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * SECOND + at.tv_nsec - began;
}

/* The next line; 0 at the end of the file. */
static int next(struct request *to)
{
	unsigned long long due, at, bytes;
	char kind, line[128];

	if (!fgets(line, sizeof(line), file))
		return 0;
	line_number++;
	if (sscanf(line, "%llu %c %llu %llu", &due, &kind, &at, &bytes) != 4 || (kind != 'r' && kind != 'w'))
		die("nanoseconds, r or w, first byte and bytes are allowed");
	if (!bytes || bytes > MOST_BYTES)
		die("a request has 1 byte to 1 MiB");
	if (due < to->due)
		die("it is due before the line above");
	to->due = due;
	memset(&to->iocb, 0, sizeof(to->iocb));
	to->iocb.aio_lio_opcode = kind == 'w' ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
	to->iocb.aio_fildes = disk;
	to->iocb.aio_buf = (uintptr_t)data;
	to->iocb.aio_nbytes = bytes;
	to->iocb.aio_offset = at;
	return 1;
}

static void submit(const struct request *what)
{
	struct request *request = spare;
	struct iocb *iocb = &request->iocb;

	spare = request->next;
	*request = *what;
	iocb->aio_data = (uintptr_t)request;
	request->submitted = now();
	if (syscall(SYS_io_submit, context, 1, &iocb) != 1)
		die(strerror(errno));
	under_way++;
}

/* Waits for a completion, or until a time if there is one. */
static void reap(const uint64_t *until)
{
	struct io_event events[AT_ONCE];
	struct timespec wait, *limit = NULL;
	long count, i;
	uint64_t at;

	if (until) {
		at = now();
		at = *until > at ? *until - at : 0;
		wait = (struct timespec){ at / SECOND, at % SECOND };
		limit = &wait;
	}
	count = syscall(SYS_io_getevents, context, 1, AT_ONCE, events, limit);
	if (count < 0 && errno != EINTR)
		die(strerror(errno));
	at = now();
	for (i = 0; i < count; i++) {
		struct request *request = (struct request *)(uintptr_t)events[i].data;

		if (events[i].res != (long long)request->iocb.aio_nbytes)
			die("a request has failed");
		printf("%c %llu %llu %llu\n", request->iocb.aio_lio_opcode == IOCB_CMD_PWRITE ? 'w' : 'r',
		       (unsigned long long)request->due, (unsigned long long)request->submitted,
		       (unsigned long long)at);
		request->next = spare;
		spare = request;
		under_way--;
	}
}

int main(int argc, char **argv)
{
	struct request coming = { .due = 0 };
	unsigned int depth, i;
	int more;

	if (argc != 4)
		die("its arguments are FILE DISK DEPTH");
	depth = strtoul(argv[3], NULL, 10);
	if (depth < 1 || depth > MOST_DEPTH)
		die("DEPTH is 1 to 4096");
	file = fopen(argv[1], "r");
	disk = open(argv[2], O_RDWR | O_DIRECT);
	if (!file || disk < 0)
		die("no such FILE or DISK");
	data = mmap(NULL, MOST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED || syscall(SYS_io_setup, depth, &context))
		die(strerror(errno));
	/* Linux may wake others 50 us late, to save power. */
	prctl(PR_SET_TIMERSLACK, 1);
	for (i = 0; i < depth; i++) {
		requests[i].next = spare;
		spare = &requests[i];
	}
	began = now();
	more = next(&coming);
	while (more || under_way) {
		int room = more && under_way < depth;

		if (room && coming.due <= now()) {
			submit(&coming);
			more = next(&coming);
		} else {
			reap(room ? &coming.due : NULL);
		}
	}
	return 0;
}
