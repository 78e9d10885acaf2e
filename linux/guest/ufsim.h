/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The page that a guest shares with the simulated controller. Both sides run on one processor and take turns: whoever
 * has the turn owns the page. docs/linux.md tells the protocol.
 */
#ifndef UFSIM_H
#define UFSIM_H

#define UFSIM_MAGIC	0x73666375u	/* "ucfs" */
#define UFSIM_VERSION	4
#define UFSIM_WRITES	64
#define UFSIM_REGISTERS	256		/* of 4 bytes, of which the controller has the first 64 */

enum ufsim_op {
	UFSIM_RUN = 1,			/* do the writes, then everything that is due */
	UFSIM_BYE = 2,			/* the guest has halted */
	UFSIM_BEGIN = 3,		/* as RUN; its job begins, and is recorded */
};

struct ufsim_write {
	unsigned long long now;		/* simulated time in ns */
	unsigned int reg;
	unsigned int value;
};

struct ufsim_page {
	/* 000h: what reads of registers give */
	unsigned int mirror[UFSIM_REGISTERS];
	/* 400h: guest to controller */
	unsigned int gseq;		/* counts the turns of the controller; futex */
	unsigned int op;
	unsigned int nwrites;
	unsigned int pad0;
	unsigned long long now;
	unsigned long long until;	/* nothing happens in the guest before, unless the line goes up */
	unsigned long long pad1[4];
	/* 440h */
	struct ufsim_write writes[UFSIM_WRITES];
	/* 840h: controller to guest */
	unsigned int dseq;		/* counts the turns of the guest; futex */
	unsigned int line;		/* level of the interrupt line */
	unsigned long long next;	/* registers and memory do not change before; all ones: never */
	unsigned int ahead;		/* it has been there already: mirror and line are as they are at "next" */
	unsigned int within;		/* nor so many ns after a doorbell, within which it has to be told */
	unsigned long long after;	/* if it is ahead: as "next", for the time after that */
};

/* First and only message on the socket, with the descriptor of the guest's memory. */
struct ufsim_hello {
	unsigned int magic;
	unsigned int version;
	unsigned long long ram_first;	/* below: the image of the kernel, which is not in that memory */
	unsigned long long ram_size;
};

/* ufsim_user.c, for the kernel's side */
struct ufsim_page *ufsim_open(void);
int ufsim_greet(int memory_fd, unsigned long long ram_first, unsigned long long ram_size);
void ufsim_wake(unsigned int *word);
int ufsim_wait(unsigned int *word, unsigned int old);

/* ufsim_kern.c, for the files of the kernel that are edited: each of them declares what it calls by itself */
struct mm_struct;
struct time_travel_event;
unsigned long long ufsim_now(void);
unsigned long long ufsim_next_event(struct time_travel_event *but);
void ufsim_before_time(void);
void ufsim_syscall(void);
void ufsim_copy(unsigned long bytes);
int ufsim_map_clock(struct mm_struct *mm, unsigned long at);
void ufsim_enter_program(void);
void ufsim_leave_program(void);

/* the guest's memory; no header of the kernel has it */
extern unsigned long long physmem_size;

#endif
