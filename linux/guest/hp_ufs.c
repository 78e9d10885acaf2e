// SPDX-License-Identifier: GPL-2.0
/*
 * HP-UFS (MSST 2024): the host keeps the mapping of a UFS device. This file sends and receives; what is known stands in
 * hp_ufs_map.c, what is said in hp_ufs_wire.h.
 *
 * - Every command gets the host number at the moment at which it is sent, under the lock that orders doorbells, and a
 *   read its place with it. So commands are sent in the order of their numbers, and a place is never older than the
 *   number beside it (4.2, 4.4). A read whose blocks do not lie together is sent in part. The middle layer asks for the
 *   rest again.
 * - A read whose segment is missing is parked: it keeps its slot, and its doorbell is rung when the segment is there.
 * - The driver's own commands have tags of their own (4.9): reserved ones, given by hp_ufs.tags. Without these the
 *   driver is off.
 */
#include <linux/blk-mq.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <scsi/scsi.h>
#include <scsi/scsi_eh.h>
#include <scsi/scsi_host.h>
#include <scsi/scsi_proto.h>
#include <asm/unaligned.h>

#include "ufshcd-priv.h"
#include "hp_ufs.h"

/* A change is told after so many that no command has told (4.9). */
#define TELL_AFTER	256
/* A poll while commands are outstanding, and the first in idle time (4.9). */
#define POLL_NS		(200 * NSEC_PER_USEC)
#define IDLE_POLL_NS	NSEC_PER_MSEC
/* Idle time begins as if so many polls had brought nothing; after more than the other it goes on without. */
#define FIRST_IDLE_POLL	7
#define MOST_FRUITLESS	12
/* Segments of UNMAPs that are fetched ahead; the changes fetch the others. */
#define MOST_AHEAD	2
/* A number that is missing for so long is asked for again; after so many times it never comes (5). */
#define GAP_NS		(500 * NSEC_PER_MSEC)
#define MOST_GAPS	3
#define OWN_TIMEOUT	(30 * HZ)
#define OWN_RETRIES	5

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "hp_ufs."

static unsigned int tags;
module_param(tags, uint, 0444);
MODULE_PARM_DESC(tags, "Tags for the driver's own commands; 0: the driver is off.");
static unsigned int cache_kib;
module_param(cache_kib, uint, 0444);
MODULE_PARM_DESC(cache_kib, "Most KiB of cached segments, at least 8; 0: all of them.");
static unsigned int reorder_entries = 2048;
module_param(reorder_entries, uint, 0444);
MODULE_PARM_DESC(reorder_entries, "Entries of the reorder buffer, 64 to 1048576.");
static unsigned int unused_ms;
module_param(unused_ms, uint, 0444);
MODULE_PARM_DESC(unused_ms, "Segments unused for about this time are given up; 0: they stay.");
static bool shrinks = true;
module_param(shrinks, bool, 0444);
MODULE_PARM_DESC(shrinks, "Segments are given up when memory is short.");

/* The units with HP-UFS; changed only while units come and go. */
static LIST_HEAD(all);

static enum rq_end_io_ret ended(struct request *rq, blk_status_t status);

unsigned int hp_ufs_reserved_tags(void)
{
	return min_t(unsigned int, tags, HP_UFS_TAGS / 2);
}

/* The driver's own command behind a request; NULL for others. */
static struct hp_ufs_command *own_of(struct scsi_cmnd *cmd)
{
	struct request *rq = scsi_cmd_to_rq(cmd);

	if (rq->end_io != ended)
		return NULL;
	/* While errors are handled, the request may carry another command. */
	return cmd->cmnd[0] == ((struct hp_ufs_command *)rq->end_io_data)->code ? rq->end_io_data : NULL;
}

/* sdev->hostdata is HPB's. */
static struct hp_ufs *of_device(struct scsi_device *sdev)
{
	struct hp_ufs *hp;

	list_for_each_entry_rcu(hp, &all, list, true)
		if (hp->sdev == sdev)
			return hp;
	return NULL;
}

static struct hp_ufs *of_command(struct scsi_cmnd *cmd)
{
	struct hp_ufs_command *own = own_of(cmd);

	return own ? own->hp : of_device(cmd->device);
}

/* What a device must not say is told once. There is no way back to plain UFS: segments are written, writes end (5.2). */
void hp_ufs_distrust(struct hp_ufs *hp, const char *format, ...)
{
	struct va_format text;
	va_list args;

	hp->stats.faults++;
	if (hp->distrusted)
		return;
	hp->distrusted = true;
	va_start(args, format);
	text.fmt = format;
	text.va = &args;
	sdev_printk(KERN_ERR, hp->sdev, "hp_ufs: the device breaks the protocol: %pV; no more writes are taken\n",
		    &text);
	va_end(args);
	hp_ufs_hint_all(hp);
}

void hp_ufs_kick(struct hp_ufs *hp)
{
	if (!hp->stopped)
		queue_work(hp->queue, &hp->work);
}

/* Own commands. */

static void fill(struct hp_ufs *hp, struct hp_ufs_command *c, u8 code, u8 flags, u32 argument)
{
	c->code = code;
	c->flags = flags;
	c->argument = argument;
	c->number = hp->host_number;
	c->epoch = hp->epoch;
}

static void fill_write(struct hp_ufs *hp, struct hp_ufs_command *c, u32 segment, bool leave)
{
	u8 flags = hp_ufs_start_write(hp, segment, leave, c->data, &c->bytes);

	fill(hp, c, HP_UFS_SEGMENT_WRITE, flags, segment);
}

