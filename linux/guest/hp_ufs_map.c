// SPDX-License-Identifier: GPL-2.0
/*
 * HP-UFS: cached L2P segments, and changes that came too early.
 *
 * Changes are applied in the order of their numbers and without gaps (4.1). One whose segment is not cached waits for
 * it, so a segment on flash that is not cached lacks nothing up to the host number (4.5). The segment of the next
 * change always finds a slot: loads for other purposes leave one free (4.9).
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "hp_ufs.h"

/* Most writebacks to make room at a time, and slots that are kept free if the cache is large enough. */
#define EVICTION_WRITES	4
#define SPARE_SLOTS	8
/* Periods in the time after which a segment is given up. */
#define PERIODS		8

/* Segments. */

static u32 number_of(struct hp_ufs *hp, struct hp_ufs_segment *s)
{
	return s - hp->segment;
}

static void stay(struct hp_ufs *hp, struct hp_ufs_segment *s)
{
	if (s->leaving) {
		s->leaving = false;
		hp->leaving--;
	}
}

/* A request uses a cached segment. */
void hp_ufs_use(struct hp_ufs *hp, u32 segment)
{
	struct hp_ufs_segment *s = &hp->segment[segment];

	stay(hp, s);
	s->unused = 0;
	list_move_tail(&s->use, &hp->use);
}

/* Queues the load of a segment. True if it was neither there nor queued nor on its way. */
bool hp_ufs_want(struct hp_ufs *hp, u32 segment)
{
	struct hp_ufs_segment *s = &hp->segment[segment];

	if (s->state != HP_UFS_ABSENT || !list_empty(&s->wanted))
		return false;
	list_add_tail(&s->wanted, &hp->wanted);
	return true;
}

void hp_ufs_pin(struct hp_ufs *hp, u32 segment)
{
	struct hp_ufs_segment *s = &hp->segment[segment];

	stay(hp, s);
	hp->pinned += !s->pins++;
}

void hp_ufs_unpin(struct hp_ufs *hp, u32 segment)
{
	hp->pinned -= !--hp->segment[segment].pins;
}

static u32 *places_of(struct hp_ufs *hp, u32 lpa)
{
	struct hp_ufs_segment *s = &hp->segment[lpa >> HP_UFS_SEGMENT_SHIFT];

	if (s->state != HP_UFS_CACHED)
		return NULL;
	return &s->places[lpa % HP_UFS_SEGMENT_ENTRIES];
}

/* How many blocks from the first on lie together, and where (4.4); 0 if the first segment is not there. */
u32 hp_ufs_run(struct hp_ufs *hp, u32 lpa, u32 len, u32 *place)
{
	u32 *at = places_of(hp, lpa), n;

	if (!at)
		return 0;
	*place = *at;
	for (n = 1; n < len; n++) {
		at = places_of(hp, lpa + n);
		if (!at || *at != (*place ? *place + n : 0))
			break;
	}
	return n;
}

static void release(struct hp_ufs *hp, struct hp_ufs_segment *s)
{
	mempool_free(virt_to_page(s->places), hp->pages);
	s->places = NULL;
	s->state = HP_UFS_ABSENT;
	hp->in_use--;
}

static void drop(struct hp_ufs *hp, struct hp_ufs_segment *s)
{
	WARN_ON_ONCE(s->dirty || s->writing || s->pins);
	stay(hp, s);
	list_del_init(&s->use);
	release(hp, s);
	hp->stats.segments_dropped++;
}

/* Slots that the next change cannot have. */
static u32 reserved(struct hp_ufs *hp)
{
	return hp->loading + hp->pinned;
}

static bool head_waits(struct hp_ufs *hp)
{
	return hp->head >= 0 && hp->segment[hp->head].state == HP_UFS_ABSENT;
}

static struct hp_ufs_segment *demanded(struct hp_ufs *hp)
{
	struct hp_ufs_segment *s;

