// SPDX-License-Identifier: GPL-2.0
/*
 * HPBvalve (FAST 2023), and FOAM's partitions, its baseline (Sec. 3), over ufshpb.
 *
 * - ufshpb keeps entries, counts reads, fetches subregions and tells the device what it has dropped. The policy says
 *   what is fetched beyond that, in which order, and which region is dropped. What is dropped is a region, because the
 *   standard knows no smaller unit to tell the device of; lists are of regions, profiles of subregions.
 * - ufshpb looks at its list of fetches when its timer runs out. A launch cannot wait for that: here it is looked at
 *   when something was put on it, and when a fetch has ended.
 * - A request has no UID in Linux 6.1. As in the paper (Sec. 5.2), a bio keeps that of the task which allocates it
 *   (bi_uid), and a request is the front app's if one of its bios is. So read-ahead belongs to the app whose access
 *   began it, and what an app writes directly or by fsync is its own; what is written back later is the system's.
 */
#include <linux/bitmap.h>
#include <linux/blk-mq.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <scsi/scsi_cmnd.h>
#include <scsi/scsi_device.h>

#include "ufshcd-priv.h"
#include "../../scsi/sd.h"
#include "hpbvalve.h"

bool hpbvalve_on(struct ufshpb_lu *hpb)
{
	return hpb->valve && hpb->valve->policy != HPBVALVE_HPB;
}

/* True if no timer drops anything: memory is given back when it is asked for. */
bool hpbvalve_keeps(struct ufshpb_lu *hpb)
{
	return hpb->valve && hpb->valve->policy == HPBVALVE_VALVE;
}

static struct hpbvalve_region *region_of(struct ufshpb_region *rgn)
{
	return &rgn->hpb->valve->region[rgn->rgn_idx];
}

static struct hpbvalve_group *group_of(struct ufshpb_lu *hpb, struct ufshpb_subregion *srgn)
{
	return &hpb->valve->group[srgn->rgn_idx * hpb->srgns_per_rgn + srgn->srgn_idx];
}

static u32 group_bytes(struct ufshpb_lu *hpb)
{
	return hpb->pages_per_srgn * PAGE_SIZE;
}

static struct ufshpb_subregion *subregion(struct ufshpb_lu *hpb, u32 group)
{
	return &hpb->rgn_tbl[group / hpb->srgns_per_rgn].srgn_tbl[group % hpb->srgns_per_rgn];
}

/* Lists. */

static void unlist(struct hpbvalve_region *region)
{
	list_del_init(&region->use);
	region->list = HPBVALVE_UNLISTED;
}

/* Puts a region at the young end of a list, or at its old end. */
static void place(struct hpbvalve *valve, struct hpbvalve_region *region, u8 list, bool oldest)
{
	if (oldest)
		list_move(&region->use, &valve->list[list]);
	else
		list_move_tail(&region->use, &valve->list[list]);
	region->list = list;
}

static void recount(struct hpbvalve *valve, struct ufshpb_region *rgn)
{
	struct hpbvalve_region *region = region_of(rgn);
	struct ufshpb_subregion *srgn;
	int i;

	valve->held -= region->held;
	region->held = 0;
	if (rgn->rgn_state == HPB_RGN_ACTIVE)
		for_each_sub_region(rgn, i, srgn)
			if (srgn->srgn_state != HPB_SRGN_UNUSED)
				region->held += group_bytes(rgn->hpb);
	valve->held += region->held;
}

static void list_region(struct hpbvalve *valve, struct ufshpb_region *rgn)
{
	struct hpbvalve_region *region = region_of(rgn);

	if (valve->policy == HPBVALVE_FOAM)
		place(valve, region, region->partition, false);
	else
		place(valve, region, HPBVALVE_BG, true);
}

/* A region has become active; rgn_state_lock is held. */
void hpbvalve_entered(struct ufshpb_region *rgn)
{
	if (hpbvalve_on(rgn->hpb))
		list_region(rgn->hpb->valve, rgn);
}

/* A region is dropped; rgn_state_lock is held. True if somebody else has done that already. */
bool hpbvalve_left(struct ufshpb_region *rgn)
{
	struct hpbvalve *valve = rgn->hpb->valve;

	if (list_empty(&rgn->list_lru_rgn))
		return true;
	if (valve) {
		unlist(region_of(rgn));
		valve->held -= region_of(rgn)->held;
		region_of(rgn)->held = 0;
	}
	return false;
}