static void fill_transfer(struct hp_ufs *hp, struct hp_ufs_command *c)
{
	hp->transferring = true;
	hp->entries_wait = false;
	hp->stats.entry_transfers++;
	hp->stats.resyncs += hp->lost;
	c->bytes = HP_UFS_TRANSFER_ENTRIES * sizeof(struct hp_ufs_piggyback);
	fill(hp, c, HP_UFS_ENTRY_TRANSFER, hp->lost ? HP_UFS_AGAIN : 0, 0);
	hp->lost = false;
}

static bool next_survey(struct hp_ufs *hp, struct hp_ufs_command *c)
{
	if (hp->survey == hp->segments)
		return false;
	c->bytes = HP_UFS_SEGMENT_BYTES;
	fill(hp, c, HP_UFS_SEGMENT_READ, 0, hp->survey++);
	hp->surveying++;
	hp->stats.segment_reads++;
	return true;
}

static bool next_load(struct hp_ufs *hp, struct hp_ufs_command *c)
{
	s64 segment = hp_ufs_next_load(hp);

	if (segment < 0)
		return false;
	c->bytes = HP_UFS_SEGMENT_BYTES;
	fill(hp, c, HP_UFS_SEGMENT_READ, 0, segment);
	return true;
}

/* An entry transfer, if the device or the host needs one (4.8, 4.9). */
static bool next_transfer(struct hp_ufs *hp, struct hp_ufs_command *c)
{
	bool tell = hp->host_number - hp->told_number >= TELL_AFTER;

	if (hp->transferring || !(hp->lost || hp->entries_wait || tell || hp->poll))
		return false;
	if (!hp->lost && !hp->entries_wait) {
		hp->stats.entry_transfers_to_report += tell;
		hp->stats.polls += !tell;
	}
	hp->poll = false;
	fill_transfer(hp, c);
	return true;
}

/* The bitmap of a victim, or of the block that the device has named (4.7). */
static bool next_bitmap(struct hp_ufs *hp, struct hp_ufs_command *c)
{
	s32 block = -1;
	u8 flags = 0;

	if (hp->sending_bitmap)
		return false;
	if (hp->victim_wanted) {
		hp->victim_wanted = false;
		block = hp_ufs_victim(hp);
		/* When no other is left, refused ones are offered again. */
		if (block < 0)
			bitmap_zero(hp->refused, hp->blocks);
	}
	if (block < 0) {
		if (hp->bitmap_of < 0)
			return false;
		block = hp->bitmap_of;
		hp->bitmap_of = -1;
		flags = HP_UFS_FOR_WEAR;
	}
	hp->sending_bitmap = true;
	hp->stats.bitmaps_sent++;
	c->bytes = hp->block_words * sizeof(u64);
	fill(hp, c, HP_UFS_VALID_BITMAP, flags, block);
	hp_ufs_bitmap(hp, block, c->data);
	return true;
}

/* The most urgent own command. */
static bool next_command(struct hp_ufs *hp, struct hp_ufs_command *c)
{
	u32 segment;

	if (hp->survey >= 0)
		return next_survey(hp, c);
	if (next_load(hp, c))
		return true;
	if (hp_ufs_make_room(hp, &segment)) {
		fill_write(hp, c, segment, true);
		return true;
	}
	if (next_load(hp, c))
		return true;
	if (hp_ufs_give_up_unused(hp, &segment)) {
		fill_write(hp, c, segment, true);
		return true;
	}
	if (next_transfer(hp, c))
		return true;
	if (hp_ufs_next_hinted(hp, &segment)) {
		fill_write(hp, c, segment, false);
		return true;
	}
	return next_bitmap(hp, c);
}

/* Hands a command to the block layer. False if it has no room at the moment. */
static bool issue(struct hp_ufs *hp, struct hp_ufs_command *c)
{
	bool out = c->code == HP_UFS_SEGMENT_WRITE || c->code == HP_UFS_VALID_BITMAP;
	void *data = c->code == HP_UFS_ENTRY_TRANSFER ? hp->transfer : c->data;
	blk_opf_t opf = out ? REQ_OP_DRV_OUT : REQ_OP_DRV_IN;
	blk_mq_req_flags_t flags = BLK_MQ_REQ_NOWAIT | BLK_MQ_REQ_RESERVED;
	struct hp_ufs_cdb *cdb;
	struct scsi_cmnd *cmd;
	struct request *rq;

	rq = scsi_alloc_request(hp->sdev->request_queue, opf, flags);
	/* A queue that is being frozen waits for requests that may wait for this one: there is another one. */
	if (IS_ERR(rq) && hp->hba->ufs_device_wlun)
		rq = scsi_alloc_request(hp->hba->ufs_device_wlun->request_queue, opf, flags);
	if (IS_ERR(rq))
		return false;
	if (c->bytes && blk_rq_map_kern(rq->q, rq, data, c->bytes, GFP_NOIO)) {
		blk_mq_free_request(rq);
		return false;
	}
	cmd = blk_mq_rq_to_pdu(rq);
	cmd->cmd_len = sizeof(*cdb);
	cmd->allowed = OWN_RETRIES;
	memset(cmd->cmnd, 0, sizeof(cmd->cmnd));
	cdb = (struct hp_ufs_cdb *)cmd->cmnd;
	cdb->code = c->code;
	cdb->flags = c->flags;
	cdb->argument = cpu_to_be32(c->argument);
	put_unaligned_be24(c->bytes, cdb->bytes);
	rq->timeout = OWN_TIMEOUT;
	rq->rq_flags |= RQF_QUIET;
	rq->end_io = ended;
	rq->end_io_data = c;
	blk_execute_rq_nowait(rq, true);
	return true;
}