	while ((s = list_first_entry_or_null(&hp->wanted, struct hp_ufs_segment, wanted))) {
		if (s->state == HP_UFS_ABSENT)
			return reserved(hp) + 1 < hp->limit ? s : NULL;
		list_del_init(&s->wanted);
	}
	return NULL;
}

/* The next segment to read; -1 if there is none, or no room. */
s64 hp_ufs_next_load(struct hp_ufs *hp)
{
	struct hp_ufs_segment *s;
	bool head = head_waits(hp);
	struct page *page;

	if (hp->in_use >= hp->limit)
		return -1;
	s = head ? &hp->segment[hp->head] : demanded(hp);
	if (!s)
		return -1;
	page = mempool_alloc(hp->pages, GFP_NOWAIT | __GFP_NOWARN);
	hp->memory_short = !page;
	if (!page)
		return -1;
	if (head)
		hp->head_loading = hp->head;
	else
		hp->loading++;
	if (!list_empty(&s->wanted))
		list_del_init(&s->wanted);
	s->places = page_address(page);
	s->state = HP_UFS_LOADING;
	hp->in_use++;
	hp->stats.segment_reads++;
	return number_of(hp, s);
}

/* A segment has been read; NULL if that has failed. */
void hp_ufs_loaded(struct hp_ufs *hp, u32 segment, const __be32 *places)
{
	struct hp_ufs_segment *s = &hp->segment[segment];
	u32 i;

	if (WARN_ON_ONCE(s->state != HP_UFS_LOADING))
		return;
	if (hp->head_loading == segment)
		hp->head_loading = -1;
	else
		hp->loading--;
	if (!places) {
		hp->stats.segment_read_failures++;
		release(hp, s);
		hp_ufs_want(hp, segment);
		return;
	}
	for (i = 0; i < HP_UFS_SEGMENT_ENTRIES; i++) {
		s->places[i] = be32_to_cpu(places[i]);
		if (s->places[i] && !hp_ufs_is_place(hp, s->places[i]))
			hp_ufs_distrust(hp, "segment %u has place %u", segment, s->places[i] - 1);
	}
	s->state = HP_UFS_CACHED;
	s->dirty = 0;
	s->writing = 0;
	s->unused = 0;
	list_add_tail(&s->use, &hp->use);
}

static bool is_evictable(struct hp_ufs_segment *s)
{
	return !s->writing && !s->pins && !s->under_way;
}

/*
 * Drops the segments used longest ago until enough slots are free (III-D, III-F). True if one of them has to be written
 * back first.
 */
bool hp_ufs_make_room(struct hp_ufs *hp, u32 *dirty)
{
	/* Without memory the segments that are there are as many as there can be. */
	u32 limit = hp->memory_short ? min(hp->limit, hp->in_use) : hp->limit;
	u32 spare = limit < hp->segments ? min_t(u32, SPARE_SLOTS, limit / 4) : 0;
	u32 needed = max_t(u32, spare, head_waits(hp) || demanded(hp));
	struct hp_ufs_segment *s, *next;

	list_for_each_entry_safe(s, next, &hp->use, use) {
		if (hp->in_use + needed <= limit + hp->leaving)
			return false;
		if (!is_evictable(s))
			continue;
		if (!s->dirty) {
			drop(hp, s);
			continue;
		}
		if (hp->leaving >= EVICTION_WRITES)
			return false;
		hp->stats.segment_writebacks_evict++;
		*dirty = number_of(hp, s);
		return true;
	}
	return false;
}

/* Drops clean segments that no request has used for some periods (III-F). True if one has to be written back first. */
bool hp_ufs_give_up_unused(struct hp_ufs *hp, u32 *dirty)
{
	struct hp_ufs_segment *s, *next;

	if (!hp->giving_up)
		return false;
	list_for_each_entry_safe(s, next, &hp->use, use) {
		if (s->unused <= PERIODS || hp->leaving >= EVICTION_WRITES)
			break;
		if (!is_evictable(s))
			continue;
		hp->stats.segments_expired++;
		if (s->dirty) {
			*dirty = number_of(hp, s);
			return true;
		}
		drop(hp, s);
	}
	/* A writeback that ends makes room for the next one. */
	hp->giving_up = hp->leaving >= EVICTION_WRITES;
	return false;
}

