/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HP-UFS (MSST 2024): the host keeps the mapping of a UFS device.
 *
 * - hp_ufs.c: what is done to commands of the block layer. hp_ufs_own.c: the driver's own. hp_ufs_unit.c: a unit comes
 *   and goes, parameters, counters.
 * - hp_ufs_map.c: cached L2P segments and changes. hp_ufs_valid.c: which pages are valid, victims, freed blocks.
 *
 * Clauses are those of hp_ufs_wire.h.
 */
#ifndef HP_UFS_H
#define HP_UFS_H

#include <linux/bitmap.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mempool.h>
#include <linux/rbtree.h>
#include <linux/shrinker.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <scsi/scsi_cmnd.h>
#include <scsi/scsi_device.h>
#include <ufs/ufshcd.h>

#include "hp_ufs_wire.h"

/* Idle time begins as if so many polls had brought nothing. */
#define HP_UFS_FIRST_IDLE_POLL	7
/* Slots of the transfer request list. */
#define HP_UFS_TAGS	32

enum hp_ufs_state {
	HP_UFS_ABSENT,
	HP_UFS_LOADING,
	HP_UFS_CACHED,
};

/* An L2P segment. */
struct hp_ufs_segment {
	/* Packed places, in this processor's order; while CACHED. */
	u32 *places;
	/* Among the cached ones, by use. */
	struct list_head use;
	/* Among those to load; among those that the device wants back. */
	struct list_head wanted;
	struct list_head hinted;
	/* The host number of the writeback under way. */
	u64 written_at;
	/* Reads that are about to be sent. */
	u16 pins;
	u8 state;
	/* Quarters with changes that flash lacks; quarters that are being written. */
	u8 dirty;
	u8 writing;
	/* A writeback is under way, with data or without. */
	bool under_way;
	/* It is dropped when that has ended, unless it is used until then. */
	bool leaving;
	/* Periods that have ended since it was used. */
	u8 unused;
};

/* An entry that waits for an earlier one, or for its segment. */
struct hp_ufs_entry {
	union {
		struct rb_node node;
		struct list_head unused;
	};
	u64 number;
	u32 lpa;
	/* Packed. */
	u32 place;
	u16 source;
	u8 changes;
};

/* Names are those of ufsim's results. */
#define HP_UFS_COUNTERS(of) \
	of(hits) of(misses) of(write_hits) of(write_misses) of(mapped_reads) of(segment_reads) \
	of(segment_read_failures) of(segment_writebacks) of(segment_writebacks_evict) of(attests) \
	of(segments_dropped) of(segments_expired) of(entry_transfers) of(entry_transfers_to_report) of(polls) \
	of(bitmaps_sent) of(bitmaps_refused) of(freed_sent) of(entries_received) of(entries_duplicate) \
	of(units_applied) of(units_discarded) of(reorder_stalls) of(reorder_peak) of(resyncs) of(rebuilds) of(faults)

struct hp_ufs_stats {
#define HP_UFS_COUNTER(name) u64 name;
	HP_UFS_COUNTERS(HP_UFS_COUNTER)
#undef HP_UFS_COUNTER
};

struct hp_ufs;

/* A command of the driver. There are as many as it has tags. */
struct hp_ufs_command {
	struct hp_ufs *hp;
	struct list_head list;
	void *data;
	u32 bytes;
	u32 argument;
	/* The host number of the moment at which its data was made. */
	u64 number;
	u32 epoch;
	u8 code;
	u8 flags;
	/* How often the unit has told of a reset instead of doing it. */
	u8 attentions;
};

/* A command of the block layer, by its tag. */
struct hp_ufs_slot {
	u32 segment;
	/* It has been made shorter, to so many bytes. */
	u32 cut_to;
	bool pinned;
	/* It has been sent, and its response has not come. */
	bool in_flight;
};

struct hp_ufs {
	struct list_head list;
	struct ufs_hba *hba;
	struct scsi_device *sdev;
	/* Protects everything below. Taken inside hba->outstanding_lock. */
	spinlock_t lock;

