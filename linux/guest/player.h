/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The player of apps.
 *
 * - player.c: the scenario, line by line; signals to HPBvalve's driver; who is in front.
 * - player_app.c: the process of an app.
 * - player_memory.c: the phone's memory, as a memory cgroup, and the killer.
 */
#ifndef PLAYER_H
#define PLAYER_H

#include <stdint.h>
#include <sys/types.h>

#define POLICY		"/sys/block/sda/device/hpbvalve/"
#define STATS		"/sys/block/sda/device/hpbvalve_stats/"
#define PAGE		4096
#define APPS		64
#define MOST_PAGES	16
#define MS		1000000ull
#define NEVER		UINT64_MAX
/* Pages are written. */
#define WRITES		0x80000000

/* A request for neighbouring pages, and the time that the app computes before it. */
struct step {
	uint32_t page;
	uint32_t pages;
	uint32_t pause_us;
};

struct app {
	unsigned int uid;
	/* Memory that its process takes, and in which time. */
	unsigned long kib;
	unsigned int ramp_ms;
	/* 0 if it has no process. */
	pid_t pid;
	int to;
	int from;
	/* When it came to the front, counted in launches; 0 if no user has opened it. When its process began. */
	unsigned int front_at;
	unsigned int began_at;
	/* Its last launch had a process already. */
	int warm;
	/* It reads or writes, and nobody has waited for that. */
	int reads;
	/* What it reads if its next launch finds a process. */
	struct step *again;
	uint32_t again_count;
};

extern struct app apps[APPS];
extern unsigned int count;
extern struct app *front;
extern const char *path;

/* player.c */
void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...);
void __attribute__((format(printf, 2, 3))) tell(const char *file, const char *format, ...);
uint64_t now(void);
void whole(int fd, void *data, size_t bytes, int out);
void end(struct app *app);

/* player_app.c */
void write_pages(const struct step *steps, uint32_t count);
void __attribute__((noreturn)) live(struct app *app, int from, int to);
void take_memory(unsigned long kib);

/* player_memory.c */
void have_memory(unsigned long kib, unsigned long low_kib, unsigned long high_kib);
void have_system(unsigned long kib, int entries);
void enter_group(unsigned int uid);
void leave_group(unsigned int uid);
void set_levels(void);
int wait_for(int fd, uint64_t until);
void tell_pressure(void);
unsigned long value_of(const char *file, const char *name);

#endif
