// SPDX-License-Identifier: GPL-2.0
/*
 * HP-UFS: which pages are valid, by all changes that have been applied; so what is free, and what is worth collecting.
 */
#include <linux/math64.h>
#include <linux/vmalloc.h>

#include "hp_ufs.h"

/* True for a place that the device has; 0 is none, and a wrong one is the device's to look up (4.4). */
bool hp_ufs_is_place(struct hp_ufs *hp, u32 place)
{
	return place && place <= hp->blocks * hp->block_units;
}

u32 hp_ufs_block_of(struct hp_ufs *hp, u32 place)
{
	return (place - 1) / hp->block_units;
}

static u64 *word_of(struct hp_ufs *hp, u32 place, u64 *mask)
{
	u32 block = hp_ufs_block_of(hp, place), unit = (place - 1) % hp->block_units;

	*mask = 1ULL << (unit % 64);
	return &hp->valid[(size_t)block * hp->block_words + unit / 64];
}

void hp_ufs_push_freed(struct hp_ufs *hp, u32 block)
{
	if (__test_and_set_bit(block, hp->is_freed))
		return;
	hp->freed[(hp->freed_first + hp->freed_count++) % hp->blocks] = block;
}

/* A place is valid from now on. */
void hp_ufs_set_valid(struct hp_ufs *hp, u32 place)
{
	u64 mask, *word = word_of(hp, place, &mask);

	/* Counts follow the bits, so a wrong segment cannot make them run away. */
	if (!(*word & mask))
		hp->valid_count[hp_ufs_block_of(hp, place)]++;
	*word |= mask;
}

void hp_ufs_clear_valid(struct hp_ufs *hp, u32 place)
{
	u64 mask, *word = word_of(hp, place, &mask);
	u32 block = hp_ufs_block_of(hp, place);

	if (!(*word & mask))
		return;
	*word &= ~mask;
	if (!--hp->valid_count[block])
		hp_ufs_push_freed(hp, block);
}

/* The next block to name: one that has not been filled again (4.6). */
s32 hp_ufs_next_freed(struct hp_ufs *hp)
{
	while (hp->freed_count) {
		u32 block = hp->freed[hp->freed_first];

		hp->freed_first = (hp->freed_first + 1) % hp->blocks;
		hp->freed_count--;
		__clear_bit(block, hp->is_freed);
		if (!hp->valid_count[block])
			return block;
	}
	return -1;
}

/* Everything that is not valid is free (3.2). */
void hp_ufs_name_empty(struct hp_ufs *hp)
{
	u32 block;

	for (block = 0; block < hp->blocks; block++)
		if (!hp->valid_count[block])
			hp_ufs_push_freed(hp, block);
}

/* The places of a segment are valid (3.2). */
void hp_ufs_surveyed(struct hp_ufs *hp, const __be32 *places)
{
	u32 i;

	for (i = 0; i < HP_UFS_SEGMENT_ENTRIES; i++) {
		u32 place = be32_to_cpu(places[i]);

		if (hp_ufs_is_place(hp, place))
			hp_ufs_set_valid(hp, place);
		else if (place)
			hp_ufs_distrust(hp, "a segment has place %u", place - 1);
	}
}

static u64 splitmix64(u64 x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* True if the first block is to be collected rather than the second; of equals, the lower number is. */
static bool is_better(struct hp_ufs *hp, u8 policy, u32 one, u32 other)
{
	u64 now = hp->host_number, gain, most;

	switch (policy) {
	case HP_UFS_FIFO:
		return hp->filled[one] < hp->filled[other];
	case HP_UFS_COST_BENEFIT:
		/* Age (1 - u) / 2u, both multiplied by what both have below the line. */
		gain = (now - min(now, hp->filled[one])) * (hp->block_units - hp->valid_count[one]);
		most = (now - min(now, hp->filled[other])) * (hp->block_units - hp->valid_count[other]);
		return div_u64(gain, hp->valid_count[one]) > div_u64(most, hp->valid_count[other]);
	default:
		return hp->valid_count[one] < hp->valid_count[other];
	}
}

static s32 choose(struct hp_ufs *hp, u8 policy, u32 most)
{
	s32 best = -1;
	u32 block;

	for (block = 0; block < hp->blocks; block++) {
		u32 valid = hp->valid_count[block];

		if (!valid || valid > most || test_bit(block, hp->refused))
			continue;
		if (best < 0 || is_better(hp, policy, block, best))
			best = block;
	}
	return best;
}

/* Those of the smallest numbers drawn, so many of them, compete. */
static s32 choose_of_few(struct hp_ufs *hp, u32 most)
{
	u64 last = 0, luck, least;
	s32 best = -1, next;
	u32 block, n;

	for (n = 0; n < hp->victim_choices; n++) {
		next = -1;
		least = U64_MAX;
		for (block = 0; block < hp->blocks; block++) {
			u32 valid = hp->valid_count[block];

			if (!valid || valid > most || test_bit(block, hp->refused))
				continue;
			luck = splitmix64((hp->host_number) ^ splitmix64(block));
			if (luck < least && (!n || luck > last)) {
				least = luck;
				next = block;
			}
		}
		if (next < 0)
			break;
		last = least;
		if (best < 0 || hp->valid_count[next] < hp->valid_count[best] ||
		    (hp->valid_count[next] == hp->valid_count[best] && next < best))
			best = next;
	}
	return best;
}

/* The block that the device wants collected next (4.7); the emptiest if its policy finds none, -1 if none is left. */
s32 hp_ufs_victim(struct hp_ufs *hp)
{
	s32 block;

	if (hp->victim_policy == HP_UFS_CHOICES)
		block = choose_of_few(hp, hp->block_units - 1);
	else
		block = choose(hp, hp->victim_policy, hp->block_units - 1);
	return block >= 0 ? block : choose(hp, HP_UFS_GREEDY, hp->block_units);
}

/* A bit for each page unit, the lowest bit of the lowest byte first, in words of 64 (2.3). */
void hp_ufs_bitmap(struct hp_ufs *hp, u32 block, void *data)
{
	const u64 *from = &hp->valid[(size_t)block * hp->block_words];
	__le64 *to = data;
	u32 i;

	for (i = 0; i < hp->block_words; i++)
		to[i] = cpu_to_le64(from[i]);
}