	/* The device's description. */
	u32 units;
	u32 segments;
	u32 blocks;
	u32 block_units;
	u32 block_words;
	u32 part_entries;
	u32 victim_choices;
	u32 power_ons;
	u8 victim_policy;

	/* The last change that has been applied, and the last that a command has told. */
	u64 host_number;
	u64 told_number;
	/* Raised when everything that was known is lost. */
	u32 epoch;

	/* Segments. */
	struct hp_ufs_segment *segment;
	struct list_head use;
	struct list_head wanted;
	struct list_head hinted;
	mempool_t *pages;
	u32 limit;
	u32 in_use;
	u32 loading;
	u32 leaving;
	u32 pinned;
	/* There was no page for a segment. */
	bool memory_short;
	u8 part_of[4];
	/* The segment that the next change waits for, and the one that is loaded for it; -1 if none. */
	s64 head;
	s64 head_loading;
	/* Next segment to read when everything is to be learnt; those under way; -1 when it is known. */
	s64 survey;
	u32 surveying;
	/* Segments that no request has used for long are being given up. */
	bool giving_up;

	/* Changes that came too early. */
	struct rb_root early;
	struct hp_ufs_entry *entries;
	struct list_head unused_entries;
	u32 entries_waiting;
	/* When the first number began to be missing, and how often it was asked for. */
	ktime_t gap_since;
	u64 gap_at;
	u32 gap_asked;

	/* Valid pages. */
	u64 *valid;
	u32 *valid_count;
	u64 *filled;
	unsigned long *refused;
	/* Blocks without a valid page, to be named. */
	u16 *freed;
	u32 freed_first;
	u32 freed_count;
	unsigned long *is_freed;

	/* What the device wants. */
	bool entries_wait;
	bool victim_wanted;
	s32 bitmap_of;
	bool transferring;
	bool sending_bitmap;
	/* Responses were lost. */
	bool lost;
	bool poll;
	/* The device works in idle time, and so many polls have brought nothing; -1 if it does not. */
	s32 fruitless;

	/* Own commands. */
	struct hp_ufs_command *commands;
	struct list_head unused_commands;
	struct list_head to_issue;
	void *transfer;
	/* Own commands that are neither unused nor to be issued, and who waits until there are none. */
	u32 under_way;
	wait_queue_head_t quiet;

	/* Commands of the block layer. */
	struct hp_ufs_slot slot[HP_UFS_TAGS];
	unsigned long parked;
	u32 in_flight;

	struct workqueue_struct *queue;
	struct work_struct work;
	struct delayed_work later;
	struct delayed_work expiry;
	struct hrtimer timer;
	bool timer_runs;
	ktime_t last_activity;
	struct completion known;
	struct shrinker shrinker;
	bool shrinks;
	bool stopped;
	/* The device has said what cannot be. */
	bool distrusted;
	struct hp_ufs_stats stats;
};

/* hp_ufs_map.c; all with the lock held, but for the first two. */
int hp_ufs_map_init(struct hp_ufs *hp, u32 entries);
void hp_ufs_map_exit(struct hp_ufs *hp);
void hp_ufs_forget(struct hp_ufs *hp);
void hp_ufs_set_limit(struct hp_ufs *hp, unsigned int kib);
u32 hp_ufs_run(struct hp_ufs *hp, u32 lpa, u32 len, u32 *place);
void hp_ufs_use(struct hp_ufs *hp, u32 segment);
bool hp_ufs_want(struct hp_ufs *hp, u32 segment);
void hp_ufs_pin(struct hp_ufs *hp, u32 segment);
void hp_ufs_unpin(struct hp_ufs *hp, u32 segment);
void hp_ufs_take_entry(struct hp_ufs *hp, const struct hp_ufs_piggyback *entry);
void hp_ufs_apply_waiting(struct hp_ufs *hp);
s64 hp_ufs_next_load(struct hp_ufs *hp);
void hp_ufs_loaded(struct hp_ufs *hp, u32 segment, const __be32 *places);
bool hp_ufs_make_room(struct hp_ufs *hp, u32 *dirty);
bool hp_ufs_give_up_unused(struct hp_ufs *hp, u32 *dirty);
void hp_ufs_hint(struct hp_ufs *hp, u32 segment);
void hp_ufs_hint_all(struct hp_ufs *hp);
bool hp_ufs_next_hinted(struct hp_ufs *hp, u32 *segment);
u8 hp_ufs_start_write(struct hp_ufs *hp, u32 segment, bool leave, void *data, u32 *bytes);
void hp_ufs_written(struct hp_ufs *hp, u32 segment, bool good);
u32 hp_ufs_drop_clean(struct hp_ufs *hp, u32 most);