static void work(struct work_struct *work)
{
	struct hp_ufs *hp = container_of(work, struct hp_ufs, work);
	struct hp_ufs_command *c;
	unsigned long flags;
	bool later;

	for (;;) {
		spin_lock_irqsave(&hp->lock, flags);
		c = list_first_entry_or_null(&hp->to_issue, struct hp_ufs_command, list);
		if (!c) {
			c = list_first_entry_or_null(&hp->unused_commands, struct hp_ufs_command, list);
			if (hp->stopped || !c || !next_command(hp, c))
				c = NULL;
		}
		if (c)
			list_del_init(&c->list);
		later = !c && hp->memory_short;
		spin_unlock_irqrestore(&hp->lock, flags);
		if (later)
			queue_delayed_work(hp->queue, &hp->later, 1);
		if (!c)
			return;
		if (!issue(hp, c)) {
			spin_lock_irqsave(&hp->lock, flags);
			list_add(&c->list, &hp->to_issue);
			spin_unlock_irqrestore(&hp->lock, flags);
			queue_delayed_work(hp->queue, &hp->later, 1);
			return;
		}
	}
}

static void work_later(struct work_struct *later)
{
	struct hp_ufs *hp = container_of(to_delayed_work(later), struct hp_ufs, later);

	work(&hp->work);
}

static void pin(struct hp_ufs *hp, struct hp_ufs_slot *slot)
{
	hp_ufs_pin(hp, slot->segment);
	slot->pinned = true;
}

/* Parked commands that need not wait any more; they are taken off the list. */
static unsigned long unpark(struct hp_ufs *hp)
{
	unsigned long ready = 0;
	int tag;

	if (hp->survey >= 0)
		return 0;
	for_each_set_bit(tag, &hp->parked, HP_UFS_TAGS) {
		struct hp_ufs_slot *slot = &hp->slot[tag];

		if (slot->segment < hp->segments) {
			if (hp->segment[slot->segment].state != HP_UFS_CACHED) {
				hp_ufs_want(hp, slot->segment);
				continue;
			}
			/* It stays until the read is sent, which is at once. */
			pin(hp, slot);
		}
		__set_bit(tag, &ready);
	}
	hp->parked &= ~ready;
	return ready;
}

static void give_back(struct ufs_hba *hba, int tag, int result)
{
	struct scsi_cmnd *cmd = hba->lrb[tag].cmd;

	scsi_dma_unmap(cmd);
	ufshcd_release(hba);
	cmd->result = result;
	scsi_done(cmd);
}

static void send_parked(struct hp_ufs *hp, unsigned long ready)
{
	struct ufs_hba *hba = hp->hba;
	int tag;

	/* As in ufshcd_queuecommand(): error handling waits for this. */
	rcu_read_lock();
	for_each_set_bit(tag, &ready, HP_UFS_TAGS) {
		if (hba->ufshcd_state == UFSHCD_STATE_OPERATIONAL)
			ufshcd_send_command(hba, tag);
		else
			give_back(hba, tag, DID_REQUEUE << 16);
	}
	rcu_read_unlock();
}

static void take_transfer(struct hp_ufs *hp, u32 bytes)
{
	const struct hp_ufs_piggyback *entry = hp->transfer;
	u32 i, n = bytes / sizeof(*entry);

	for (i = 0; i < n; i++)
		if ((entry[i].kind & HP_UFS_KIND) == HP_UFS_KIND_ENTRY)
			hp_ufs_take_entry(hp, &entry[i]);
		else
			hp_ufs_distrust(hp, "a transfer with kind %u", entry[i].kind);
	/* The device has moved on in idle time, so the next poll comes soon. */
	if (n && hp->fruitless >= 0)
		hp->fruitless = 0;
}

/* A segment has been read to find out what is valid (3.2). */
static void take_survey(struct hp_ufs *hp, struct hp_ufs_command *c, bool good)
{
	hp->surveying--;
	if (good)
		hp_ufs_surveyed(hp, c->data);
	else
		hp_ufs_distrust(hp, "segment %u cannot be read", c->argument);
	if (hp->surveying || hp->survey < hp->segments)
		return;
	hp->survey = -1;
	hp_ufs_name_empty(hp);
	complete_all(&hp->known);
}

static void take_answer(struct hp_ufs *hp, struct hp_ufs_command *c, bool good, u32 bytes)
{
	switch (c->code) {
	case HP_UFS_SEGMENT_READ:
		good &= bytes == HP_UFS_SEGMENT_BYTES;
		if (hp->survey >= 0) {
			take_survey(hp, c, good);
			break;
		}
		hp_ufs_loaded(hp, c->argument, good ? c->data : NULL);
		hp_ufs_apply_waiting(hp);
		break;
	case HP_UFS_SEGMENT_WRITE:
		hp_ufs_written(hp, c->argument, good);
		break;
	case HP_UFS_ENTRY_TRANSFER:
		hp->transferring = false;
		if (good)
			take_transfer(hp, bytes);
		else
			hp->lost = true;
		break;
	case HP_UFS_VALID_BITMAP:
		hp->sending_bitmap = false;
		if (good) {
			bitmap_zero(hp->refused, hp->blocks);
			if (hp->fruitless >= 0)
				hp->fruitless = 0;
		} else {
			hp->stats.bitmaps_refused++;
			if (!(c->flags & HP_UFS_FOR_WEAR))
				__set_bit(c->argument, hp->refused);
		}
		break;
	}
}

