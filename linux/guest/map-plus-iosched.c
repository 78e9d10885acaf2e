// SPDX-License-Identifier: GPL-2.0
/*
 * Schedulers that know a flash device's mapping cache: MAP+ and its parts, and read over write beside them ("An I/O
 * Scheduling Strategy for Embedded Flash Storage Devices With Mapping Cache", TCAD 2018; its sections are named below).
 *
 *   hp		requests whose mappings are cached go first (V-A)
 *   rb		requests that share a translation page go as a batch (V-B)
 *   bs		rb, of all batches the densest first (V-C)
 *   map	hp, then rb for what misses
 *   map-plus	hp, then bs
 *   row	reads over writes
 *
 * Requests wait in order of arrival until one of `queue` places is free; the scheduler chooses among those that have
 * one. In all of them reads go before writes, but not twice in succession while writes wait (VI-A). A request that has
 * had its place for `deadline_us` goes before its turn, and takes its batch with it (V-D.4).
 *
 * Two vendor commands (V-D) are passed to the driver in the order of dispatch: the query for what the cache holds, and
 * the notice of a batch, so that the device reads its translation pages once.
 */
#include <linux/bitops.h>
#include <linux/blkdev.h>
#include <linux/blk-mq.h>
#include <linux/hashtable.h>
#include <linux/init.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sbitmap.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/spinlock.h>
#include <scsi/scsi_cmnd.h>
#include <scsi/scsi_device.h>
#include <asm/unaligned.h>

#include "elevator.h"
#include "blk.h"
#include "blk-mq.h"
#include "blk-mq-sched.h"
#include "blk-mq-tag.h"

/* A unit of the mapping has 4 KiB. */
#define UNIT_SECTORS	8
/* Most places, and runs in a notice. */
#define MOST_PLACES	1024
/* Most entries of a cache that is simulated. */
#define MOST_ENTRIES	BIT(20)
#define PAGE_BITS	8

/* Vendor commands; crates/ufs/src/codec/mapplus.rs has their bytes. */
#define CACHE_QUERY	0xc4
#define BATCH_NOTICE	0xc5
#define COMMAND_BYTES	16
#define QUERY_BYTES	131072
#define COMMAND_TIMEOUT	(30 * HZ)

enum { READS, WRITES, DIRECTIONS };
/* How the host knows what the cache holds (V-D.1): it simulates one, or asks. */
enum knowledge { LRU, FIFO, POLL };
static const char *const knowledge_names[] = { "lru", "fifo", "poll" };

struct flavour {
	struct elevator_type type;
	bool hits, batches, densest;
};

/* A run of units on the wire, big-endian. */
struct wire_run {
	__be32 lpa;
	__be32 len;
};

struct run {
	u32 lpa;
	u32 end;
};

/* Requests of a direction that share their first translation page. */
struct batch {
	struct hlist_node of_page;
	struct list_head node;		/* of those that wait, in the order of their opening; or free */
	struct list_head places;
	u32 page;
	unsigned int requests;
	u64 units;
};

/* A request that the scheduler may choose. */
struct place {
	struct list_head by_age;	/* or free */
	struct list_head node;		/* in a queue, or in its batch */
	struct request *rq;
	struct batch *batch;
	u64 since;
	u32 units;
};

/* An entry of the cache that is simulated. */
struct entry {
	struct hlist_node of_lpa;
	struct list_head by_use;
	u32 lpa;
};

struct cache {
	struct entry *entries;
	struct hlist_head *buckets;
	unsigned int bits, size, used;
	struct list_head by_use;	/* the next to go first */
};

struct counters {
	u64 prioritised, batches, due, notices, notices_lost, queries;
};

struct map_plus {
	spinlock_t lock;			/* of all below */
	const struct flavour *flavour;
	struct request_queue *q;

	unsigned int queue, deadline_us, map_page_entries, poll_requests;
	unsigned int due_batch, batch_notice;
	enum knowledge knowledge;