static bool is_front(struct hpbvalve *valve, u32 uid)
{
	return valve->front != HPBVALVE_NOBODY && uid == valve->front;
}

/* The app in front goes: what is its own becomes that of an app that was in front. */
static void leave_front(struct hpbvalve *valve)
{
	struct hpbvalve_region *region;

	list_for_each_entry(region, &valve->list[HPBVALVE_AFG], use)
		region->list = HPBVALVE_IFG;
	list_splice_tail_init(&valve->list[HPBVALVE_AFG], &valve->list[HPBVALVE_IFG]);
	valve->session++;
	valve->front = HPBVALVE_NOBODY;
	valve->phase = HPBVALVE_RUNS;
}

static void reference(struct hpbvalve *valve, struct ufshpb_region *rgn, u32 uid, bool write)
{
	struct hpbvalve_region *region = region_of(rgn);
	bool front = is_front(valve, uid);

	region->partition = 2 * front + write;
	if (region->list == HPBVALVE_UNLISTED)
		return;
	if (valve->policy == HPBVALVE_FOAM)
		place(valve, region, region->partition, false);
	else if (front)
		place(valve, region, HPBVALVE_AFG, false);
	else if (region->list != HPBVALVE_AFG)
		place(valve, region, hpbvalve_knows(&valve->profiles, uid) ? HPBVALVE_IFG : HPBVALVE_BG, false);
}

/* Victims. */

static bool is_busy(struct ufshpb_region *rgn)
{
	struct ufshpb_subregion *srgn;
	int i;

	for_each_sub_region(rgn, i, srgn)
		if (srgn->srgn_state == HPB_SRGN_ISSUED)
			return true;
	return false;
}

/* The region that is dropped next, but for @not; all lists are searched, or those that the policy gives. */
static struct ufshpb_region *victim(struct ufshpb_lu *hpb, struct ufshpb_region *not, bool all)
{
	struct hpbvalve *valve = hpb->valve;
	int list, lists = all || valve->policy == HPBVALVE_FOAM ? HPBVALVE_LISTS : HPBVALVE_AFG;
	struct hpbvalve_region *region;

	for (list = 0; list < lists; list++)
		list_for_each_entry(region, &valve->list[list], use) {
			struct ufshpb_region *rgn = &hpb->rgn_tbl[region - valve->region];

			if (rgn != not && !is_busy(rgn))
				return rgn;
		}
	return NULL;
}

/*
 * Reads of a region that was dropped count from now on. Without that, as in ufshpb and so in foam, a subregion that has
 * been fetched once keeps its count, which never becomes activation_thld again until counts are halved.
 */
static void forget_reads(struct ufshpb_region *rgn)
{
	struct ufshpb_subregion *srgn;
	unsigned long flags;
	int i;

	spin_lock_irqsave(&rgn->rgn_lock, flags);
	rgn->reads = 0;
	for_each_sub_region(rgn, i, srgn)
		srgn->reads = 0;
	spin_unlock_irqrestore(&rgn->rgn_lock, flags);
}

/* Drops a region. False if there is none. */
static bool evict(struct ufshpb_lu *hpb, struct ufshpb_region *not, bool all, u64 *freed)
{
	struct ufshpb_region *rgn;
	unsigned long flags;

	spin_lock_irqsave(&hpb->rgn_state_lock, flags);
	rgn = victim(hpb, not, all);
	if (rgn) {
		*freed += region_of(rgn)->held;
		hpb->valve->stats.regions_evicted++;
		__ufshpb_evict_region(hpb, rgn);
	}
	spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
	if (!rgn)
		return false;
	if (hpbvalve_keeps(hpb))
		forget_reads(rgn);
	/* Without a free tag the device is not told. It checks each entry that it gets. */
	ufshpb_issue_umap_single_req(hpb, rgn);
	return true;
}

/* Fetches. */

/* A fetch would bring what is not there. */
static bool lacks(struct ufshpb_lu *hpb, struct ufshpb_subregion *srgn)
{
	u32 entries = srgn->is_last ? hpb->last_srgn_entries : hpb->entries_per_srgn;

	if (srgn->srgn_state == HPB_SRGN_VALID)
		return !bitmap_empty(srgn->mctx->ppn_dirty, entries);
	return srgn->srgn_state != HPB_SRGN_ISSUED;
}