/* hp_ufs_valid.c; with the lock held. */
bool hp_ufs_is_place(struct hp_ufs *hp, u32 place);
u32 hp_ufs_block_of(struct hp_ufs *hp, u32 place);
void hp_ufs_set_valid(struct hp_ufs *hp, u32 place);
void hp_ufs_clear_valid(struct hp_ufs *hp, u32 place);
void hp_ufs_push_freed(struct hp_ufs *hp, u32 block);
void hp_ufs_surveyed(struct hp_ufs *hp, const __be32 *places);
void hp_ufs_name_empty(struct hp_ufs *hp);
s32 hp_ufs_next_freed(struct hp_ufs *hp);
s32 hp_ufs_victim(struct hp_ufs *hp);
void hp_ufs_bitmap(struct hp_ufs *hp, u32 block, void *data);

/* hp_ufs.c */
unsigned long hp_ufs_unpark(struct hp_ufs *hp);
void hp_ufs_send_parked(struct hp_ufs *hp, unsigned long ready);
void hp_ufs_give_back(struct ufs_hba *hba, int tag, int result);

/* hp_ufs_own.c */
struct hp_ufs_command *hp_ufs_own(struct scsi_cmnd *cmd);
void hp_ufs_init_work(struct hp_ufs *hp);
void hp_ufs_start_timer(struct hp_ufs *hp);
bool hp_ufs_has_work(struct hp_ufs *hp);

/* hp_ufs_unit.c */
struct hp_ufs *hp_ufs_of_device(struct scsi_device *sdev);
void hp_ufs_kick(struct hp_ufs *hp);
__printf(2, 3) void hp_ufs_distrust(struct hp_ufs *hp, const char *format, ...);

/* ufshcd's, which this driver has made known. */
void ufshcd_send_command(struct ufs_hba *hba, unsigned int task_tag);

/* Called by ufshcd. */
extern const struct attribute_group hp_ufs_stat_group;
extern const struct attribute_group hp_ufs_param_group;
unsigned int hp_ufs_reserved_tags(void);
void hp_ufs_init_lu(struct ufs_hba *hba, struct scsi_device *sdev);
void hp_ufs_destroy_lu(struct scsi_device *sdev);
bool hp_ufs_parks(struct ufs_hba *hba, struct ufshcd_lrb *lrbp);
void hp_ufs_stamp(struct ufs_hba *hba, struct ufshcd_lrb *lrbp);
void hp_ufs_response(struct ufs_hba *hba, struct ufshcd_lrb *lrbp);
void hp_ufs_reset(struct ufs_hba *hba, bool begins);
void hp_ufs_suspend(struct ufs_hba *hba);
void hp_ufs_resume(struct ufs_hba *hba);

/* ufshcd's calls for HPB are for HP-UFS, too; a device has one of both at most. */
#ifdef HP_UFS_HOOKS
#define ufshpb_toggle_state(hba, from, to) \
	do { ufshpb_toggle_state(hba, from, to); hp_ufs_reset(hba, (to) == HPB_RESET); } while (0)
#define ufshpb_suspend(hba) do { ufshpb_suspend(hba); hp_ufs_suspend(hba); } while (0)
#define ufshpb_resume(hba) do { ufshpb_resume(hba); hp_ufs_resume(hba); } while (0)
#endif

#endif