	struct list_head urgent, waiting;
	struct list_head by_age, free_places, free_batches;
	struct list_head queues[2][DIRECTIONS];		/* misses, hits */
	struct list_head batches[DIRECTIONS];
	DECLARE_HASHTABLE(pages[DIRECTIONS], PAGE_BITS);
	unsigned int visible;
	struct batch *sending;
	struct batch *announced;			/* begun, and its notice not sent */
	bool preferred[2];				/* the last read went before a waiting write */
	bool collect, collecting;
	u64 collected;

	struct cache cache;
	/* The last answer to a query; the buffer of the next one. */
	struct run *runs;
	unsigned int nruns, asked_after;
	struct wire_run *answer;
	bool asking, answered;

	struct counters count;
	struct place *places;
	struct batch *all_batches;
};

/* ---- What the cache holds ---- */

static void cache_free(struct cache *cache)
{
	kvfree(cache->entries);
	kvfree(cache->buckets);
}

/* Also after an error the cache is to be freed. */
static int cache_init(struct cache *cache, unsigned int size)
{
	cache->size = size;
	cache->used = 0;
	cache->bits = max(1, fls(size));
	INIT_LIST_HEAD(&cache->by_use);
	cache->entries = kvcalloc(size, sizeof(*cache->entries), GFP_KERNEL);
	cache->buckets = kvcalloc(1UL << cache->bits, sizeof(*cache->buckets), GFP_KERNEL);
	return cache->entries && cache->buckets ? 0 : -ENOMEM;
}

static struct entry *cache_find(struct cache *cache, u32 lpa)
{
	struct entry *entry;

	hlist_for_each_entry(entry, &cache->buckets[hash_32(lpa, cache->bits)], of_lpa)
		if (entry->lpa == lpa)
			return entry;
	return NULL;
}

static void cache_use(struct cache *cache, u32 lpa, bool refreshes)
{
	struct entry *entry = cache_find(cache, lpa);

	if (entry) {
		if (refreshes)
			list_move_tail(&entry->by_use, &cache->by_use);
		return;
	}
	if (cache->used < cache->size) {
		entry = &cache->entries[cache->used++];
	} else {
		entry = list_first_entry(&cache->by_use, struct entry, by_use);
		list_del(&entry->by_use);
		hlist_del(&entry->of_lpa);
	}
	entry->lpa = lpa;
	list_add_tail(&entry->by_use, &cache->by_use);
	hlist_add_head(&entry->of_lpa, &cache->buckets[hash_32(lpa, cache->bits)]);
}

static int run_order(const void *a, const void *b)
{
	const struct run *one = a, *other = b;

	return one->lpa < other->lpa ? -1 : one->lpa > other->lpa;
}

/* Sorts runs, and joins those that touch. */
static unsigned int runs_joined(struct run *runs, unsigned int count)
{
	unsigned int i, kept = 0;

	sort(runs, count, sizeof(*runs), run_order, NULL);
	for (i = 0; i < count; i++) {
		if (kept && runs[i].lpa <= runs[kept - 1].end)
			runs[kept - 1].end = max(runs[kept - 1].end, runs[i].end);
		else
			runs[kept++] = runs[i];
	}
	return kept;
}

static bool in_runs(const struct map_plus *mp, u32 lpa, u32 end)
{
	unsigned int from = 0, to = mp->nruns;

	while (from < to) {
		unsigned int mid = (from + to) / 2;

		if (mp->runs[mid].lpa <= lpa)
			from = mid + 1;
		else
			to = mid;
	}
	return from && end <= mp->runs[from - 1].end;
}

static u32 first_lpa(const struct request *rq)
{
	return blk_rq_pos(rq) / UNIT_SECTORS;
}

static u32 units_of(const struct request *rq)
{
	return DIV_ROUND_UP(blk_rq_pos(rq) % UNIT_SECTORS + blk_rq_sectors(rq), UNIT_SECTORS);
}

static bool is_hit(struct map_plus *mp, const struct request *rq)
{
	u32 lpa = first_lpa(rq), end = lpa + units_of(rq);

	if (mp->knowledge == POLL)
		return in_runs(mp, lpa, end);
	for (; lpa < end; lpa++)
		if (!cache_find(&mp->cache, lpa))
			return false;
	return true;
}