/* An own command has ended. */
static enum rq_end_io_ret ended(struct request *rq, blk_status_t status)
{
	struct hp_ufs_command *c = rq->end_io_data;
	struct scsi_cmnd *cmd = blk_mq_rq_to_pdu(rq);
	struct hp_ufs *hp = c->hp;
	bool good = status == BLK_STS_OK && !cmd->result;
	unsigned long flags, ready;

	spin_lock_irqsave(&hp->lock, flags);
	if (c->epoch == hp->epoch)
		take_answer(hp, c, good, c->bytes - min_t(u32, c->bytes, cmd->resid_len));
	list_add(&c->list, &hp->unused_commands);
	ready = unpark(hp);
	hp_ufs_kick(hp);
	spin_unlock_irqrestore(&hp->lock, flags);
	send_parked(hp, ready);
	return RQ_END_IO_FREE;
}

/* Time. */

static ktime_t poll_due(struct hp_ufs *hp)
{
	if (hp->in_flight)
		return ktime_add_ns(hp->last_activity, POLL_NS);
	if (hp->fruitless >= 0 && hp->fruitless < MOST_FRUITLESS)
		return ktime_add_ns(hp->last_activity, IDLE_POLL_NS << hp->fruitless);
	return KTIME_MAX;
}

/* A number that does not come is asked for again; if that does not help, the device has lost it (5). */
static void look_for_gap(struct hp_ufs *hp, ktime_t now)
{
	if (!hp->entries_waiting || hp->head >= 0 || hp->gap_at != hp->host_number) {
		hp->gap_at = hp->host_number;
		hp->gap_since = now;
		hp->gap_asked = 0;
		return;
	}
	if (ktime_to_ns(ktime_sub(now, hp->gap_since)) < GAP_NS || hp->gap_asked > MOST_GAPS)
		return;
	hp->gap_since = now;
	if (++hp->gap_asked > MOST_GAPS)
		hp_ufs_distrust(hp, "change %llu never comes", hp->host_number + 1);
	else
		hp->lost = true;
}

static enum hrtimer_restart timer_fires(struct hrtimer *timer)
{
	struct hp_ufs *hp = container_of(timer, struct hp_ufs, timer);
	ktime_t now = ktime_get(), due;
	unsigned long flags;
	bool runs;

	spin_lock_irqsave(&hp->lock, flags);
	due = poll_due(hp);
	if (due <= now && !hp->stopped) {
		look_for_gap(hp, now);
		if (!hp->in_flight)
			hp->fruitless++;
		hp->last_activity = now;
		hp->poll = true;
		hp_ufs_kick(hp);
		due = poll_due(hp);
	}
	runs = hp->timer_runs = due != KTIME_MAX && !hp->stopped;
	spin_unlock_irqrestore(&hp->lock, flags);
	if (!runs)
		return HRTIMER_NORESTART;
	hrtimer_set_expires(timer, due);
	return HRTIMER_RESTART;
}

static void start_timer(struct hp_ufs *hp)
{
	ktime_t due = poll_due(hp);

	if (hp->timer_runs || due == KTIME_MAX)
		return;
	hp->timer_runs = true;
	hrtimer_start(&hp->timer, due, HRTIMER_MODE_ABS);
}

static void period_ends(struct work_struct *expiry)
{
	struct hp_ufs *hp = container_of(to_delayed_work(expiry), struct hp_ufs, expiry);
	struct hp_ufs_segment *s;
	unsigned long flags;

	spin_lock_irqsave(&hp->lock, flags);
	list_for_each_entry(s, &hp->use, use)
		s->unused = min(s->unused + 1, U8_MAX);
	hp->giving_up = true;
	hp_ufs_kick(hp);
	spin_unlock_irqrestore(&hp->lock, flags);
	queue_delayed_work(hp->queue, &hp->expiry, max(1UL, msecs_to_jiffies(unused_ms) / 8));
}

/* Commands of the block layer. */

static bool is_change(u8 code)
{
	return code == WRITE_10 || code == UNMAP;
}

static bool is_user(u8 code)
{
	return code == READ_10 || code == SYNCHRONIZE_CACHE || is_change(code);
}

/* The blocks of a command: from where, and how many. */
static u32 blocks_of(struct scsi_cmnd *cmd, u32 *len)
{
	if (cmd->cmnd[0] == UNMAP) {
		struct request *rq = scsi_cmd_to_rq(cmd);

		*len = blk_rq_bytes(rq) >> 12;
		return blk_rq_pos(rq) >> 3;
	}
	*len = get_unaligned_be16(&cmd->cmnd[7]);
	return get_unaligned_be32(&cmd->cmnd[2]);
}

/* The change of a write will need its segments; the write itself waits for none. */
static void fetch_for_change(struct hp_ufs *hp, u32 first, u32 last)
{
	u32 segment;

	for (segment = first; segment <= last && segment - first < MOST_AHEAD; segment++) {
		if (hp->segment[segment].state == HP_UFS_CACHED)
			hp_ufs_use(hp, segment);
		if (hp_ufs_want(hp, segment))
			hp->stats.write_misses++;
		else
			hp->stats.write_hits++;
	}
}

/* True if a read has to wait for its first segment; all others are fetched, too. */
static bool wait_for_read(struct hp_ufs *hp, struct hp_ufs_slot *slot, u32 first, u32 last)
{
	bool cached = hp->segment[first].state == HP_UFS_CACHED;
	u32 segment;

	for (segment = first; segment <= last; segment++)
		hp_ufs_want(hp, segment);
	slot->segment = first;
	if (!cached) {
		hp->stats.misses++;
		return true;
	}
	hp->stats.hits++;
	hp_ufs_use(hp, first);
	pin(hp, slot);
	return false;
}

