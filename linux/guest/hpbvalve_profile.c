// SPDX-License-Identifier: GPL-2.0
/*
 * HPBvalve: profiles of apps (Sec. 5.2, FG-Profiler): the groups that each has read in launches, and those that it has
 * read afterwards. Lists grow with every launch. When there are too many apps, or the lists take too much memory, the
 * app that was in front longest ago is forgotten.
 */
#include <linux/bitmap.h>
#include <linux/slab.h>

#include "hpbvalve.h"

#define LENGTH_BITS	11
#define MOST_LENGTH	BIT(LENGTH_BITS)
/* Of a list at first. */
#define FIRST_ROOM	16

u32 hpbvalve_run_start(u32 run)
{
	return run >> LENGTH_BITS;
}

u32 hpbvalve_run_length(u32 run)
{
	return (run & (MOST_LENGTH - 1)) + 1;
}

static u32 make_run(u32 start, u32 length)
{
	return start << LENGTH_BITS | (length - 1);
}

int hpbvalve_profiles_init(struct hpbvalve_profiles *profiles, u32 groups)
{
	int phase;

	INIT_LIST_HEAD(&profiles->apps);
	if (groups > BIT(32 - LENGTH_BITS))
		return -ERANGE;
	profiles->groups = groups;
	/* Sec. 5.2: 20 apps, 1 MB for all lists. */
	profiles->most_apps = 20;
	profiles->most_bytes = 1024 * 1024;
	for (phase = 0; phase < HPBVALVE_PHASES; phase++) {
		profiles->seen[phase] = bitmap_zalloc(groups, GFP_KERNEL);
		if (!profiles->seen[phase])
			return -ENOMEM;
	}
	return 0;
}

void hpbvalve_profiles_exit(struct hpbvalve_profiles *profiles)
{
	struct hpbvalve_app *app, *next;
	int phase;

	list_for_each_entry_safe(app, next, &profiles->apps, node)
		hpbvalve_app_free(app);
	for (phase = 0; phase < HPBVALVE_PHASES; phase++)
		bitmap_free(profiles->seen[phase]);
}

struct hpbvalve_app *hpbvalve_app_alloc(u32 uid)
{
	struct hpbvalve_app *app = kzalloc(sizeof(*app), GFP_KERNEL);

	if (app)
		app->uid = uid;
	return app;
}

void hpbvalve_app_free(struct hpbvalve_app *app)
{
	int phase;

	for (phase = 0; phase < HPBVALVE_PHASES; phase++)
		kfree(app->runs[phase].run);
	kfree(app);
}

static struct hpbvalve_app *find(struct hpbvalve_profiles *profiles, u32 uid)
{
	struct hpbvalve_app *app;

	list_for_each_entry(app, &profiles->apps, node)
		if (app->uid == uid)
			return app;
	return NULL;
}

bool hpbvalve_knows(struct hpbvalve_profiles *profiles, u32 uid)
{
	return find(profiles, uid);
}

static void forget_oldest(struct hpbvalve_profiles *profiles)
{
	struct hpbvalve_app *app = list_last_entry(&profiles->apps, struct hpbvalve_app, node);
	int phase;

	for (phase = 0; phase < HPBVALVE_PHASES; phase++)
		profiles->bytes -= app->runs[phase].count * sizeof(u32);
	list_del(&app->node);
	profiles->count--;
	hpbvalve_app_free(app);
}

/* The app in front stays. */
void hpbvalve_forget_excess(struct hpbvalve_profiles *profiles)
{
	while (profiles->count > 1 &&
	       (profiles->count > profiles->most_apps || profiles->bytes > profiles->most_bytes))
		forget_oldest(profiles);
}

/* The app of a UID comes to the head, with the profile that it has. True if it has none, and @fresh has been taken. */
bool hpbvalve_front_app(struct hpbvalve_profiles *profiles, struct hpbvalve_app *fresh)
{
	struct hpbvalve_app *app = find(profiles, fresh->uid);
	bool taken = !app;
	u32 phase, i;

	if (taken) {
		app = fresh;
		list_add(&app->node, &profiles->apps);
		profiles->count++;
	} else {
		list_move(&app->node, &profiles->apps);
	}
	for (phase = 0; phase < HPBVALVE_PHASES; phase++) {
		struct hpbvalve_runs *runs = &app->runs[phase];

		bitmap_zero(profiles->seen[phase], profiles->groups);
		for (i = 0; i < runs->count; i++)
			bitmap_set(profiles->seen[phase], hpbvalve_run_start(runs->run[i]),
				   hpbvalve_run_length(runs->run[i]));
	}
	hpbvalve_forget_excess(profiles);
	return taken;
}

/* Makes the run beside a group longer. False if there is none, or it is too long. */
static bool extend(struct hpbvalve_runs *runs, u32 group)
{
	u32 i;

	for (i = 0; i < runs->count; i++) {
		u32 start = hpbvalve_run_start(runs->run[i]), length = hpbvalve_run_length(runs->run[i]);

		if (length == MOST_LENGTH)
			continue;
		if (start + length == group)
			runs->run[i] = make_run(start, length + 1);
		else if (start == group + 1)
			runs->run[i] = make_run(group, length + 1);
		else
			continue;
		return true;
	}
	return false;
}

static bool append(struct hpbvalve_runs *runs, u32 group)
{
	if (runs->count == runs->room) {
		u32 room = runs->room ? 2 * runs->room : FIRST_ROOM;
		u32 *more = krealloc_array(runs->run, room, sizeof(u32), GFP_ATOMIC | __GFP_NOWARN);

		if (!more)
			return false;
		runs->run = more;
		runs->room = room;
	}
	runs->run[runs->count++] = make_run(group, 1);
	return true;
}

/*
 * The app in front has read a group. If all lists together become too long, the app that was in front longest ago is
 * forgotten; if there is no other one, or no memory, the group is not recorded.
 */
void hpbvalve_record(struct hpbvalve_profiles *profiles, enum hpbvalve_phase phase, u32 group)
{
	struct hpbvalve_runs *runs = hpbvalve_front_runs(profiles, phase);
	unsigned long *seen = profiles->seen[phase];
	bool beside;

	if (!runs || group >= profiles->groups || test_bit(group, seen))
		return;
	beside = (group && test_bit(group - 1, seen)) || (group + 1 < profiles->groups && test_bit(group + 1, seen));
	if (!beside || !extend(runs, group)) {
		while (profiles->bytes + sizeof(u32) > profiles->most_bytes) {
			if (profiles->count < 2)
				return;
			forget_oldest(profiles);
		}
		if (!append(runs, group))
			return;
		profiles->bytes += sizeof(u32);
	}
	__set_bit(group, seen);
}

/* A list of the app that came to the front last. */
struct hpbvalve_runs *hpbvalve_front_runs(struct hpbvalve_profiles *profiles, enum hpbvalve_phase phase)
{
	struct hpbvalve_app *app = list_first_entry_or_null(&profiles->apps, struct hpbvalve_app, node);

	return app ? &app->runs[phase] : NULL;
}