static void accessed(struct map_plus *mp, const struct request *rq)
{
	u32 lpa = first_lpa(rq), end = lpa + units_of(rq);

	if (!mp->flavour->hits || mp->knowledge == POLL)
		return;
	for (; lpa < end; lpa++)
		cache_use(&mp->cache, lpa, mp->knowledge == LRU);
}

/* ---- Commands to the device ---- */

/* A command to the device that goes with the next dispatch; NULL if there is no tag or no memory for it now. */
static struct request *vendor_command(struct map_plus *mp, blk_opf_t op, const u8 *cdb, void *data, unsigned int bytes)
{
	struct request *rq = scsi_alloc_request(mp->q, op, BLK_MQ_REQ_NOWAIT);
	struct scsi_cmnd *command;

	if (IS_ERR(rq))
		return NULL;
	if (blk_rq_map_kern(mp->q, rq, data, bytes, GFP_ATOMIC)) {
		blk_mq_free_request(rq);
		return NULL;
	}
	command = blk_mq_rq_to_pdu(rq);
	command->cmd_len = COMMAND_BYTES;
	memcpy(command->cmnd, cdb, COMMAND_BYTES);
	rq->timeout = COMMAND_TIMEOUT;
	rq->rq_flags |= RQF_QUIET;
	return rq;
}

static enum rq_end_io_ret notice_done(struct request *rq, blk_status_t status)
{
	kfree(rq->end_io_data);
	return RQ_END_IO_FREE;
}

/* A request's units in its first translation page and in the next one: the device reads others when it gets there. */
static struct run announced_run(const struct map_plus *mp, const struct request *rq)
{
	u32 lpa = first_lpa(rq), left = mp->map_page_entries - lpa % mp->map_page_entries;

	return (struct run){ lpa, lpa + min(units_of(rq), left + mp->map_page_entries) };
}

/* The notice of a batch. Nothing is said of one that has a single unit: that brings its entry by itself. */
static struct request *notice(struct map_plus *mp, struct batch *batch)
{
	struct place *place;
	struct request *rq, *first = list_first_entry(&batch->places, struct place, node)->rq;
	u8 cdb[COMMAND_BYTES] = { BATCH_NOTICE, op_is_write(req_op(first)) };
	unsigned int i, units = 0, count = 0;
	struct wire_run *wire;
	struct run *runs;

	runs = kmalloc_array(batch->requests, sizeof(*runs), GFP_ATOMIC);
	if (!runs)
		goto lost;
	list_for_each_entry(place, &batch->places, node)
		runs[count++] = announced_run(mp, place->rq);
	count = runs_joined(runs, count);
	/* A run on the wire has its length where one here has its end. */
	wire = (struct wire_run *)runs;
	for (i = 0; i < count; i++) {
		struct run run = runs[i];

		wire[i] = (struct wire_run){ cpu_to_be32(run.lpa), cpu_to_be32(run.end - run.lpa) };
		units += run.end - run.lpa;
	}
	if (units < 2) {
		kfree(runs);
		return NULL;
	}
	put_unaligned_be32(batch->requests, &cdb[2]);
	put_unaligned_be24(count * sizeof(*wire), &cdb[6]);
	rq = vendor_command(mp, REQ_OP_DRV_OUT, cdb, wire, count * sizeof(*wire));
	if (rq) {
		rq->end_io = notice_done;
		rq->end_io_data = wire;
		mp->count.notices++;
		return rq;
	}
	kfree(runs);
lost:
	mp->count.notices_lost++;
	return NULL;
}

static enum rq_end_io_ret query_done(struct request *rq, blk_status_t status)
{
	struct map_plus *mp = rq->end_io_data;

	/* What was known stays if the device does not answer. */
	WRITE_ONCE(mp->answered, !status);
	/* After the answer, which take_answer() reads. */
	smp_store_release(&mp->asking, false);
	return RQ_END_IO_FREE;
}

static void take_answer(struct map_plus *mp)
{
	unsigned int i, most = QUERY_BYTES / sizeof(*mp->answer);

	/* Before the answer, which query_done() has announced. */
	if (smp_load_acquire(&mp->asking) || !mp->answered)
		return;
	mp->answered = false;
	for (i = 0; i < most && mp->answer[i].len; i++) {
		u32 lpa = be32_to_cpu(mp->answer[i].lpa);

		mp->runs[i] = (struct run){ lpa, lpa + be32_to_cpu(mp->answer[i].len) };
	}
	mp->nruns = runs_joined(mp->runs, i);
}

