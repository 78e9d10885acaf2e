//! The structures of the Linux driver (`linux/guest/hp_ufs_wire.h`) have the bytes of the codec.
//!
//! The header needs no kernel: the system's compiler makes a program of it, whose output is compared.

use std::path::Path;
use std::process::Command as Process;

use ufsim_ufs::codec::hpufs::{DESCRIPTOR_IDN, PowerOn, descriptor};
use ufsim_ufs::codec::{encode_command, encode_response};
use ufsim_ufs::*;
use units::{Lpa, Ppa, SegmentId, Seq, Superblock};

const INFO: DeviceInfo = DeviceInfo {
    capacity_units: 1 << 30,
    superblocks: 0xABCD,
    superblock_units: 0x1234,
    map_page_entries: 512,
    victims: Victims { policy: VictimPolicy::Choices, choices: 0x0302 },
    ..DeviceInfo::USUAL
};

/// One line for each structure: its bytes in hexadecimal.
const PROGRAM: &str = r#"
#include <endian.h>
#include <stdio.h>
#include "hp_ufs_wire.h"

static void tell(const void *from, unsigned int n)
{
	const unsigned char *bytes = from;

	while (n--)
		printf("%02x", *bytes++);
	printf("\n");
}

int main(void)
{
	struct hp_ufs_extension e = { htobe32(0x0A0B0C0D + 1), htobe32(0x90000001) };
	struct hp_ufs_piggyback entry = {
		htobe32(0x01020300), htobe32(0x11121314 + 1), htobe32(0x80000005), htobe16(0x0708 + 1), 17,
		HP_UFS_KIND_ENTRY | HP_UFS_ENTRIES_WAIT | HP_UFS_VICTIM_WANTED | HP_UFS_WORKS_WHEN_IDLE,
	};
	struct hp_ufs_piggyback write = { .first = htobe32(0x00010203), .kind = HP_UFS_KIND_WRITE };
	struct hp_ufs_piggyback bitmap = { .block = htobe16(0x0405 + 1), .kind = HP_UFS_KIND_BITMAP };
	struct hp_ufs_cdb read = { HP_UFS_SEGMENT_READ, 0, htobe32(0x00010203), { 0, 0x10, 0 } };
	struct hp_ufs_cdb quarters = { HP_UFS_SEGMENT_WRITE, 0x5, htobe32(0x00010203), { 0, 0x08, 0 } };
	struct hp_ufs_cdb again = { HP_UFS_ENTRY_TRANSFER, HP_UFS_AGAIN, 0, { 0, 0x80, 0 } };
	struct hp_ufs_cdb wear = { HP_UFS_VALID_BITMAP, HP_UFS_FOR_WEAR, htobe32(0x0405), { 0, 0, 0x10 } };
	struct hp_ufs_descriptor d = {
		sizeof(d), HP_UFS_DESCRIPTOR_IDN, htobe16(HP_UFS_VERSION), htobe32(0xABCD), htobe32(0x1234), htobe16(512),
		htobe16(0x0302), HP_UFS_CHOICES, { 0 }, htobe32(0x21222324), htobe64(0x3132333435363738),
	};

	printf("%d %d %d\n", HP_UFS_EXTENSION_AT, HP_UFS_SET_FREED, HP_UFS_SET_MAPPED);
	tell(&e, sizeof(e));
	tell(&entry, sizeof(entry));
	tell(&write, sizeof(write));
	tell(&bitmap, sizeof(bitmap));
	tell(&read, sizeof(read));
	tell(&quarters, sizeof(quarters));
	tell(&again, sizeof(again));
	tell(&wear, sizeof(wear));
	tell(&d, sizeof(d));
	return 0;
}
"#;

fn lines_of_c() -> Vec<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join("linux_wire.c"), folder.join("linux_wire"));
    std::fs::write(&source, PROGRAM).unwrap();
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../linux/guest");
    let mut cc = Process::new("cc");
    cc.args(["-std=gnu11", "-Wall", "-Werror", "-I"]).arg(headers).arg(&source).arg("-o").arg(&program);
    assert!(cc.status().expect("a C compiler is there, as Rust links with it").success());
    let told = Process::new(&program).output().unwrap();
    String::from_utf8(told.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn command(op: Op, data: DataOut) -> Vec<u8> {
    let mut bytes = Vec::new();
    let command = Command { tag: Tag(1), op, host_seq: Seq(0x0001_9000_0001), freed: None, data };
    encode_command(&command, &INFO, &mut bytes).unwrap();
    bytes
}

fn piggyback(piggyback: PiggyBack) -> String {
    let mut bytes = Vec::new();
    let (status, data, hpb) = (Status::Good, DataIn::None, HpbNotice::None);
    encode_response(&Response { tag: Tag(1), status, data, hpb, piggyback }, &Op::Flush, &INFO, &mut bytes).unwrap();
    hex(&bytes[16..32])
}

fn cdb(op: Op, data: DataOut) -> String {
    hex(&command(op, data)[16..26])
}

#[test]
fn structures_of_the_linux_driver_are_those_of_the_codec() {
    let lpa = Lpa(0x0102_0300);
    let mapped = command(Op::MappedRead { lpa, len: 1, ppa: Some(Ppa(0x0A0B_0C0D)) }, DataOut::None);
    let freed = command(Op::Flush, DataOut::None);
    let entry = L2pEntry {
        lpa,
        ppa: Some(Ppa(0x1112_1314)),
        seq: Seq(0x0001_8000_0005),
        len: 17,
        source: Some(Superblock(0x0708)),
    };
    let all = PiggyBack { notice: Notice::Entry(entry), want_entries: true, want_victim: true, works_when_idle: true };
    let segment = SegmentId(0x0001_0203);
    let notice = |notice| piggyback(PiggyBack { notice, ..PiggyBack::default() });
    let quarters = DataOut::SegmentParts(Quarters::new(5).unwrap(), Box::new([0; 1024]));
    let block = Superblock(0x0405);
    let wear = Op::ValidBitmap { block, reason: BitmapFor::WearLevelling };
    let power_on = PowerOn { count: 0x2122_2324, last_change: Seq(0x3132_3334_3536_3738) };
    let wanted = [
        format!("{} {} {}", mapped.len() - 8, freed[4], mapped[4]),
        hex(&mapped[32..]),
        piggyback(all),
        notice(Notice::WriteSegment(segment)),
        notice(Notice::BitmapOf(block)),
        cdb(Op::SegmentRead { segment }, DataOut::None),
        cdb(Op::SegmentWrite { segment }, quarters),
        cdb(Op::EntriesAgain, DataOut::None),
        cdb(wear, DataOut::Bitmap(Box::new([0, 0]))),
        hex(&descriptor(&INFO, power_on)),
    ];
    assert_eq!(lines_of_c(), wanted);
    assert_eq!(DESCRIPTOR_IDN, 0xF0);
}