/*
 * A command is about to be sent. True if it is not to be, for now or for ever: it is parked until its segment is there,
 * or given back.
 */
bool hp_ufs_parks(struct ufs_hba *hba, struct ufshcd_lrb *lrbp)
{
	struct scsi_cmnd *cmd = lrbp->cmd;
	struct hp_ufs *hp = of_command(cmd);
	struct hp_ufs_command *own = hp ? own_of(cmd) : NULL;
	u8 code = cmd->cmnd[0];
	struct hp_ufs_slot *slot;
	u32 first, last, len;
	unsigned long flags;
	bool parks = false;

	if (!hp || !(own || is_user(code)))
		return false;
	spin_lock_irqsave(&hp->lock, flags);
	if (own && own->epoch != hp->epoch) {
		spin_unlock_irqrestore(&hp->lock, flags);
		give_back(hba, lrbp->task_tag, DID_ABORT << 16);
		return true;
	}
	if (!own && is_change(code) && hp->distrusted) {
		spin_unlock_irqrestore(&hp->lock, flags);
		scsi_build_sense(cmd, 0, DATA_PROTECT, 0x27, 0);
		give_back(hba, lrbp->task_tag, cmd->result);
		return true;
	}
	slot = &hp->slot[lrbp->task_tag];
	slot->segment = U32_MAX;
	if (!own) {
		first = blocks_of(cmd, &len);
		if (len && code != SYNCHRONIZE_CACHE && first < hp->units && len <= hp->units - first) {
			last = (first + len - 1) >> HP_UFS_SEGMENT_SHIFT;
			first >>= HP_UFS_SEGMENT_SHIFT;
			if (hp->survey >= 0)
				slot->segment = code == READ_10 ? first : U32_MAX;
			else if (code == READ_10)
				parks = wait_for_read(hp, slot, first, last);
			else
				fetch_for_change(hp, first, last);
		}
		parks |= hp->survey >= 0;
		if (!list_empty(&hp->wanted))
			hp_ufs_kick(hp);
	}
	if (parks)
		__set_bit(lrbp->task_tag, &hp->parked);
	spin_unlock_irqrestore(&hp->lock, flags);
	return parks;
}

/* Puts the place of a read into its command, and makes it as short as that place is good for (4.4). */
static bool map_read(struct hp_ufs *hp, struct ufshcd_lrb *lrbp, __be32 *address)
{
	struct utp_upiu_req *upiu = lrbp->ucd_req_ptr;
	struct hp_ufs_slot *slot = &hp->slot[lrbp->task_tag];
	u32 lpa = get_unaligned_be32(&upiu->sc.cdb[2]), len = get_unaligned_be16(&upiu->sc.cdb[7]);
	u32 place, n = 0;

	if (slot->pinned)
		hp_ufs_unpin(hp, slot->segment);
	slot->pinned = false;
	if (len && lpa < hp->units && len <= hp->units - lpa)
		n = hp_ufs_run(hp, lpa, len, &place);
	if (!n)
		return false;
	hp->stats.mapped_reads++;
	*address = cpu_to_be32(place);
	if (n < len) {
		slot->cut_to = n << 12;
		put_unaligned_be16(n, &upiu->sc.cdb[7]);
		upiu->sc.exp_data_transfer_len = cpu_to_be32(slot->cut_to);
	}
	return true;
}

/* A command goes out now; hba->outstanding_lock is held, which orders all that do. */
void hp_ufs_stamp(struct ufs_hba *hba, struct ufshcd_lrb *lrbp)
{
	struct scsi_cmnd *cmd = lrbp->cmd;
	struct hp_ufs *hp = cmd ? of_command(cmd) : NULL;
	struct hp_ufs_command *own = hp ? own_of(cmd) : NULL;
	struct hp_ufs_extension extension = {};
	u8 set = HP_UFS_SET_FREED;
	struct hp_ufs_slot *slot;
	u64 number;

	if (!hp || !(own || is_user(cmd->cmnd[0])))
		return;
	spin_lock(&hp->lock);
	slot = &hp->slot[lrbp->task_tag];
	/* Nobody has seen the response to the last command with this tag. */
	if (slot->in_flight) {
		slot->in_flight = false;
		hp->in_flight--;
		hp->lost = true;
	}
	slot->cut_to = 0;
	number = hp->host_number;
	if (!own) {
		slot->in_flight = true;
		if (!hp->in_flight++ && hp->last_activity) {
			hp->last_activity = ktime_get();
			if (hp->fruitless >= 0)
				hp->fruitless = FIRST_IDLE_POLL;
		}
		if (cmd->cmnd[0] == READ_10 && map_read(hp, lrbp, &extension.address))
			set = HP_UFS_SET_MAPPED;
	} else {
		/* Its data may be of an earlier moment (4.2). */
		number = own->number;
		/* It may have come by another unit's queue. */
		lrbp->ucd_req_ptr->header.dword_0 &= ~cpu_to_be32(0xff00);
	}
	if (set == HP_UFS_SET_FREED) {
		s32 block = hp_ufs_next_freed(hp);

		if (block >= 0) {
			hp->stats.freed_sent++;
			extension.address = cpu_to_be32(block + 1);
		}
	}
	if (number == hp->host_number)
		hp->told_number = number;
	extension.host_number = cpu_to_be32((u32)number);
	lrbp->ucd_req_ptr->header.dword_1 |= cpu_to_be32(set << 24);
	memcpy((u8 *)lrbp->ucd_req_ptr + HP_UFS_EXTENSION_AT, &extension, sizeof(extension));
	start_timer(hp);
	spin_unlock(&hp->lock);
}