static struct request *query(struct map_plus *mp)
{
	u8 cdb[COMMAND_BYTES] = { CACHE_QUERY };
	struct request *rq;

	if (!mp->flavour->hits || mp->knowledge != POLL || mp->asking || mp->asked_after < mp->poll_requests)
		return NULL;
	take_answer(mp);
	memset(mp->answer, 0, QUERY_BYTES);
	put_unaligned_be24(QUERY_BYTES, &cdb[6]);
	rq = vendor_command(mp, REQ_OP_DRV_IN, cdb, mp->answer, QUERY_BYTES);
	if (!rq)
		return NULL;
	rq->end_io = query_done;
	rq->end_io_data = mp;
	mp->asking = true;
	mp->asked_after = 0;
	mp->count.queries++;
	return rq;
}

/* ---- Batches ---- */

static int direction_of(const struct request *rq)
{
	return op_is_write(req_op(rq)) ? WRITES : READS;
}

static void batch_join(struct map_plus *mp, struct place *place)
{
	int direction = direction_of(place->rq);
	u32 page = first_lpa(place->rq) / mp->map_page_entries;
	struct batch *batch;

	hash_for_each_possible(mp->pages[direction], batch, of_page, page)
		if (batch->page == page)
			goto found;
	batch = list_first_entry(&mp->free_batches, struct batch, node);
	*batch = (struct batch){ .page = page, .node = batch->node };
	INIT_LIST_HEAD(&batch->places);
	list_move_tail(&batch->node, &mp->batches[direction]);
	hash_add(mp->pages[direction], &batch->of_page, page);
found:
	place->batch = batch;
	list_add_tail(&place->node, &batch->places);
	batch->requests++;
	batch->units += place->units;
}

/* It is no longer one of those that wait. */
static void batch_withdraw(struct batch *batch)
{
	hash_del(&batch->of_page);
	list_del_init(&batch->node);
}

static void batch_leave(struct map_plus *mp, struct place *place)
{
	struct batch *batch = place->batch;

	place->batch = NULL;
	batch->requests--;
	batch->units -= place->units;
	if (batch->requests)
		return;
	if (batch == mp->sending)
		mp->sending = NULL;
	else
		batch_withdraw(batch);
	list_add(&batch->node, &mp->free_batches);
}

/* The next batch of a direction: the oldest, or the one with the most requests for each unit, Eq. (9). */
static struct batch *batch_next(struct map_plus *mp, int direction)
{
	struct batch *batch, *best = list_first_entry(&mp->batches[direction], struct batch, node);

	if (mp->flavour->densest)
		list_for_each_entry(batch, &mp->batches[direction], node)
			if (batch->requests * best->units > best->requests * batch->units)
				best = batch;
	return best;
}

static struct place *batch_begin(struct map_plus *mp, struct batch *batch)
{
	batch_withdraw(batch);
	mp->sending = batch;
	mp->announced = mp->batch_notice ? batch : NULL;
	mp->count.batches++;
	mp->count.prioritised += batch->requests - 1;
	return list_first_entry(&batch->places, struct place, node);
}

/* ---- Which request is next ---- */

/* Reads before writes, but not twice in succession while writes wait. DIRECTIONS if there are neither. */
static int turn(bool *preferred, const struct list_head *of)
{
	bool reads = !list_empty(&of[READS]), writes = !list_empty(&of[WRITES]);
	bool read = reads && !(writes && *preferred);

	*preferred = read && writes;
	return read ? READS : writes ? WRITES : DIRECTIONS;
}

