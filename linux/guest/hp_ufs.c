// SPDX-License-Identifier: GPL-2.0
/*
 * HP-UFS: what is done to the commands of the block layer as they leave and end.
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
#include <scsi/scsi.h>
#include <scsi/scsi_eh.h>
#include <scsi/scsi_proto.h>
#include <asm/unaligned.h>

#include "ufshcd-priv.h"
#include "hp_ufs.h"

/* Segments of UNMAPs that are fetched ahead; the changes fetch the others. */
#define MOST_AHEAD	2

static struct hp_ufs *of_command(struct scsi_cmnd *cmd)
{
	struct hp_ufs_command *own = hp_ufs_own(cmd);

	return own ? own->hp : hp_ufs_of_device(cmd->device);
}

static void pin(struct hp_ufs *hp, struct hp_ufs_slot *slot)
{
	hp_ufs_pin(hp, slot->segment);
	slot->pinned = true;
}

/* Parked commands that need not wait any more; they are taken off the list. */
unsigned long hp_ufs_unpark(struct hp_ufs *hp)
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

/* Ends a command that was not sent. */
void hp_ufs_give_back(struct ufs_hba *hba, int tag, int result)
{
	struct scsi_cmnd *cmd = hba->lrb[tag].cmd;

	scsi_dma_unmap(cmd);
	ufshcd_release(hba);
	cmd->result = result;
	scsi_done(cmd);
}

/* A pinned read is not sent after all. */
static void unpin(struct hp_ufs *hp, struct hp_ufs_slot *slot)
{
	unsigned long flags;

	spin_lock_irqsave(&hp->lock, flags);
	if (slot->pinned)
		hp_ufs_unpin(hp, slot->segment);
	slot->pinned = false;
	spin_unlock_irqrestore(&hp->lock, flags);
}

/* Rings for commands that were parked. */
void hp_ufs_send_parked(struct hp_ufs *hp, unsigned long ready)
{
	struct ufs_hba *hba = hp->hba;
	int tag;

	/* As in ufshcd_queuecommand(): error handling waits for this. */
	rcu_read_lock();
	for_each_set_bit(tag, &ready, HP_UFS_TAGS) {
		if (hba->ufshcd_state == UFSHCD_STATE_OPERATIONAL) {
			ufshcd_send_command(hba, tag);
			continue;
		}
		unpin(hp, &hp->slot[tag]);
		hp_ufs_give_back(hba, tag, DID_REQUEUE << 16);
	}
	rcu_read_unlock();
}

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
	struct hp_ufs_command *own = hp ? hp_ufs_own(cmd) : NULL;
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
		hp_ufs_give_back(hba, lrbp->task_tag, DID_ABORT << 16);
		return true;
	}
	if (!own && is_change(code) && hp->distrusted) {
		spin_unlock_irqrestore(&hp->lock, flags);
		scsi_build_sense(cmd, 0, DATA_PROTECT, 0x27, 0);
		hp_ufs_give_back(hba, lrbp->task_tag, cmd->result);
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
	struct hp_ufs_command *own = hp ? hp_ufs_own(cmd) : NULL;
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
				hp->fruitless = HP_UFS_FIRST_IDLE_POLL;
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
	hp_ufs_start_timer(hp);
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
		hp->fruitless = HP_UFS_FIRST_IDLE_POLL;
}

/* A response has come, whatever its status. */
void hp_ufs_response(struct ufs_hba *hba, struct ufshcd_lrb *lrbp)
{
	struct scsi_cmnd *cmd = lrbp->cmd;
	struct hp_ufs *hp = of_command(cmd);
	struct hp_ufs_slot *slot;
	unsigned long flags, ready;

	if (!hp || !(hp_ufs_own(cmd) || is_user(cmd->cmnd[0])))
		return;
	spin_lock_irqsave(&hp->lock, flags);
	slot = &hp->slot[lrbp->task_tag];
	if (slot->in_flight) {
		slot->in_flight = false;
		hp->in_flight--;
	}
	/* ufshcd looks at no residual. The middle layer asks for the rest of a read. */
	if (hp_ufs_own(cmd))
		scsi_set_resid(cmd, min(be32_to_cpu(lrbp->ucd_rsp_ptr->sr.residual_transfer_count), scsi_bufflen(cmd)));
	else if (slot->cut_to)
		scsi_set_resid(cmd, scsi_bufflen(cmd) - slot->cut_to);
	slot->cut_to = 0;
	hp->last_activity = ktime_get();
	take_piggyback(hp, (void *)&lrbp->ucd_rsp_ptr->sr.reserved);
	ready = hp_ufs_unpark(hp);
	if (hp_ufs_has_work(hp))
		hp_ufs_kick(hp);
	spin_unlock_irqrestore(&hp->lock, flags);
	hp_ufs_send_parked(hp, ready);
}