/* Puts a subregion on ufshpb's list, before all that are less urgent. */
static void want(struct ufshpb_lu *hpb, struct ufshpb_subregion *srgn, u8 urgency)
{
	struct hpbvalve_group *group = group_of(hpb, srgn);
	struct list_head *at;
	unsigned long flags;

	spin_lock_irqsave(&hpb->rsp_list_lock, flags);
	if (!list_empty(&srgn->list_act_srgn) && group->urgency >= urgency)
		goto out;
	list_del_init(&srgn->list_act_srgn);
	list_del_init(&hpb->rgn_tbl[srgn->rgn_idx].list_inact_rgn);
	group->urgency = urgency;
	list_for_each(at, &hpb->lh_act_srgn)
		if (group_of(hpb, list_entry(at, struct ufshpb_subregion, list_act_srgn))->urgency < urgency)
			break;
	list_add_tail(&srgn->list_act_srgn, at);
out:
	spin_unlock_irqrestore(&hpb->rsp_list_lock, flags);
}

/* Fetches for an app that is not in front any more are not made. */
static void cancel_fetches(struct ufshpb_lu *hpb)
{
	struct ufshpb_subregion *srgn, *next;
	unsigned long flags;

	spin_lock_irqsave(&hpb->rsp_list_lock, flags);
	list_for_each_entry_safe(srgn, next, &hpb->lh_act_srgn, list_act_srgn) {
		if (group_of(hpb, srgn)->urgency == HPBVALVE_COUNTED)
			continue;
		list_del_init(&srgn->list_act_srgn);
		group_of(hpb, srgn)->urgency = HPBVALVE_COUNTED;
	}
	spin_unlock_irqrestore(&hpb->rsp_list_lock, flags);
}

/* ufshpb need not look at its list of fetches: as many as may be are under way. */
bool hpbvalve_waits(struct ufshpb_lu *hpb)
{
	return hpbvalve_on(hpb) && hpb->num_inflight_map_req >= hpb->params.inflight_map_req;
}

static void kick(struct ufshpb_lu *hpb)
{
	if (!hpbvalve_waits(hpb))
		ufshpb_kick_map_work(hpb);
}

/* There is memory for one more subregion, and a place for its region. */
static bool has_room(struct ufshpb_lu *hpb, struct ufshpb_subregion *srgn)
{
	struct ufshpb_region *rgn = &hpb->rgn_tbl[srgn->rgn_idx];
	struct victim_select_info *lru = &hpb->lru_info;

	if (rgn->rgn_state == HPB_RGN_INACTIVE && atomic_read(&lru->active_cnt) >= lru->max_lru_active_cnt)
		return false;
	if (srgn->srgn_state != HPB_SRGN_UNUSED)
		return true;
	return hpb->valve->held + (u64)(hpb->num_inflight_map_req + 1) * group_bytes(hpb) <= hpb->valve->limit;
}

/* A subregion has been taken off the list of fetches. False if it is not to be fetched, after all. */
bool hpbvalve_admits(struct ufshpb_lu *hpb, struct ufshpb_subregion *srgn)
{
	struct hpbvalve *valve = hpb->valve;
	struct hpbvalve_group *group;
	unsigned long flags;
	u64 freed = 0;
	bool fits = true;

	if (!hpbvalve_on(hpb))
		return true;
	group = group_of(hpb, srgn);
	spin_lock_irqsave(&hpb->rgn_state_lock, flags);
	if (!lacks(hpb, srgn) && srgn->srgn_state == HPB_SRGN_VALID) {
		valve->stats.fetches_skipped++;
		group->urgency = HPBVALVE_COUNTED;
		fits = false;
		goto out;
	}
	while (!has_room(hpb, srgn)) {
		spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
		fits = evict(hpb, &hpb->rgn_tbl[srgn->rgn_idx], false, &freed);
		spin_lock_irqsave(&hpb->rgn_state_lock, flags);
		if (!fits) {
			valve->stats.fetches_given_up++;
			group->urgency = HPBVALVE_COUNTED;
			goto out;
		}
	}
	group->session = valve->session;
	group->prefetched = group->urgency == HPBVALVE_LAUNCH || group->urgency == HPBVALVE_RUNNING;
out:
	spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
	return fits;
}

static void count_fetch(struct hpbvalve_stats *stats, u8 urgency)
{
	switch (urgency) {
	case HPBVALVE_MISSED:
		stats->hpbvalve_miss_fetches++;
		break;
	case HPBVALVE_LAUNCH:
		stats->hpbvalve_launch_fetches++;
		break;
	case HPBVALVE_RUNNING:
		stats->hpbvalve_running_fetches++;
		break;
	default:
		stats->counted_fetches++;
	}
}