static void admit(struct map_plus *mp)
{
	u64 now = ktime_get_ns();

	if (mp->knowledge == POLL)
		take_answer(mp);
	while (mp->visible < mp->queue && !list_empty(&mp->waiting)) {
		struct request *rq = list_first_entry(&mp->waiting, struct request, queuelist);
		struct place *place = list_first_entry(&mp->free_places, struct place, by_age);
		bool hit = mp->flavour->hits && is_hit(mp, rq);

		list_del_init(&rq->queuelist);
		list_move_tail(&place->by_age, &mp->by_age);
		place->rq = rq;
		place->batch = NULL;
		place->since = now;
		place->units = units_of(rq);
		rq->elv.priv[0] = place;
		mp->visible++;
		if (hit || !mp->flavour->batches)
			list_add_tail(&place->node, &mp->queues[hit][direction_of(rq)]);
		else
			batch_join(mp, place);
	}
}

static struct request *vacate(struct map_plus *mp, struct place *place)
{
	struct request *rq = place->rq;

	list_del(&place->node);
	if (place->batch)
		batch_leave(mp, place);
	list_move(&place->by_age, &mp->free_places);
	rq->elv.priv[0] = NULL;
	mp->visible--;
	return rq;
}

/* After each request or batch, those are collected that have had their place for as long as the deadline. */
static struct place *due(struct map_plus *mp)
{
	struct place *oldest;

	if (mp->collect) {
		mp->collect = false;
		mp->collecting = true;
		mp->collected = ktime_get_ns();
	}
	if (!mp->collecting)
		return NULL;
	oldest = list_first_entry_or_null(&mp->by_age, struct place, by_age);
	if (!oldest || mp->collected < oldest->since + mp->deadline_us * (u64)NSEC_PER_USEC) {
		mp->collecting = false;
		return NULL;
	}
	mp->count.due++;
	return oldest->batch && mp->due_batch ? batch_begin(mp, oldest->batch) : oldest;
}

static struct place *choose(struct map_plus *mp)
{
	struct place *place = due(mp);
	int direction;

	if (place)
		return place;
	mp->collect = true;
	direction = turn(&mp->preferred[1], mp->queues[1]);
	if (direction != DIRECTIONS) {
		mp->count.prioritised++;
		return list_first_entry(&mp->queues[1][direction], struct place, node);
	}
	if (mp->flavour->batches) {
		direction = turn(&mp->preferred[0], mp->batches);
		return direction == DIRECTIONS ? NULL : batch_begin(mp, batch_next(mp, direction));
	}
	direction = turn(&mp->preferred[0], mp->queues[0]);
	return direction == DIRECTIONS ? NULL : list_first_entry(&mp->queues[0][direction], struct place, node);
}

static struct request *next_request(struct map_plus *mp)
{
	struct request *rq = query(mp);
	struct place *place;

	if (rq)
		return rq;
	if (!list_empty(&mp->urgent)) {
		rq = list_first_entry(&mp->urgent, struct request, queuelist);
		list_del_init(&rq->queuelist);
		return rq;
	}
	admit(mp);
	if (mp->sending)
		place = list_first_entry(&mp->sending->places, struct place, node);
	else
		place = choose(mp);
	if (!place)
		return NULL;
	if (mp->announced) {
		struct batch *batch = mp->announced;

		mp->announced = NULL;
		rq = notice(mp, batch);
		if (rq)
			return rq;
	}
	rq = vacate(mp, place);
	elv_rqhash_del(mp->q, rq);
	if (mp->q->last_merge == rq)
		mp->q->last_merge = NULL;
	accessed(mp, rq);
	return rq;
}

/* ---- The seat in the block layer ---- */

static struct map_plus *of_hctx(struct blk_mq_hw_ctx *hctx)
{
	return hctx->queue->elevator->elevator_data;
}

static struct request *dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct map_plus *mp = of_hctx(hctx);
	struct request *rq;

	spin_lock(&mp->lock);
	rq = next_request(mp);
	spin_unlock(&mp->lock);
	if (rq)
		rq->rq_flags |= RQF_STARTED;
	return rq;
}