static void take_piggyback(struct hp_ufs *hp, const struct hp_ufs_piggyback *p)
{
	u32 first = be32_to_cpu(p->first);
	u16 block = be16_to_cpu(p->block);

	switch (p->kind & HP_UFS_KIND) {
	case HP_UFS_KIND_NONE:
		break;
	case HP_UFS_KIND_ENTRY:
		hp_ufs_take_entry(hp, p);
		break;
	case HP_UFS_KIND_WRITE:
		if (first < hp->segments)
			hp_ufs_hint(hp, first);
		else
			hp_ufs_distrust(hp, "it wants segment %u, the last is %u", first, hp->segments - 1);
		break;
	case HP_UFS_KIND_BITMAP:
		if (block && block <= hp->blocks)
			hp->bitmap_of = block - 1;
		else
			hp_ufs_distrust(hp, "it wants the bitmap of block %d, the last is %u", block - 1,
					hp->blocks - 1);
		break;
	default:
		hp_ufs_distrust(hp, "a piggyback of kind %u", p->kind & HP_UFS_KIND);
	}
	hp->entries_wait |= !!(p->kind & HP_UFS_ENTRIES_WAIT);
	hp->victim_wanted |= !!(p->kind & HP_UFS_VICTIM_WANTED);
	if (!(p->kind & HP_UFS_WORKS_WHEN_IDLE))
		hp->fruitless = -1;
	else if (hp->fruitless < 0)
		hp->fruitless = FIRST_IDLE_POLL;
}

static bool has_work(struct hp_ufs *hp)
{
	return hp->entries_wait || hp->victim_wanted || hp->lost || hp->bitmap_of >= 0 || hp->head >= 0 ||
	       !list_empty(&hp->wanted) || !list_empty(&hp->hinted) ||
	       hp->host_number - hp->told_number >= TELL_AFTER;
}

/* A response has come, whatever its status. */
void hp_ufs_response(struct ufs_hba *hba, struct ufshcd_lrb *lrbp)
{
	struct scsi_cmnd *cmd = lrbp->cmd;
	struct hp_ufs *hp = of_command(cmd);
	struct hp_ufs_slot *slot;
	unsigned long flags, ready;

	if (!hp || !(own_of(cmd) || is_user(cmd->cmnd[0])))
		return;
	spin_lock_irqsave(&hp->lock, flags);
	slot = &hp->slot[lrbp->task_tag];
	if (slot->in_flight) {
		slot->in_flight = false;
		hp->in_flight--;
	}
	/* ufshcd looks at no residual. The middle layer asks for the rest of a read. */
	if (own_of(cmd))
		scsi_set_resid(cmd, min(be32_to_cpu(lrbp->ucd_rsp_ptr->sr.residual_transfer_count), scsi_bufflen(cmd)));
	else if (slot->cut_to)
		scsi_set_resid(cmd, scsi_bufflen(cmd) - slot->cut_to);
	slot->cut_to = 0;
	hp->last_activity = ktime_get();
	take_piggyback(hp, (void *)&lrbp->ucd_rsp_ptr->sr.reserved);
	ready = unpark(hp);
	if (has_work(hp))
		hp_ufs_kick(hp);
	spin_unlock_irqrestore(&hp->lock, flags);
	send_parked(hp, ready);
}

/* Beginning and end. */

static int describe(struct hp_ufs *hp, struct hp_ufs_descriptor *d)
{
	u8 *bytes = kzalloc(QUERY_DESC_MAX_SIZE, GFP_KERNEL);
	int length = QUERY_DESC_MAX_SIZE, err;

	if (!bytes)
		return -ENOMEM;
	err = ufshcd_query_descriptor_retry(hp->hba, UPIU_QUERY_OPCODE_READ_DESC, HP_UFS_DESCRIPTOR_IDN, 0, 0, bytes,
					    &length);
	memcpy(d, bytes, sizeof(*d));
	kfree(bytes);
	if (!err && (length < sizeof(*d) || d->idn != HP_UFS_DESCRIPTOR_IDN ||
		     be16_to_cpu(d->version) >> 8 != HP_UFS_VERSION >> 8))
		err = -EINVAL;
	return err;
}

/* Everything is to be learnt from the device (3.2). */
static void survey(struct hp_ufs *hp, const struct hp_ufs_descriptor *d)
{
	hp->epoch++;
	hp_ufs_forget(hp);
	hp->power_ons = be32_to_cpu(d->power_ons);
	hp->host_number = hp->told_number = be64_to_cpu(d->last_change);
	hp->survey = 0;
	hp->surveying = 0;
	hp->lost = false;
	reinit_completion(&hp->known);
}

static unsigned long count_shrinkable(struct shrinker *shrinker, struct shrink_control *control)
{
	struct hp_ufs *hp = container_of(shrinker, struct hp_ufs, shrinker);
	u32 in_use = READ_ONCE(hp->in_use);

	return in_use > 2 ? in_use - 2 : SHRINK_EMPTY;
}

static unsigned long shrink(struct shrinker *shrinker, struct shrink_control *control)
{
	struct hp_ufs *hp = container_of(shrinker, struct hp_ufs, shrinker);
	unsigned long flags, freed;

	spin_lock_irqsave(&hp->lock, flags);
	freed = hp_ufs_drop_clean(hp, control->nr_to_scan);
	spin_unlock_irqrestore(&hp->lock, flags);
	return freed ?: SHRINK_STOP;
}