/* Gives back memory of clean segments, those used longest ago first. */
u32 hp_ufs_drop_clean(struct hp_ufs *hp, u32 most)
{
	struct hp_ufs_segment *s, *next;
	u32 n = 0;

	list_for_each_entry_safe(s, next, &hp->use, use) {
		if (n == most)
			break;
		if (is_evictable(s) && !s->dirty) {
			drop(hp, s);
			n++;
		}
	}
	return n;
}

/* The device wants a segment back, once (4.8). */
void hp_ufs_hint(struct hp_ufs *hp, u32 segment)
{
	struct hp_ufs_segment *s = &hp->segment[segment];

	if ((s->under_way && s->written_at == hp->host_number) || !list_empty(&s->hinted))
		return;
	list_add_tail(&s->hinted, &hp->hinted);
}

/* The driver gives up: everything that flash lacks is to be written (5.2). */
void hp_ufs_hint_all(struct hp_ufs *hp)
{
	struct hp_ufs_segment *s;

	list_for_each_entry(s, &hp->use, use)
		if (s->dirty)
			hp_ufs_hint(hp, number_of(hp, s));
}

bool hp_ufs_next_hinted(struct hp_ufs *hp, u32 *segment)
{
	struct hp_ufs_segment *s;

	list_for_each_entry(s, &hp->hinted, hinted) {
		if (s->state == HP_UFS_LOADING || s->under_way)
			continue;
		list_del_init(&s->hinted);
		*segment = number_of(hp, s);
		return true;
	}
	return false;
}

/*
 * Begins a writeback: copies the quarters with changes, or nothing if there are none (4.5). A segment that is to leave
 * is written whole, for what was written together is read together. Gives byte 1 of the command.
 */
u8 hp_ufs_start_write(struct hp_ufs *hp, u32 segment, bool leave, void *data, u32 *bytes)
{
	struct hp_ufs_segment *s = &hp->segment[segment];
	__be32 *to = data;
	u32 quarters, i;

	s->under_way = true;
	s->written_at = hp->host_number;
	*bytes = 0;
	if (s->state != HP_UFS_CACHED || !s->dirty) {
		hp->stats.attests++;
		return 0;
	}
	hp->stats.segment_writebacks++;
	s->writing = s->dirty;
	s->dirty = 0;
	if (leave) {
		s->leaving = true;
		hp->leaving++;
	}
	quarters = leave ? HP_UFS_ALL_QUARTERS : s->writing;
	for (i = 0; i < HP_UFS_SEGMENT_ENTRIES; i++)
		if (quarters & 1 << i / HP_UFS_QUARTER_ENTRIES)
			*to++ = cpu_to_be32(s->places[i]);
	*bytes = (void *)to - data;
	return quarters == HP_UFS_ALL_QUARTERS ? 0 : quarters;
}

/* A writeback has ended. If it has failed, the segment has to be written again. */
void hp_ufs_written(struct hp_ufs *hp, u32 segment, bool good)
{
	struct hp_ufs_segment *s = &hp->segment[segment];
	bool leaves = s->leaving;

	s->under_way = false;
	if (!s->writing)
		return;
	if (!good)
		s->dirty |= s->writing;
	s->writing = 0;
	stay(hp, s);
	if (leaves && good && !s->dirty && !s->pins)
		drop(hp, s);
}

/* Changes. */