static void insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list, bool at_head)
{
	struct map_plus *mp = of_hctx(hctx);
	LIST_HEAD(merged);

	spin_lock(&mp->lock);
	while (!list_empty(list)) {
		struct request *rq = list_first_entry(list, struct request, queuelist);

		list_del_init(&rq->queuelist);
		rq->elv.priv[0] = NULL;
		if (!at_head && blk_mq_sched_try_insert_merge(mp->q, rq, &merged))
			continue;
		if (at_head || blk_rq_is_passthrough(rq)) {
			list_add_tail(&rq->queuelist, &mp->urgent);
			continue;
		}
		mp->asked_after++;
		list_add_tail(&rq->queuelist, &mp->waiting);
		if (rq_mergeable(rq)) {
			elv_rqhash_add(mp->q, rq);
			if (!mp->q->last_merge)
				mp->q->last_merge = rq;
		}
	}
	admit(mp);
	spin_unlock(&mp->lock);
	blk_mq_free_requests(&merged);
}

static bool bio_merge(struct request_queue *q, struct bio *bio, unsigned int segments)
{
	struct map_plus *mp = q->elevator->elevator_data;
	struct request *merged = NULL;
	bool done;

	spin_lock(&mp->lock);
	done = blk_mq_sched_try_merge(q, bio, segments, &merged);
	spin_unlock(&mp->lock);
	if (merged)
		blk_mq_free_request(merged);
	return done;
}

/* A request has grown at its end: there are no merges at the front, which would need a request's former address. */
static void request_merged(struct request_queue *q, struct request *rq, enum elv_merge type)
{
	struct place *place = rq->elv.priv[0];

	if (!place)
		return;
	if (place->batch)
		place->batch->units += units_of(rq) - place->units;
	place->units = units_of(rq);
}

/* The next one has become a part of a request, and its memory goes. It may have been here for long. */
static void requests_merged(struct request_queue *q, struct request *rq, struct request *next)
{
	struct map_plus *mp = q->elevator->elevator_data;

	if (next->elv.priv[0])
		vacate(mp, next->elv.priv[0]);
	else
		list_del_init(&next->queuelist);
	elv_rqhash_del(q, next);
	if (q->last_merge == next)
		q->last_merge = NULL;
	request_merged(q, rq, ELEVATOR_BACK_MERGE);
}

static bool has_work(struct blk_mq_hw_ctx *hctx)
{
	struct map_plus *mp = of_hctx(hctx);

	return READ_ONCE(mp->visible) || !list_empty_careful(&mp->waiting) || !list_empty_careful(&mp->urgent);
}

/* Tags that requests may take of each word of the map: one of each is left for the commands above. */
static unsigned int word_depth(struct blk_mq_hw_ctx *hctx)
{
	unsigned int all = 1U << hctx->sched_tags->bitmap_tags.sb.shift;

	return max(all - 1, 1U);
}

static void limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	data->shallow_depth = word_depth(data->hctx);
}

static void depth_updated(struct blk_mq_hw_ctx *hctx)
{
	sbitmap_queue_min_shallow_depth(&hctx->sched_tags->bitmap_tags, word_depth(hctx));
}

static int init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)
{
	depth_updated(hctx);
	return 0;
}

static void release(struct map_plus *mp)
{
	cache_free(&mp->cache);
	kfree(mp->answer);
	kvfree(mp->runs);
	kvfree(mp->places);
	kvfree(mp->all_batches);
	kfree(mp);
}

static struct map_plus *obtain(void)
{
	struct map_plus *mp = kzalloc(sizeof(*mp), GFP_KERNEL);

	if (!mp)
		return NULL;
	mp->places = kvcalloc(MOST_PLACES, sizeof(*mp->places), GFP_KERNEL);
	mp->all_batches = kvcalloc(MOST_PLACES, sizeof(*mp->all_batches), GFP_KERNEL);
	mp->answer = kmalloc(QUERY_BYTES, GFP_KERNEL);
	mp->runs = kvcalloc(QUERY_BYTES / sizeof(*mp->answer), sizeof(*mp->runs), GFP_KERNEL);
	if (mp->places && mp->all_batches && mp->answer && mp->runs && !cache_init(&mp->cache, 2048))
		return mp;
	release(mp);
	return NULL;
}

