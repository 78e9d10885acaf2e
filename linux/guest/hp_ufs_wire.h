/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a host and an HP-UFS device say to each other: docs/reference/hp-ufs-protocol.md of ufsim, whose clauses are
 * named here. All fields are big-endian. A field is packed if 0 means none and other values are one more than what they
 * mean (1.4). This header needs no kernel: a test compiles it, and compares its bytes with those of ufsim's codec.
 */
#ifndef HP_UFS_WIRE_H
#define HP_UFS_WIRE_H

#include <linux/types.h>

/* Changes of a segment, and its bytes (1.1). */
#define HP_UFS_SEGMENT_SHIFT	10
#define HP_UFS_SEGMENT_ENTRIES	(1u << HP_UFS_SEGMENT_SHIFT)
#define HP_UFS_SEGMENT_BYTES	4096
#define HP_UFS_QUARTER_ENTRIES	256
#define HP_UFS_QUARTER_BYTES	1024
#define HP_UFS_ALL_QUARTERS	0xf

/* Command set types (2.1), and where the extension lies in the request UPIU. */
#define HP_UFS_SET_FREED	0x8
#define HP_UFS_SET_MAPPED	0x9
#define HP_UFS_EXTENSION_AT	32

struct hp_ufs_extension {
	/* A freed block or the place of the first block of a read, packed. */
	__be32 address;
	/* Low bits of the last change that the host has applied. */
	__be32 host_number;
} __attribute__((packed));

/* Bytes 16 to 31 of a RESPONSE UPIU (2.2), and the entries of a transfer. */
#define HP_UFS_KIND		0x0f
#define HP_UFS_KIND_NONE	0
#define HP_UFS_KIND_ENTRY	1
#define HP_UFS_KIND_WRITE	2
#define HP_UFS_KIND_BITMAP	3
#define HP_UFS_ENTRIES_WAIT	0x10
#define HP_UFS_VICTIM_WANTED	0x20
#define HP_UFS_WORKS_WHEN_IDLE	0x40
#define HP_UFS_MOST_CHANGES	32

struct hp_ufs_piggyback {
	/* First LPA of an entry, or a segment. */
	__be32 first;
	/* Place of the first change, packed. */
	__be32 place;
	/* Number of the first change. */
	__be32 number;
	/* Source of a copy, or the block of which a bitmap is wanted, packed. */
	__be16 block;
	__u8 changes;
	__u8 kind;
} __attribute__((packed));

/* The four commands (2.3). */
#define HP_UFS_SEGMENT_READ	0xc0
#define HP_UFS_SEGMENT_WRITE	0xc1
#define HP_UFS_ENTRY_TRANSFER	0xc2
#define HP_UFS_VALID_BITMAP	0xc3
#define HP_UFS_AGAIN		0x01
#define HP_UFS_FOR_WEAR		0x01
#define HP_UFS_TRANSFER_ENTRIES	2048

struct hp_ufs_cdb {
	__u8 code;
	__u8 flags;
	__be32 argument;
	__u8 bytes[3];
	__u8 reserved;
} __attribute__((packed));

/* The HP-UFS descriptor (3.1). */
#define HP_UFS_DESCRIPTOR_IDN	0xf0
#define HP_UFS_VERSION		0x0100
enum hp_ufs_policy {
	HP_UFS_GREEDY = 0,
	HP_UFS_COST_BENEFIT = 1,
	HP_UFS_FIFO = 2,
	HP_UFS_CHOICES = 3,
};

struct hp_ufs_descriptor {
	__u8 length;
	__u8 idn;
	__be16 version;
	__be32 blocks;
	__be32 block_units;
	/* Changes of the parts in which segments are written: 256, 512 or 1024. */
	__be16 part_entries;
	__be16 victim_choices;
	__u8 victim_policy;
	__u8 reserved[3];
	/* How often the device was switched on, and the last change that it then found (3.2). */
	__be32 power_ons;
	__be64 last_change;
} __attribute__((packed));

#endif