/* Where a region goes that has just got a subregion. */
static void place_fetched(struct hpbvalve *valve, struct hpbvalve_region *region, struct hpbvalve_group *group)
{
	if (region->list == HPBVALVE_UNLISTED || valve->policy == HPBVALVE_FOAM)
		return;
	if (group->urgency == HPBVALVE_COUNTED) {
		if (region->list == HPBVALVE_BG)
			place(valve, region, HPBVALVE_BG, false);
	} else if (!valve->front || group->session != valve->session) {
		place(valve, region, HPBVALVE_IFG, false);
	} else if (!group->prefetched || region->list != HPBVALVE_AFG) {
		/* What was only prefetched is less sure to be used (Sec. 5.2): it goes to the old end. */
		place(valve, region, HPBVALVE_AFG, group->prefetched);
	}
}

/* A fetch has ended; nobody looks whether well. */
void hpbvalve_fetched(struct ufshpb_lu *hpb, struct ufshpb_subregion *srgn)
{
	struct ufshpb_region *rgn = &hpb->rgn_tbl[srgn->rgn_idx];
	struct hpbvalve_group *group;
	unsigned long flags;

	if (!hpbvalve_on(hpb))
		return;
	group = group_of(hpb, srgn);
	spin_lock_irqsave(&hpb->rgn_state_lock, flags);
	recount(hpb->valve, rgn);
	place_fetched(hpb->valve, region_of(rgn), group);
	count_fetch(&hpb->valve->stats, group->urgency);
	group->urgency = HPBVALVE_COUNTED;
	spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
	kick(hpb);
}

/* Requests. */

/* Whose a request is: the front app's if a bio of it is; else that of the first bio. */
static u32 uid_of(struct request *rq, u32 front)
{
	struct bio *bio;

	if (front)
		__rq_for_each_bio(bio, rq)
			if (bio->bi_uid == front)
				return front;
	return rq->bio ? rq->bio->bi_uid : HPBVALVE_NOBODY;
}

static void use_group(struct ufshpb_lu *hpb, u32 number, u32 uid, bool write, bool missing)
{
	struct ufshpb_subregion *srgn = subregion(hpb, number);
	struct hpbvalve *valve = hpb->valve;
	bool front = is_front(valve, uid);

	reference(valve, &hpb->rgn_tbl[srgn->rgn_idx], uid, write);
	if (valve->policy != HPBVALVE_VALVE || !front)
		return;
	if (srgn->srgn_state == HPB_SRGN_ISSUED) {
		group_of(hpb, srgn)->session = valve->session;
		group_of(hpb, srgn)->prefetched = false;
	}
	if (write)
		return;
	hpbvalve_record(&valve->profiles, valve->phase, number);
	if (missing && lacks(hpb, srgn))
		want(hpb, srgn, HPBVALVE_MISSED);
}

static void count_read(struct hpbvalve *valve, u32 uid, bool hit)
{
	struct hpbvalve_stats *stats = &valve->stats;

	if (!is_front(valve, uid)) {
		stats->other_hits += hit;
		stats->other_misses += !hit;
		return;
	}
	stats->front_hits += hit;
	stats->front_misses += !hit;
	if (valve->phase == HPBVALVE_LAUNCHES) {
		stats->launch_hits += hit;
		stats->launch_misses += !hit;
	}
}

/* A command is about to be made of a request: ufshpb_prep(), and what the policy learns of it. */
void hpbvalve_prep(struct ufs_hba *hba, struct ufshcd_lrb *lrbp)
{
	struct scsi_cmnd *cmd = lrbp->cmd;
	struct request *rq = scsi_cmd_to_rq(cmd);
	struct ufshpb_lu *hpb = cmd->device->hostdata;
	bool read = req_op(rq) == REQ_OP_READ, hit, missing;
	u32 first, len, group, uid;
	unsigned long flags;

	ufshpb_prep(hba, lrbp);
	if (!hpb || !hpbvalve_on(hpb) || atomic_read(&hpb->hpb_state) != HPB_PRESENT || blk_rq_is_passthrough(rq))
		return;
	len = sectors_to_logical(cmd->device, blk_rq_sectors(rq));
	if (!len || !(read || op_is_write(req_op(rq)) || op_is_discard(req_op(rq))))
		return;
	first = sectors_to_logical(cmd->device, blk_rq_pos(rq));
	hit = cmd->cmnd[0] == UFSHPB_READ;
	missing = read && !hit && len <= hpb->pre_req_max_tr_len;
	spin_lock_irqsave(&hpb->rgn_state_lock, flags);
	uid = uid_of(rq, hpb->valve->front);
	if (hit || missing)
		count_read(hpb->valve, uid, hit);
	for (group = first >> hpb->entries_per_srgn_shift;
	     group <= (first + len - 1) >> hpb->entries_per_srgn_shift && group < hpb->srgns_per_lu; group++)
		use_group(hpb, group, uid, !read, missing);
	spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
	kick(hpb);
}