static void lists_init(struct map_plus *mp)
{
	int direction, i;

	INIT_LIST_HEAD(&mp->urgent);
	INIT_LIST_HEAD(&mp->waiting);
	INIT_LIST_HEAD(&mp->by_age);
	INIT_LIST_HEAD(&mp->free_places);
	INIT_LIST_HEAD(&mp->free_batches);
	for (direction = 0; direction < DIRECTIONS; direction++) {
		INIT_LIST_HEAD(&mp->queues[0][direction]);
		INIT_LIST_HEAD(&mp->queues[1][direction]);
		INIT_LIST_HEAD(&mp->batches[direction]);
		hash_init(mp->pages[direction]);
	}
	for (i = 0; i < MOST_PLACES; i++) {
		list_add_tail(&mp->places[i].by_age, &mp->free_places);
		list_add_tail(&mp->all_batches[i].node, &mp->free_batches);
	}
}

static int init_sched(struct request_queue *q, struct elevator_type *type)
{
	struct elevator_queue *queue = elevator_alloc(q, type);
	struct map_plus *mp;

	if (!queue)
		return -ENOMEM;
	mp = obtain();
	if (!mp) {
		kobject_put(&queue->kobj);
		return -ENOMEM;
	}
	spin_lock_init(&mp->lock);
	lists_init(mp);
	mp->flavour = container_of(type, struct flavour, type);
	mp->q = q;
	mp->queue = 128;		/* VI-A */
	mp->deadline_us = 10000;	/* V-A */
	mp->poll_requests = 1000;	/* V-D */
	mp->map_page_entries = 512;
	mp->due_batch = 1;
	mp->batch_notice = mp->flavour->batches;
	mp->collect = true;
	queue->elevator_data = mp;
	q->elevator = queue;
	return 0;
}

static void exit_sched(struct elevator_queue *queue)
{
	struct map_plus *mp = queue->elevator_data;

	WARN_ON_ONCE(mp->visible || mp->asking);
	release(mp);
}

/* ---- /sys/block/DISK/queue/iosched ---- */

static ssize_t number_store(unsigned int *value, const char *text, size_t size, unsigned int from, unsigned int to)
{
	unsigned int given;
	int err = kstrtouint(text, 10, &given);

	if (err)
		return err;
	if (given < from || given > to)
		return -EINVAL;
	WRITE_ONCE(*value, given);
	return size;
}

#define NUMBER(name, from, to)									\
static ssize_t name##_show(struct elevator_queue *e, char *text)				\
{												\
	return sysfs_emit(text, "%u\n", ((struct map_plus *)e->elevator_data)->name);		\
}												\
static ssize_t name##_store(struct elevator_queue *e, const char *text, size_t size)		\
{												\
	return number_store(&((struct map_plus *)e->elevator_data)->name, text, size, from, to);	\
}

NUMBER(queue, 1, MOST_PLACES)
NUMBER(deadline_us, 0, 10000000)
NUMBER(poll_requests, 1, 1000000)
NUMBER(due_batch, 0, 1)
NUMBER(batch_notice, 0, 1)

#define COUNTER(name)										\
static ssize_t name##_show(struct elevator_queue *e, char *text)				\
{												\
	return sysfs_emit(text, "%llu\n", ((struct map_plus *)e->elevator_data)->count.name);	\
}

COUNTER(prioritised)
COUNTER(batches)
COUNTER(due)
COUNTER(notices)
COUNTER(notices_lost)
COUNTER(queries)

static ssize_t map_page_entries_show(struct elevator_queue *e, char *text)
{
	return sysfs_emit(text, "%u\n", ((struct map_plus *)e->elevator_data)->map_page_entries);
}

/* Batches that wait know their page by its number, so there must be none. */
static ssize_t map_page_entries_store(struct elevator_queue *e, const char *text, size_t size)
{
	struct map_plus *mp = e->elevator_data;
	ssize_t done;

	spin_lock(&mp->lock);
	done = mp->visible ? -EBUSY : number_store(&mp->map_page_entries, text, size, 1, 1 << 20);
	spin_unlock(&mp->lock);
	return done;
}

static ssize_t cache_entries_show(struct elevator_queue *e, char *text)
{
	return sysfs_emit(text, "%u\n", ((struct map_plus *)e->elevator_data)->cache.size);
}

