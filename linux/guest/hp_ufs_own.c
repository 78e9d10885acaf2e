// SPDX-License-Identifier: GPL-2.0
/*
 * HP-UFS: the driver's own commands, which of them goes next, and when the device is asked whether it wants anything.
 *
 * They go through the block layer, with tags that nobody else gets. So writes that wait for room in the device's log
 * cannot hold up what makes room (4.9).
 */
#include <linux/blk-mq.h>
#include <linux/slab.h>
#include <scsi/scsi.h>
#include <scsi/scsi_common.h>
#include <scsi/scsi_eh.h>
#include <asm/unaligned.h>

#include "hp_ufs.h"

/* A change is told after so many that no command has told (4.9). */
#define TELL_AFTER	256
/* A poll while commands are outstanding, and the first in idle time (4.9). */
#define POLL_NS		(200 * NSEC_PER_USEC)
#define IDLE_POLL_NS	NSEC_PER_MSEC
/* After so many polls in idle time that have brought nothing it goes on without. */
#define MOST_FRUITLESS	12
/* A number that is missing for so long is asked for again; after so many times it never comes (5). */
#define GAP_NS		(500 * NSEC_PER_MSEC)
#define MOST_GAPS	3
#define OWN_TIMEOUT	(30 * HZ)
#define OWN_RETRIES	5
#define MOST_ATTENTIONS	3

static enum rq_end_io_ret ended(struct request *rq, blk_status_t status);

/* The driver's own command behind a request; NULL for others. */
struct hp_ufs_command *hp_ufs_own(struct scsi_cmnd *cmd)
{
	struct request *rq = scsi_cmd_to_rq(cmd);

	if (rq->end_io != ended)
		return NULL;
	/* While errors are handled, the request may carry another command. */
	return cmd->cmnd[0] == ((struct hp_ufs_command *)rq->end_io_data)->code ? rq->end_io_data : NULL;
}