static int make_commands(struct hp_ufs *hp)
{
	u32 i, n = hp_ufs_reserved_tags(), bytes = max_t(u32, HP_UFS_SEGMENT_BYTES, hp->block_words * sizeof(u64));

	hp->commands = kcalloc(n, sizeof(*hp->commands), GFP_KERNEL);
	hp->transfer = kmalloc(HP_UFS_TRANSFER_ENTRIES * sizeof(struct hp_ufs_piggyback), GFP_KERNEL);
	if (!hp->commands || !hp->transfer)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		hp->commands[i].hp = hp;
		hp->commands[i].data = kmalloc(bytes, GFP_KERNEL);
		if (!hp->commands[i].data)
			return -ENOMEM;
		list_add_tail(&hp->commands[i].list, &hp->unused_commands);
	}
	return 0;
}

static void free_all(struct hp_ufs *hp)
{
	u32 i;

	if (hp->queue)
		destroy_workqueue(hp->queue);
	for (i = 0; hp->commands && i < hp_ufs_reserved_tags(); i++)
		kfree(hp->commands[i].data);
	kfree(hp->commands);
	kfree(hp->transfer);
	hp_ufs_map_exit(hp);
	kfree(hp);
}

static struct hp_ufs *make(struct ufs_hba *hba, struct scsi_device *sdev)
{
	struct hp_ufs *hp = kzalloc(sizeof(*hp), GFP_KERNEL);

	if (!hp)
		return NULL;
	hp->hba = hba;
	hp->sdev = sdev;
	spin_lock_init(&hp->lock);
	INIT_LIST_HEAD(&hp->unused_commands);
	INIT_LIST_HEAD(&hp->to_issue);
	INIT_WORK(&hp->work, work);
	INIT_DELAYED_WORK(&hp->later, work_later);
	INIT_DELAYED_WORK(&hp->expiry, period_ends);
	hrtimer_init(&hp->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	hp->timer.function = timer_fires;
	init_completion(&hp->known);
	return hp;
}

/* Takes over what the descriptors say. */
static int learn(struct hp_ufs *hp, const struct hp_ufs_descriptor *d)
{
	u8 count[8];
	u64 units;
	int err;

	err = ufshcd_read_desc_param(hp->hba, QUERY_DESC_IDN_UNIT, 0, UNIT_DESC_PARAM_LOGICAL_BLK_COUNT, count,
				     sizeof(count));
	if (err)
		return err;
	units = get_unaligned_be64(count);
	hp->units = units;
	hp->blocks = be32_to_cpu(d->blocks);
	hp->block_units = be32_to_cpu(d->block_units);
	hp->part_entries = be16_to_cpu(d->part_entries);
	hp->victim_policy = d->victim_policy;
	hp->victim_choices = be16_to_cpu(d->victim_choices);
	if (!units || units > U32_MAX || !hp->blocks || hp->blocks > U16_MAX || !hp->block_units ||
	    (u64)hp->blocks * hp->block_units >= U32_MAX || hp->victim_policy > HP_UFS_CHOICES)
		return -EINVAL;
	hp->segments = DIV_ROUND_UP(hp->units, HP_UFS_SEGMENT_ENTRIES);
	return 0;
}

/* The first unit of a device comes up: reads its description, and then all segments before anything else (3.2). */
void hp_ufs_init_lu(struct ufs_hba *hba, struct scsi_device *sdev)
{
	struct hp_ufs_descriptor d;
	struct hp_ufs *hp;
	unsigned long flags;
	int err;

	if (!hp_ufs_reserved_tags() || sdev->lun != 0 || of_device(sdev))
		return;
	hp = make(hba, sdev);
	if (!hp)
		return;
	err = describe(hp, &d) ?: learn(hp, &d);
	err = err ?: hp_ufs_map_init(hp, clamp_t(u32, reorder_entries, 64, 1 << 20));
	err = err ?: make_commands(hp);
	hp->queue = alloc_ordered_workqueue("hp_ufs", WQ_HIGHPRI | WQ_MEM_RECLAIM);
	if (err || !hp->queue) {
		sdev_printk(KERN_ERR, sdev, "hp_ufs: error %d: the device is used without its mapping\n", err);
		free_all(hp);
		return;
	}
	hp_ufs_set_limit(hp, cache_kib);
	hp->shrinks = shrinks;
	hp->shrinker.count_objects = count_shrinkable;
	hp->shrinker.scan_objects = shrink;
	hp->shrinker.seeks = DEFAULT_SEEKS;
	if (shrinks && register_shrinker(&hp->shrinker, "hp_ufs"))
		hp->shrinks = false;
	spin_lock_irqsave(&hp->lock, flags);
	survey(hp, &d);
	list_add_rcu(&hp->list, &all);
	hp_ufs_kick(hp);
	spin_unlock_irqrestore(&hp->lock, flags);
	wait_for_completion(&hp->known);
	if (unused_ms)
		queue_delayed_work(hp->queue, &hp->expiry, max(1UL, msecs_to_jiffies(unused_ms) / 8));
	sdev_printk(KERN_INFO, sdev, "hp_ufs: %u segments, %u blocks of %u pages, change %llu\n", hp->segments,
		    hp->blocks, hp->block_units, hp->host_number);
}

void hp_ufs_destroy_lu(struct scsi_device *sdev)
{
	struct hp_ufs *hp = of_device(sdev);

	if (!hp)
		return;
	hp->stopped = true;
	hrtimer_cancel(&hp->timer);
	cancel_delayed_work_sync(&hp->expiry);
	cancel_delayed_work_sync(&hp->later);
	cancel_work_sync(&hp->work);
	if (hp->shrinks)
		unregister_shrinker(&hp->shrinker);
	list_del_rcu(&hp->list);
	synchronize_rcu();
	free_all(hp);
}

static struct hp_ufs *of_hba(struct ufs_hba *hba)
{
	struct scsi_device *sdev = scsi_device_lookup(hba->host, 0, 0, 0);
	struct hp_ufs *hp = sdev ? of_device(sdev) : NULL;

