/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HPBvalve (FAST 2023) and FOAM's partitions: policies over the regions and subregions of ufshpb, in host control mode.
 *
 * - hpbvalve.c: the hooks, who is in front, lists, what is fetched, what is dropped.
 * - hpbvalve_profile.c: what apps have read, in launches and afterwards (FG-Profiler).
 * - hpbvalve_sysfs.c: signals of App-Detector and Mem-Detector, parameters, counters.
 *
 * An app is a UID. A *group* is a subregion, numbered from the beginning of the logical unit.
 */
#ifndef HPBVALVE_H
#define HPBVALVE_H

#include <linux/list.h>
#include <linux/types.h>
#include <ufs/ufshcd.h>

#include "ufshpb.h"

/* No app is in front. UID 0 is the system's: writeback, and all other threads of the kernel. */
#define HPBVALVE_NOBODY	0

enum hpbvalve_policy {
	/* ufshpb as it is. */
	HPBVALVE_HPB,
	/* ufshpb, but victims by partition (HPBvalve Sec. 3). */
	HPBVALVE_FOAM,
	HPBVALVE_VALVE,
	HPBVALVE_POLICIES,
};

/* Lists of hpbvalve in the order of eviction; AFG only when the limit is lowered. foam's are BR, BW, FR, FW. */
enum hpbvalve_list {
	HPBVALVE_BG,
	HPBVALVE_IFG,
	HPBVALVE_AFG,
	HPBVALVE_LISTS = 4,
	HPBVALVE_UNLISTED = HPBVALVE_LISTS,
};

/* What is fetched first. */
enum hpbvalve_urgency {
	/* By the counts of ufshpb, or because the device recommends it. */
	HPBVALVE_COUNTED,
	HPBVALVE_RUNNING,
	HPBVALVE_LAUNCH,
	HPBVALVE_MISSED,
};

enum hpbvalve_phase {
	/* From launch_start to launch_end. */
	HPBVALVE_LAUNCHES,
	HPBVALVE_RUNS,
	HPBVALVE_PHASES,
};

struct hpbvalve_region {
	/* In its list, the one used longest ago first; while it is active. */
	struct list_head use;
	/* What it keeps, in bytes of entries. */
	u32 held;
	u8 list;
	/* The partition of its last reference. */
	u8 partition;
};

struct hpbvalve_group {
	/* The time in front that it is fetched for. */
	u32 session;
	u8 urgency;
	/* It was fetched for an app that has not referenced it since. */
	bool prefetched;
};

/* Groups in the order of their first reads, in runs of neighbours: 21 bits of start, 11 of length less one. */
struct hpbvalve_runs {
	u32 *run;
	u32 count;
	u32 room;
};

struct hpbvalve_app {
	struct list_head node;
	u32 uid;
	struct hpbvalve_runs runs[HPBVALVE_PHASES];
};

/* Apps that were in front, the last one first. */
struct hpbvalve_profiles {
	struct list_head apps;
	/* Groups in the lists of the first app. */
	unsigned long *seen[HPBVALVE_PHASES];
	u32 groups;
	u32 bytes;
	u32 count;
	u32 most_apps;
	u32 most_bytes;
};

/* Names are those of ufsim's results, where those have them. */
#define HPBVALVE_COUNTERS(of) \
	of(hpbvalve_miss_fetches) of(hpbvalve_launch_fetches) of(hpbvalve_running_fetches) \
	of(hpbvalve_reclaimed_bytes) of(hpbvalve_reclaims_short) \
	of(counted_fetches) of(fetches_skipped) of(fetches_given_up) of(regions_evicted) \
	of(front_hits) of(front_misses) of(launch_hits) of(launch_misses) of(other_hits) of(other_misses)

struct hpbvalve_stats {
#define HPBVALVE_COUNTER(name) u64 name;
	HPBVALVE_COUNTERS(HPBVALVE_COUNTER)
#undef HPBVALVE_COUNTER
};