static void discard(struct hp_ufs *hp, u32 place)
{
	u32 block;

	hp->stats.units_discarded++;
	if (!place)
		return;
	/* The device may not learn in another way that the block is empty. */
	block = hp_ufs_block_of(hp, place);
	__clear_bit(block, hp->refused);
	if (!hp->valid_count[block])
		hp_ufs_push_freed(hp, block);
}

/* Applies the changes of an entry to its segment, which is cached (4.1, 4.3). */
static void apply(struct hp_ufs *hp, const struct hp_ufs_entry *entry)
{
	struct hp_ufs_segment *s = &hp->segment[entry->lpa >> HP_UFS_SEGMENT_SHIFT];
	u32 at = entry->lpa % HP_UFS_SEGMENT_ENTRIES, i;

	for (i = 0; i < entry->changes; i++) {
		u32 new = entry->place ? entry->place + i : 0;
		u32 old = s->places[at + i];

		if (entry->source && (!hp_ufs_is_place(hp, old) || entry->source - 1 != hp_ufs_block_of(hp, old))) {
			discard(hp, new);
			continue;
		}
		s->places[at + i] = new;
		s->dirty |= hp->part_of[(at + i) / HP_UFS_QUARTER_ENTRIES];
		if (hp_ufs_is_place(hp, old))
			hp_ufs_clear_valid(hp, old);
		if (new) {
			u32 block = hp_ufs_block_of(hp, new);

			hp_ufs_set_valid(hp, new);
			hp->filled[block] = max(hp->filled[block], entry->number + i);
			__clear_bit(block, hp->refused);
		}
		hp->stats.units_applied++;
	}
	stay(hp, s);
	hp->host_number = entry->number + entry->changes - 1;
}

/* Takes off what has been applied already. False if nothing is left. */
static bool trim(struct hp_ufs *hp, struct hp_ufs_entry *entry)
{
	u64 known;

	if (entry->number > hp->host_number)
		return true;
	known = hp->host_number - entry->number + 1;
	if (known >= entry->changes)
		return false;
	entry->number += known;
	entry->lpa += known;
	entry->changes -= known;
	if (entry->place)
		entry->place += known;
	return true;
}

/* Keeps an entry for later. False if it is there already, or there is no room. */
static bool keep(struct hp_ufs *hp, const struct hp_ufs_entry *entry)
{
	struct rb_node **at = &hp->early.rb_node, *parent = NULL;
	struct hp_ufs_entry *e;

	while (*at) {
		parent = *at;
		e = rb_entry(parent, struct hp_ufs_entry, node);
		if (e->number == entry->number) {
			if (entry->changes <= e->changes)
				return false;
			/* The device lengthens entries. */
			e->changes = entry->changes;
			return true;
		}
		at = entry->number < e->number ? &parent->rb_left : &parent->rb_right;
	}
	if (list_empty(&hp->unused_entries)) {
		/* It comes again when there is room. */
		hp->lost = true;
		return false;
	}
	e = list_first_entry(&hp->unused_entries, struct hp_ufs_entry, unused);
	list_del(&e->unused);
	*e = *entry;
	rb_link_node(&e->node, parent, at);
	rb_insert_color(&e->node, &hp->early);
	hp->entries_waiting++;
	hp->stats.reorder_peak = max_t(u64, hp->stats.reorder_peak, hp->entries_waiting);
	return true;
}

static struct hp_ufs_entry *first_early(struct hp_ufs *hp)
{
	return rb_entry_safe(rb_first(&hp->early), struct hp_ufs_entry, node);
}

static void free_entry(struct hp_ufs *hp, struct hp_ufs_entry *e)
{
	rb_erase(&e->node, &hp->early);
	list_add(&e->unused, &hp->unused_entries);
	hp->entries_waiting--;
}

