/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The clock of a guest's programs: a page that the kernel fills before it gives them the processor. Their own code reads
 * it (vDSO), as on a phone: reading the time is no system call.
 *
 * A reading costs as much time as one of the kernel does, so who waits for a moment in a loop gets there. The kernel is
 * told of the readings when it is entered, and lets that time go by. After UFSIM_READINGS of them it has to be entered.
 */
#ifndef UFSIM_CLOCK_H
#define UFSIM_CLOCK_H

#define UFSIM_READINGS	64u
/* Of a reading, in ns: TIMER_MULTIPLIER of arch/um. */
#define UFSIM_READING	256

struct ufsim_clock {
	unsigned long now[2];		/* ns of CLOCK_REALTIME and of CLOCK_MONOTONIC */
	unsigned int readings;
	unsigned int most;		/* 0: the kernel has to be asked */
};

/* For the vDSO, which lies behind the page. 0 if the kernel has to be asked. */
static inline int ufsim_read_clock(int which, unsigned long *seconds, unsigned long *nanoseconds)
{
	struct ufsim_clock *clock;
	unsigned long now;

	asm("lea 0(%%rip), %0" : "=r" (clock));
	clock = (void *)(((unsigned long)clock & ~4095UL) - 4096);
	if ((unsigned int)which > 1 || clock->readings >= clock->most)
		return 0;
	now = clock->now[which] + ++clock->readings * UFSIM_READING;
	*seconds = now / 1000000000;
	*nanoseconds = now % 1000000000;
	return 1;
}

#endif