/* Of a logical unit; protected by rgn_state_lock of struct ufshpb_lu, inside which rsp_list_lock may be taken. */
struct hpbvalve {
	enum hpbvalve_policy policy;
	u32 front;
	/* Grows whenever another app, or none, comes to the front. */
	u32 session;
	enum hpbvalve_phase phase;
	struct list_head list[HPBVALVE_LISTS];
	struct hpbvalve_region *region;
	struct hpbvalve_group *group;
	struct hpbvalve_profiles profiles;
	/* Whose memory entries are, once somebody has said so. */
	struct mem_cgroup *account;
	/* Bytes of entries, now and at most. */
	u64 held;
	u64 limit;
	struct hpbvalve_stats stats;
};

/* hpbvalve.c, called by ufshcd and ufshpb. */
int hpbvalve_init(struct ufshpb_lu *hpb);
void hpbvalve_exit(struct ufshpb_lu *hpb);
void hpbvalve_prep(struct ufs_hba *hba, struct ufshcd_lrb *lrbp);
bool hpbvalve_on(struct ufshpb_lu *hpb);
bool hpbvalve_keeps(struct ufshpb_lu *hpb);
void hpbvalve_entered(struct ufshpb_region *rgn);
bool hpbvalve_left(struct ufshpb_region *rgn);
bool hpbvalve_waits(struct ufshpb_lu *hpb);
bool hpbvalve_admits(struct ufshpb_lu *hpb, struct ufshpb_subregion *srgn);
void hpbvalve_fetched(struct ufshpb_lu *hpb, struct ufshpb_subregion *srgn);
void hpbvalve_charge(struct ufshpb_lu *hpb, struct page *page);
void hpbvalve_uncharge(struct page *page);

/* hpbvalve.c, called by hpbvalve_sysfs.c. */
int hpbvalve_set_policy(struct ufshpb_lu *hpb, enum hpbvalve_policy policy);
void hpbvalve_set_limit(struct ufshpb_lu *hpb, u64 bytes);
int hpbvalve_launch(struct ufshpb_lu *hpb, u32 uid);
void hpbvalve_launched(struct ufshpb_lu *hpb, u32 uid);
void hpbvalve_ended(struct ufshpb_lu *hpb, u32 uid);
u64 hpbvalve_reclaim(struct ufshpb_lu *hpb, u32 uid, u64 bytes);
int hpbvalve_account(struct ufshpb_lu *hpb);

/* hpbvalve_profile.c */
int hpbvalve_profiles_init(struct hpbvalve_profiles *profiles, u32 groups);
void hpbvalve_profiles_exit(struct hpbvalve_profiles *profiles);
struct hpbvalve_app *hpbvalve_app_alloc(u32 uid);
void hpbvalve_app_free(struct hpbvalve_app *app);
bool hpbvalve_front_app(struct hpbvalve_profiles *profiles, struct hpbvalve_app *fresh);
bool hpbvalve_knows(struct hpbvalve_profiles *profiles, u32 uid);
void hpbvalve_record(struct hpbvalve_profiles *profiles, enum hpbvalve_phase phase, u32 group);
void hpbvalve_forget_excess(struct hpbvalve_profiles *profiles);
struct hpbvalve_runs *hpbvalve_front_runs(struct hpbvalve_profiles *profiles, enum hpbvalve_phase phase);
u32 hpbvalve_run_start(u32 run);
u32 hpbvalve_run_length(u32 run);

/* hpbvalve_sysfs.c */
extern const struct attribute_group hpbvalve_group;
extern const struct attribute_group hpbvalve_stat_group;

/* ufshpb's, which this policy has made known. */
void ufshpb_kick_map_work(struct ufshpb_lu *hpb);
int ufshpb_issue_umap_single_req(struct ufshpb_lu *hpb, struct ufshpb_region *rgn);
void __ufshpb_evict_region(struct ufshpb_lu *hpb, struct ufshpb_region *rgn);

#endif
