// SPDX-License-Identifier: GPL-2.0
/*
 * The side of the host: descriptors that the launcher has passed on, turns by futex, and random numbers from a seed.
 */
#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <sysdep/ptrace_user.h>

#include "ufsim.h"

/* Descriptors of the shared page and of the socket; -1 if the guest was started without a controller. */
static int page_fd = -1, socket_fd = -1;

static int descriptor(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? atoi(text) : -1;
}

struct ufsim_page *ufsim_open(void)
{
	void *page;

	page_fd = descriptor("UFSIM_PAGE_FD");
	socket_fd = descriptor("UFSIM_SOCKET_FD");
	if (page_fd < 0 || socket_fd < 0)
		return NULL;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);
	return page == MAP_FAILED ? NULL : page;
}

int ufsim_greet(int memory_fd, unsigned long long ram_first, unsigned long long ram_size)
{
	struct ufsim_hello hello = { UFSIM_MAGIC, UFSIM_VERSION, ram_first, ram_size };
	struct iovec part = { &hello, sizeof(hello) };
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &memory_fd, sizeof(int));
	return sendmsg(socket_fd, &message, MSG_NOSIGNAL) == sizeof(hello) ? 0 : -errno;
}

void ufsim_wake(unsigned int *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Waits until a word has changed. Not 0 if the controller's process has gone. */
int ufsim_wait(unsigned int *word, unsigned int old)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == old) {
		struct timespec half = { 0, 500000000 };

		if (syscall(SYS_futex, word, FUTEX_WAIT, old, &half, NULL, 0) < 0 && errno == ETIMEDOUT) {
			struct pollfd socket = { socket_fd, POLLIN, 0 };

			if (poll(&socket, 1, 0) > 0 && socket.revents & (POLLHUP | POLLERR))
				return -EPIPE;
		}
	}
	return 0;
}

/* Floating point registers, as they were when a program lost the processor; its process, -1 if they are not known. */
static unsigned long registers[FP_SIZE];
static int registers_of = -1;
/* Bytes that this processor has of them. */
static size_t registers_length;

void ufsim_registers_are(int pid, const unsigned long *fp)
{
	registers_of = pid;
	if (!fp)
		return;
	if (!registers_length) {
		struct iovec all = { registers, sizeof(registers) };

		registers_length = ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &all) ? sizeof(registers) : all.iov_len;
	}
	memcpy(registers, fp, registers_length);
}

/* In words: the kernel's memcmp goes byte by byte, which takes longer than to set them. */
int ufsim_registers_differ(int pid, const unsigned long *fp)
{
	unsigned long differ = 0;
	size_t word;

	if (pid != registers_of)
		return 1;
	for (word = 0; word < registers_length / sizeof(registers[0]); word++)
		differ |= registers[word] ^ fp[word];
	return differ != 0;
}

/*
 * What the kernel takes for entropy of the host. With UFSIM_SEED it follows from that alone (splitmix64, S. Vigna,
 * public domain), so that every boot draws the same numbers.
 */
long ufsim_random(void *buffer, size_t len, unsigned int flags)
{
	static uint64_t state;
	static int seeded = -1;
	unsigned char *out = buffer;
	size_t done;

	if (seeded < 0) {
		const char *seed = getenv("UFSIM_SEED");

		seeded = !!seed;
		state = seed ? strtoull(seed, NULL, 10) : 0;
	}
	if (!seeded)
		return getrandom(buffer, len, flags);
	for (done = 0; done < len; done += 8) {
		uint64_t z = (state += 0x9E3779B97F4A7C15u);

		z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
		z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
		z ^= z >> 31;
		memcpy(out + done, &z, len - done < 8 ? len - done : 8);
	}
	return len;
}