/* Signals. */

/* Fetches a list of the app that is launched; what is there already becomes its own (Sec. 5.2, Fig. 10). */
static void prefetch_list(struct ufshpb_lu *hpb, enum hpbvalve_phase phase, u8 urgency)
{
	struct hpbvalve *valve = hpb->valve;
	struct hpbvalve_runs *runs = hpbvalve_front_runs(&valve->profiles, phase);
	u32 i, group, end;

	for (i = 0; i < runs->count; i++) {
		group = hpbvalve_run_start(runs->run[i]);
		end = group + hpbvalve_run_length(runs->run[i]);
		for (; group < end; group++) {
			struct ufshpb_subregion *srgn = subregion(hpb, group);
			struct hpbvalve_region *region = &valve->region[srgn->rgn_idx];

			if (lacks(hpb, srgn))
				want(hpb, srgn, urgency);
			if (region->list != HPBVALVE_UNLISTED && region->list != HPBVALVE_AFG &&
			    srgn->srgn_state != HPB_SRGN_ISSUED)
				place(valve, region, HPBVALVE_AFG, true);
		}
	}
}

/* An app is being launched, or comes back to the front. */
int hpbvalve_launch(struct ufshpb_lu *hpb, u32 uid)
{
	struct hpbvalve_app *fresh = hpbvalve_app_alloc(uid);
	struct hpbvalve *valve = hpb->valve;
	unsigned long flags;

	if (!fresh)
		return -ENOMEM;
	spin_lock_irqsave(&hpb->rgn_state_lock, flags);
	if (valve->policy == HPBVALVE_VALVE) {
		if (valve->front != uid) {
			leave_front(valve);
			cancel_fetches(hpb);
		}
		if (hpbvalve_front_app(&valve->profiles, fresh))
			fresh = NULL;
		prefetch_list(hpb, HPBVALVE_LAUNCHES, HPBVALVE_LAUNCH);
		prefetch_list(hpb, HPBVALVE_RUNS, HPBVALVE_RUNNING);
	}
	valve->front = uid;
	valve->phase = HPBVALVE_LAUNCHES;
	spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
	if (fresh)
		hpbvalve_app_free(fresh);
	kick(hpb);
	return 0;
}

/* A launch has ended. */
void hpbvalve_launched(struct ufshpb_lu *hpb, u32 uid)
{
	unsigned long flags;

	spin_lock_irqsave(&hpb->rgn_state_lock, flags);
	if (hpb->valve->front == uid)
		hpb->valve->phase = HPBVALVE_RUNS;
	spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
}

/* An app has ended. */
void hpbvalve_ended(struct ufshpb_lu *hpb, u32 uid)
{
	struct hpbvalve *valve = hpb->valve;
	unsigned long flags;

	spin_lock_irqsave(&hpb->rgn_state_lock, flags);
	if (valve->front == uid && valve->policy == HPBVALVE_VALVE) {
		leave_front(valve);
		cancel_fetches(hpb);
	} else if (valve->front == uid) {
		valve->front = HPBVALVE_NOBODY;
		valve->phase = HPBVALVE_RUNS;
	}
	spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
}

/*
 * An app is about to be killed, which would free so many bytes: as many are given back instead if it was in front
 * lately (Sec. 5.3), of BG, then of IFG. What was freed.
 */
u64 hpbvalve_reclaim(struct ufshpb_lu *hpb, u32 uid, u64 bytes)
{
	struct hpbvalve *valve = hpb->valve;
	unsigned long flags;
	u64 freed = 0;
	bool known;

	spin_lock_irqsave(&hpb->rgn_state_lock, flags);
	known = valve->policy == HPBVALVE_VALVE && hpbvalve_knows(&valve->profiles, uid);
	spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
	if (!known)
		return 0;
	while (freed < bytes && evict(hpb, NULL, false, &freed))
		;
	spin_lock_irqsave(&hpb->rgn_state_lock, flags);
	valve->stats.hpbvalve_reclaimed_bytes += freed;
	valve->stats.hpbvalve_reclaims_short += freed < bytes;
	spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
	return freed;
}