	if (sdev)
		scsi_device_put(sdev);
	return hp;
}

/* The device is there again: either it has kept everything, and responses are lost, or nothing is known (3.2). */
static void go_on(struct hp_ufs *hp)
{
	struct hp_ufs_descriptor d;
	unsigned long flags;
	int tag, err = describe(hp, &d);

	spin_lock_irqsave(&hp->lock, flags);
	for (tag = 0; tag < HP_UFS_TAGS; tag++)
		hp->slot[tag].in_flight = false;
	hp->in_flight = 0;
	if (err) {
		hp_ufs_distrust(hp, "its description is gone (error %d)", err);
	} else if (be32_to_cpu(d.power_ons) != hp->power_ons) {
		hp->stats.rebuilds++;
		for (tag = 0; tag < HP_UFS_TAGS; tag++)
			hp->slot[tag].pinned = false;
		survey(hp, &d);
	} else {
		hp->lost = true;
		/* Names of freed blocks may be lost, too. */
		if (hp->survey < 0)
			hp_ufs_name_empty(hp);
	}
	hp->stopped = false;
	hp_ufs_kick(hp);
	spin_unlock_irqrestore(&hp->lock, flags);
}

static void stop(struct hp_ufs *hp)
{
	unsigned long flags, parked;
	int tag;

	spin_lock_irqsave(&hp->lock, flags);
	hp->stopped = true;
	parked = hp->parked;
	hp->parked = 0;
	spin_unlock_irqrestore(&hp->lock, flags);
	for_each_set_bit(tag, &parked, HP_UFS_TAGS)
		give_back(hp->hba, tag, DID_REQUEUE << 16);
}

/* The controller is reset, or has come back. */
void hp_ufs_reset(struct ufs_hba *hba, bool begins)
{
	struct hp_ufs *hp = of_hba(hba);

	if (!hp)
		return;
	if (begins)
		stop(hp);
	else
		go_on(hp);
}

/* The device goes to sleep; nothing is under way any more. */
void hp_ufs_suspend(struct ufs_hba *hba)
{
	struct hp_ufs *hp = of_hba(hba);

	if (!hp)
		return;
	stop(hp);
	hrtimer_cancel(&hp->timer);
	hp->timer_runs = false;
	flush_workqueue(hp->queue);
}

void hp_ufs_resume(struct ufs_hba *hba)
{
	struct hp_ufs *hp = of_hba(hba);

	if (hp && hp->stopped)
		go_on(hp);
}

/* sysfs: hp_ufs_stats and hp_ufs_params of the unit. */

static struct hp_ufs *of_dev(struct device *dev)
{
	return of_device(to_scsi_device(dev));
}

#define SHOW(name, value) \
static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf) \
{ \
	struct hp_ufs *hp = of_dev(dev); \
\
	return hp ? sysfs_emit(buf, "%llu\n", (u64)(value)) : -ENODEV; \
}
#define COUNTER(name) SHOW(name, hp->stats.name) static DEVICE_ATTR_RO(name);
HP_UFS_COUNTERS(COUNTER)
SHOW(host_seq, hp->host_number) static DEVICE_ATTR_RO(host_seq);
SHOW(dram_bytes, (u64)hp->in_use * PAGE_SIZE) static DEVICE_ATTR_RO(dram_bytes);
SHOW(valid_bitmap_bytes, (u64)hp->blocks * hp->block_units / 8) static DEVICE_ATTR_RO(valid_bitmap_bytes);
SHOW(valid_count_bytes, hp->blocks * 4) static DEVICE_ATTR_RO(valid_count_bytes);

static struct attribute *stat_attrs[] = {
#define ATTRIBUTE(name) &dev_attr_##name.attr,
	HP_UFS_COUNTERS(ATTRIBUTE)
	&dev_attr_host_seq.attr,
	&dev_attr_dram_bytes.attr,
	&dev_attr_valid_bitmap_bytes.attr,
	&dev_attr_valid_count_bytes.attr,
	NULL,
};

SHOW(cache_kib, (u64)hp->limit * (HP_UFS_SEGMENT_BYTES / 1024))

static ssize_t cache_kib_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct hp_ufs *hp = of_dev(dev);
	unsigned int kib;
	unsigned long flags;

	if (!hp)
		return -ENODEV;
	if (kstrtouint(buf, 0, &kib) || (kib && kib < 8))
		return -EINVAL;
	spin_lock_irqsave(&hp->lock, flags);
	hp_ufs_set_limit(hp, kib);
	hp_ufs_kick(hp);
	spin_unlock_irqrestore(&hp->lock, flags);
	return count;
}
static DEVICE_ATTR_RW(cache_kib);

static struct attribute *param_attrs[] = {
	&dev_attr_cache_kib.attr,
	NULL,
};

static umode_t is_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	return of_dev(kobj_to_dev(kobj)) ? attr->mode : 0;
}

const struct attribute_group hp_ufs_stat_group = {
	.name = "hp_ufs_stats",
	.is_visible = is_visible,
	.attrs = stat_attrs,
};

const struct attribute_group hp_ufs_param_group = {
	.name = "hp_ufs_params",
	.is_visible = is_visible,
	.attrs = param_attrs,
};