/* Applies as many waiting changes as possible, in order and without gaps (4.1). */
void hp_ufs_apply_waiting(struct hp_ufs *hp)
{
	s64 stalled_at = hp->head;
	struct hp_ufs_entry *e, entry;
	u32 segment;

	hp->head = -1;
	while ((e = first_early(hp))) {
		entry = *e;
		if (!trim(hp, &entry)) {
			hp->stats.entries_duplicate++;
			free_entry(hp, e);
			continue;
		}
		if (entry.number != hp->host_number + 1)
			return;
		segment = entry.lpa >> HP_UFS_SEGMENT_SHIFT;
		if (hp->segment[segment].state != HP_UFS_CACHED) {
			hp->stats.reorder_stalls += stalled_at != segment;
			hp->head = segment;
			return;
		}
		free_entry(hp, e);
		apply(hp, &entry);
	}
}

/* What the device must not say (5): entries outside the device, of no length, or across a segment. */
static bool is_sound(struct hp_ufs *hp, const struct hp_ufs_entry *e)
{
	u32 at = e->lpa % HP_UFS_SEGMENT_ENTRIES;

	if (!e->changes || e->changes > HP_UFS_MOST_CHANGES || at + e->changes > HP_UFS_SEGMENT_ENTRIES ||
	    (u64)e->lpa + e->changes > hp->units)
		hp_ufs_distrust(hp, "an entry of %u changes from LBA %u on", e->changes, e->lpa);
	else if (e->place && (u64)e->place + e->changes - 1 > (u64)hp->blocks * hp->block_units)
		hp_ufs_distrust(hp, "an entry with place %u of %u changes", e->place - 1, e->changes);
	else if (e->source > hp->blocks)
		hp_ufs_distrust(hp, "an entry with source block %u", e->source - 1);
	else
		return true;
	return false;
}

/* An entry has come. */
void hp_ufs_take_entry(struct hp_ufs *hp, const struct hp_ufs_piggyback *wire)
{
	u32 low = be32_to_cpu(wire->number);
	struct hp_ufs_entry entry = {
		.lpa = be32_to_cpu(wire->first),
		.place = be32_to_cpu(wire->place),
		/* It is within 2^31 of what is known (1.3). */
		.number = hp->host_number + (s32)(low - (u32)hp->host_number),
		.source = be16_to_cpu(wire->block),
		.changes = wire->changes,
	};
	u32 segment = entry.lpa >> HP_UFS_SEGMENT_SHIFT;

	hp->stats.entries_received++;
	if (!is_sound(hp, &entry))
		return;
	if (!trim(hp, &entry)) {
		hp->stats.entries_duplicate++;
		return;
	}
	if (entry.number == hp->host_number + 1 && hp->segment[segment].state == HP_UFS_CACHED) {
		apply(hp, &entry);
		hp->stats.reorder_peak = max_t(u64, hp->stats.reorder_peak, hp->entries_waiting + 1);
	} else {
		if (!keep(hp, &entry))
			hp->stats.entries_duplicate++;
		/* GC moves pages of any segment; one load after the other would hold up all that is behind. */
		hp_ufs_want(hp, segment);
	}
	hp_ufs_apply_waiting(hp);
}

/* Everything. */