static void fill(struct hp_ufs *hp, struct hp_ufs_command *c, u8 code, u8 flags, u32 argument)
{
	c->code = code;
	c->flags = flags;
	c->argument = argument;
	c->number = hp->host_number;
	c->epoch = hp->epoch;
	c->attentions = 0;
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

/* The unit that stands for the device, which always is there while it is used; NULL if it goes. */
static struct scsi_device *get_device_unit(struct ufs_hba *hba)
{
	struct scsi_device *unit;
	unsigned long flags;

	spin_lock_irqsave(hba->host->host_lock, flags);
	unit = hba->ufs_device_wlun;
	if (unit && scsi_device_get(unit))
		unit = NULL;
	spin_unlock_irqrestore(hba->host->host_lock, flags);
	return unit;
}

/* A request in the unit's queue, or, if that is being frozen and waits for requests that wait for this one, another. */
static struct request *get_request(struct hp_ufs *hp, blk_opf_t opf)
{
	blk_mq_req_flags_t flags = BLK_MQ_REQ_NOWAIT | BLK_MQ_REQ_RESERVED;
	struct request *rq = scsi_alloc_request(hp->sdev->request_queue, opf, flags);
	struct scsi_device *unit;

	if (!IS_ERR(rq))
		return rq;
	unit = get_device_unit(hp->hba);
	if (!unit)
		return rq;
	rq = scsi_alloc_request(unit->request_queue, opf, flags);
	scsi_device_put(unit);
	return rq;
}

/* Hands a command to the block layer. False if it has no room at the moment. */
static bool issue(struct hp_ufs *hp, struct hp_ufs_command *c)
{
	bool out = c->code == HP_UFS_SEGMENT_WRITE || c->code == HP_UFS_VALID_BITMAP;
	void *data = c->code == HP_UFS_ENTRY_TRANSFER ? hp->transfer : c->data;
	blk_opf_t opf = out ? REQ_OP_DRV_OUT : REQ_OP_DRV_IN;
	struct request *rq = get_request(hp, opf);
	struct hp_ufs_cdb *cdb;
	struct scsi_cmnd *cmd;

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

/* An own command is neither with the block layer nor on its way there. Who lets go of the unit waits for all of them. */
static void not_under_way(struct hp_ufs *hp)
{
	if (!--hp->under_way)
		wake_up_all(&hp->quiet);
}

/* What could not be issued goes first. */
static struct hp_ufs_command *next_to_issue(struct hp_ufs *hp)
{
	struct hp_ufs_command *c = list_first_entry_or_null(&hp->to_issue, struct hp_ufs_command, list);

	if (c)
		return c;
	c = list_first_entry_or_null(&hp->unused_commands, struct hp_ufs_command, list);
	return c && next_command(hp, c) ? c : NULL;
}

static void work(struct work_struct *work)
{
	struct hp_ufs *hp = container_of(work, struct hp_ufs, work);
	struct hp_ufs_command *c;
	unsigned long flags;
	bool later;

	for (;;) {
		spin_lock_irqsave(&hp->lock, flags);
		c = hp->stopped ? NULL : next_to_issue(hp);
		if (c) {
			list_del_init(&c->list);
			hp->under_way++;
		}
		later = !c && hp->memory_short && !hp->stopped;
		spin_unlock_irqrestore(&hp->lock, flags);
		if (later)
			queue_delayed_work(hp->queue, &hp->later, 1);
		if (!c)
			return;
		if (!issue(hp, c)) {
			spin_lock_irqsave(&hp->lock, flags);
			list_add(&c->list, &hp->to_issue);
			not_under_way(hp);
			later = !hp->stopped;
			spin_unlock_irqrestore(&hp->lock, flags);
			if (later)
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

/* The unit tells that it was reset, and has not done the command: it goes once more. */
static bool goes_again(struct hp_ufs_command *c, struct scsi_cmnd *cmd)
{
	struct scsi_sense_hdr sense;

	return c->epoch == c->hp->epoch && scsi_command_normalize_sense(cmd, &sense) &&
	       sense.sense_key == UNIT_ATTENTION && c->attentions++ < MOST_ATTENTIONS;
}

/* An own command has ended. */
static enum rq_end_io_ret ended(struct request *rq, blk_status_t status)
{
	struct hp_ufs_command *c = rq->end_io_data;
	struct scsi_cmnd *cmd = blk_mq_rq_to_pdu(rq);
	struct hp_ufs *hp = c->hp;
	bool good = status == BLK_STS_OK && !cmd->result;
	unsigned long flags, ready;

	/* Who lets go of the unit waits for this, too. */
	rcu_read_lock();
	spin_lock_irqsave(&hp->lock, flags);
	if (!good && goes_again(c, cmd)) {
		list_add_tail(&c->list, &hp->to_issue);
	} else {
		if (c->epoch == hp->epoch)
			take_answer(hp, c, good, c->bytes - min_t(u32, c->bytes, cmd->resid_len));
		list_add(&c->list, &hp->unused_commands);
	}
	not_under_way(hp);
	ready = hp_ufs_unpark(hp);
	hp_ufs_kick(hp);
	spin_unlock_irqrestore(&hp->lock, flags);
	hp_ufs_send_parked(hp, ready);
	rcu_read_unlock();
	return RQ_END_IO_FREE;
}

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
	runs = due != KTIME_MAX && !hp->stopped;
	hp->timer_runs = runs;
	spin_unlock_irqrestore(&hp->lock, flags);
	if (!runs)
		return HRTIMER_NORESTART;
	hrtimer_set_expires(timer, due);
	return HRTIMER_RESTART;
}

void hp_ufs_start_timer(struct hp_ufs *hp)
{
	ktime_t due = poll_due(hp);

	if (hp->stopped || hp->timer_runs || due == KTIME_MAX)
		return;
	hp->timer_runs = true;
	hrtimer_start(&hp->timer, due, HRTIMER_MODE_ABS);
}

/* True if an own command may be due. */
bool hp_ufs_has_work(struct hp_ufs *hp)
{
	return hp->entries_wait || hp->victim_wanted || hp->lost || hp->bitmap_of >= 0 || hp->head >= 0 ||
	       !list_empty(&hp->wanted) || !list_empty(&hp->hinted) ||
	       hp->host_number - hp->told_number >= TELL_AFTER;
}

void hp_ufs_init_work(struct hp_ufs *hp)
{
	init_waitqueue_head(&hp->quiet);
	INIT_WORK(&hp->work, work);
	INIT_DELAYED_WORK(&hp->later, work_later);
	hrtimer_init(&hp->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	hp->timer.function = timer_fires;
}