/* The new cache is empty. */
static ssize_t cache_entries_store(struct elevator_queue *e, const char *text, size_t size)
{
	struct map_plus *mp = e->elevator_data;
	struct cache cache;
	unsigned int entries;
	ssize_t done = number_store(&entries, text, size, 1, MOST_ENTRIES);

	if (done < 0)
		return done;
	if (cache_init(&cache, entries)) {
		cache_free(&cache);
		return -ENOMEM;
	}
	spin_lock(&mp->lock);
	swap(mp->cache, cache);
	INIT_LIST_HEAD(&mp->cache.by_use);
	spin_unlock(&mp->lock);
	cache_free(&cache);
	return size;
}

static ssize_t cache_knowledge_show(struct elevator_queue *e, char *text)
{
	return sysfs_emit(text, "%s\n", knowledge_names[((struct map_plus *)e->elevator_data)->knowledge]);
}

static ssize_t cache_knowledge_store(struct elevator_queue *e, const char *text, size_t size)
{
	int found = sysfs_match_string(knowledge_names, text);

	if (found < 0)
		return found;
	((struct map_plus *)e->elevator_data)->knowledge = found;
	return size;
}

#define READ_WRITE(name) __ATTR(name, 0644, name##_show, name##_store)
#define READ_ONLY(name) __ATTR(name, 0444, name##_show, NULL)

static struct elv_fs_entry row_attributes[] = {
	READ_WRITE(queue), READ_WRITE(deadline_us), READ_ONLY(due), __ATTR_NULL,
};

static struct elv_fs_entry hp_attributes[] = {
	READ_WRITE(queue), READ_WRITE(deadline_us), READ_WRITE(cache_knowledge), READ_WRITE(cache_entries),
	READ_WRITE(poll_requests), READ_ONLY(prioritised), READ_ONLY(due), READ_ONLY(queries), __ATTR_NULL,
};

static struct elv_fs_entry rb_attributes[] = {
	READ_WRITE(queue), READ_WRITE(deadline_us), READ_WRITE(map_page_entries), READ_WRITE(due_batch),
	READ_WRITE(batch_notice), READ_ONLY(prioritised), READ_ONLY(batches), READ_ONLY(due), READ_ONLY(notices),
	READ_ONLY(notices_lost), __ATTR_NULL,
};

static struct elv_fs_entry map_attributes[] = {
	READ_WRITE(queue), READ_WRITE(deadline_us), READ_WRITE(cache_knowledge), READ_WRITE(cache_entries),
	READ_WRITE(poll_requests), READ_WRITE(map_page_entries), READ_WRITE(due_batch), READ_WRITE(batch_notice),
	READ_ONLY(prioritised), READ_ONLY(batches), READ_ONLY(due), READ_ONLY(queries), READ_ONLY(notices),
	READ_ONLY(notices_lost), __ATTR_NULL,
};

#define FLAVOUR(called, attributes, with_hits, with_batches, by_density) {			\
	.type = {										\
		.ops = {									\
			.init_sched = init_sched,						\
			.exit_sched = exit_sched,						\
			.init_hctx = init_hctx,							\
			.depth_updated = depth_updated,						\
			.limit_depth = limit_depth,						\
			.insert_requests = insert_requests,					\
			.dispatch_request = dispatch_request,					\
			.has_work = has_work,							\
			.bio_merge = bio_merge,							\
			.request_merged = request_merged,					\
			.requests_merged = requests_merged,					\
		},										\
		.elevator_attrs = attributes,							\
		.elevator_name = called,							\
		.elevator_owner = THIS_MODULE,							\
	},											\
	.hits = with_hits, .batches = with_batches, .densest = by_density,			\
}

static struct flavour flavours[] = {
	FLAVOUR("row", row_attributes, false, false, false),
	FLAVOUR("hp", hp_attributes, true, false, false),
	FLAVOUR("rb", rb_attributes, false, true, false),
	FLAVOUR("bs", rb_attributes, false, true, true),
	FLAVOUR("map", map_attributes, true, true, false),
	FLAVOUR("map-plus", map_attributes, true, true, true),
};

static int __init map_plus_init(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(flavours) && !err; i++)
		err = elv_register(&flavours[i].type);
	return err;
}
subsys_initcall(map_plus_init);