/* Memory. */

/* From now on entries are of the memory cgroup of the task that says so. */
int hpbvalve_account(struct ufshpb_lu *hpb)
{
	struct mem_cgroup *own = get_mem_cgroup_from_mm(current->mm);

	if (!cmpxchg(&hpb->valve->account, NULL, own))
		return 0;
	mem_cgroup_put(own);
	return -EBUSY;
}

/* A page of entries comes. Nobody waits here: who takes memory beyond memory.high is an app. */
void hpbvalve_charge(struct ufshpb_lu *hpb, struct page *page)
{
	struct mem_cgroup *account = hpb->valve ? READ_ONCE(hpb->valve->account) : NULL, *before;

	if (!account)
		return;
	before = set_active_memcg(account);
	/* At a hard limit the page stays nobody's. */
	__memcg_kmem_charge_page(page, GFP_NOWAIT, 0);
	set_active_memcg(before);
}

/* And goes, perhaps into the pool of ufshpb. */
void hpbvalve_uncharge(struct page *page)
{
	__memcg_kmem_uncharge_page(page, 0);
}

/* Parameters. */

void hpbvalve_set_limit(struct ufshpb_lu *hpb, u64 bytes)
{
	unsigned long flags;
	u64 freed = 0;
	bool over;

	do {
		spin_lock_irqsave(&hpb->rgn_state_lock, flags);
		hpb->valve->limit = bytes;
		over = hpbvalve_on(hpb) && hpb->valve->held > bytes;
		spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
	} while (over && evict(hpb, NULL, true, &freed));
}

/* Another policy goes on with what is there. Only ufshpb as it is does without host control. */
int hpbvalve_set_policy(struct ufshpb_lu *hpb, enum hpbvalve_policy policy)
{
	struct hpbvalve *valve = hpb->valve;
	struct ufshpb_region *rgn;
	unsigned long flags;
	u32 i;

	if (policy != HPBVALVE_HPB && !hpb->is_hcm)
		return -EINVAL;
	spin_lock_irqsave(&hpb->rgn_state_lock, flags);
	cancel_fetches(hpb);
	leave_front(valve);
	valve->policy = policy;
	for (i = 0; i < hpb->rgns_per_lu; i++)
		unlist(&valve->region[i]);
	list_for_each_entry(rgn, &hpb->lru_info.lh_lru_rgn, list_lru_rgn) {
		recount(valve, rgn);
		if (policy != HPBVALVE_HPB)
			list_region(valve, rgn);
	}
	spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
	hpbvalve_set_limit(hpb, valve->limit);
	return 0;
}

/* Units. */

/* Without memory the unit does without policies. */
int hpbvalve_init(struct ufshpb_lu *hpb)
{
	struct hpbvalve *valve = kzalloc(sizeof(*valve), GFP_KERNEL);
	int i, err = -ENOMEM;

	if (!valve)
		return -ENOMEM;
	valve->limit = U64_MAX;
	valve->phase = HPBVALVE_RUNS;
	for (i = 0; i < HPBVALVE_LISTS; i++)
		INIT_LIST_HEAD(&valve->list[i]);
	valve->region = kvcalloc(hpb->rgns_per_lu, sizeof(*valve->region), GFP_KERNEL);
	valve->group = kvcalloc(hpb->rgns_per_lu * hpb->srgns_per_rgn, sizeof(*valve->group), GFP_KERNEL);
	if (valve->region && valve->group)
		err = hpbvalve_profiles_init(&valve->profiles, hpb->srgns_per_lu);
	else
		INIT_LIST_HEAD(&valve->profiles.apps);
	hpb->valve = valve;
	if (err) {
		hpbvalve_exit(hpb);
		return err;
	}
	for (i = 0; i < hpb->rgns_per_lu; i++) {
		INIT_LIST_HEAD(&valve->region[i].use);
		valve->region[i].list = HPBVALVE_UNLISTED;
	}
	return 0;
}

void hpbvalve_exit(struct ufshpb_lu *hpb)
{
	struct hpbvalve *valve = hpb->valve;

	hpb->valve = NULL;
	if (!valve)
		return;
	if (valve->account)
		mem_cgroup_put(valve->account);
	hpbvalve_profiles_exit(&valve->profiles);
	kvfree(valve->region);
	kvfree(valve->group);
	kfree(valve);
}