/* Makes room for what is to be known of a device whose description has been read. */
int hp_ufs_map_init(struct hp_ufs *hp, u32 entries)
{
	u32 i, parts = clamp_t(u32, hp->part_entries / HP_UFS_QUARTER_ENTRIES, 1, 4);

	INIT_LIST_HEAD(&hp->use);
	INIT_LIST_HEAD(&hp->wanted);
	INIT_LIST_HEAD(&hp->hinted);
	INIT_LIST_HEAD(&hp->unused_entries);
	hp->early = RB_ROOT;
	hp->block_words = DIV_ROUND_UP(hp->block_units, 64);
	for (i = 0; i < 4; i++)
		hp->part_of[i] = (BIT(parts) - 1) << i / parts * parts;
	hp->segment = vzalloc(array_size(hp->segments, sizeof(*hp->segment)));
	hp->entries = vzalloc(array_size(entries, sizeof(*hp->entries)));
	hp->valid = vzalloc(array3_size(hp->blocks, hp->block_words, sizeof(u64)));
	hp->valid_count = vzalloc(array_size(hp->blocks, sizeof(u32)));
	hp->filled = vzalloc(array_size(hp->blocks, sizeof(u64)));
	hp->freed = vzalloc(array_size(hp->blocks, sizeof(u16)));
	hp->refused = bitmap_zalloc(hp->blocks, GFP_KERNEL);
	hp->is_freed = bitmap_zalloc(hp->blocks, GFP_KERNEL);
	/* Two, so that one is left for the next change whatever else is short (4.9). */
	hp->pages = mempool_create_page_pool(2, 0);
	if (!hp->segment || !hp->entries || !hp->valid || !hp->valid_count || !hp->filled || !hp->freed ||
	    !hp->refused || !hp->is_freed || !hp->pages)
		return -ENOMEM;
	for (i = 0; i < hp->segments; i++) {
		INIT_LIST_HEAD(&hp->segment[i].use);
		INIT_LIST_HEAD(&hp->segment[i].wanted);
		INIT_LIST_HEAD(&hp->segment[i].hinted);
	}
	for (i = 0; i < entries; i++)
		list_add_tail(&hp->entries[i].unused, &hp->unused_entries);
	hp->head = -1;
	hp->head_loading = -1;
	hp->survey = -1;
	hp->bitmap_of = -1;
	hp->fruitless = -1;
	return 0;
}

/* Everything that is known is out of date. */
void hp_ufs_forget(struct hp_ufs *hp)
{
	struct hp_ufs_entry *e;
	u32 i;

	while ((e = first_early(hp)))
		free_entry(hp, e);
	for (i = 0; i < hp->segments; i++) {
		struct hp_ufs_segment *s = &hp->segment[i];

		if (s->places)
			mempool_free(virt_to_page(s->places), hp->pages);
		s->places = NULL;
		s->state = HP_UFS_ABSENT;
		s->dirty = 0;
		s->writing = 0;
		s->pins = 0;
		s->under_way = false;
		s->leaving = false;
		list_del_init(&s->use);
		list_del_init(&s->wanted);
		list_del_init(&s->hinted);
	}
	memset(hp->valid, 0, array3_size(hp->blocks, hp->block_words, sizeof(u64)));
	memset(hp->valid_count, 0, array_size(hp->blocks, sizeof(u32)));
	memset(hp->filled, 0, array_size(hp->blocks, sizeof(u64)));
	bitmap_zero(hp->refused, hp->blocks);
	bitmap_zero(hp->is_freed, hp->blocks);
	hp->freed_first = 0;
	hp->freed_count = 0;
	hp->in_use = 0;
	hp->loading = 0;
	hp->leaving = 0;
	hp->pinned = 0;
	hp->head = -1;
	hp->head_loading = -1;
	hp->bitmap_of = -1;
	hp->fruitless = -1;
	hp->entries_wait = false;
	hp->victim_wanted = false;
	hp->transferring = false;
	hp->sending_bitmap = false;
	hp->gap_asked = 0;
}

void hp_ufs_set_limit(struct hp_ufs *hp, unsigned int kib)
{
	u32 limit = kib ? kib / 4 : hp->segments;

	hp->limit = clamp_t(u32, limit, 2, max_t(u32, hp->segments, 2));
}

void hp_ufs_map_exit(struct hp_ufs *hp)
{
	u32 i;

	for (i = 0; hp->segment && hp->pages && i < hp->segments; i++)
		if (hp->segment[i].places)
			mempool_free(virt_to_page(hp->segment[i].places), hp->pages);
	mempool_destroy(hp->pages);
	bitmap_free(hp->is_freed);
	bitmap_free(hp->refused);
	vfree(hp->freed);
	vfree(hp->filled);
	vfree(hp->valid_count);
	vfree(hp->valid);
	vfree(hp->entries);
	vfree(hp->segment);
}
