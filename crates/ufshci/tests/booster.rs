//! WriteBooster, health and exception events, as a driver like that of Linux 6.1 asks for them.

use ufs::{Booster, BoosterControl, BoosterFlags, FlushStatus, ResizeHint, ResizeStatus, UserSpace};
use ufshci::Description;
use units::LogicalUnits;

use crate::host::{BLOCK, Host, INFO, up};

/// 1 GiB as configured, of which three quarters are there, and a ninth of that is full.
const BOOSTER: Booster = Booster {
    configured_units: 256 * 1024,
    capacity_factor: 3,
    user_space: UserSpace::Preserved,
    flags: BoosterFlags { enabled: true, flush: true, flush_in_hibernation: true },
    current_units: 192 * 1024,
    available_units: 170 * 1024,
    kept_units: 5 * 1024,
    flush: FlushStatus::Completed,
    resize: ResizeStatus::Failed,
    hint: ResizeHint::Keep,
    life_time: 7,
};

fn boosted(booster: Booster) -> Host {
    let mut host = Host::new(false, false);
    host.controller.medium_mut().booster = Some(booster);
    host.controller.switch_on();
    host.bring_up();
    host
}

const READ: u8 = 0x01;
const WRITE: u8 = 0x81;

impl Host {
    fn attribute(&mut self, idn: u8) -> u32 {
        let (response, value, _) = self.query(READ, 3, idn, 0);
        assert_eq!(response, 0, "attribute {idn:x}h");
        value
    }

    fn set_attribute(&mut self, idn: u8, value: u32) -> u8 {
        self.query_with(WRITE, [4, idn, 0, 0], value).0
    }

    fn told(&mut self) -> Vec<BoosterControl> {
        std::mem::take(&mut self.controller.medium_mut().told)
    }
}

/// As `ufshcd_wb_probe` of Linux 6.1 looks for it.
#[test]
fn a_driver_finds_write_booster_and_switches_it_on() {
    let mut host = boosted(BOOSTER);
    let (_, _, device) = host.query(READ, 1, 0x00, 0);
    assert_eq!((&device[0x10..0x12], &device[0x4F..0x53]), (&[4, 0x10][..], &[0, 0, 1, 0][..]));
    assert_eq!((&device[0x4D..0x4F], &device[0x53..0x59]), (&[0, 3][..], &[1, 1, 0, 0, 1, 0][..]));
    let (_, _, geometry) = host.query(READ, 1, 0x07, 0);
    assert_eq!(geometry[0x4F..0x57], [0, 0, 1, 0, 1, 3, 1, 1]);
    assert_eq!(host.attribute(0x1E), 7);
    let off = [0x0E, 0x0F, 0x10].map(|idn| host.query(READ, 5, idn, 0).1);
    assert_eq!(off, [0; 3], "flags are volatile");
    host.told();
    for idn in [0x0E, 0x0F, 0x10] {
        assert_eq!(host.query(WRITE, 6, idn, 0), (0, 1, vec![]));
    }
    let on = host.controller.medium().booster.unwrap().flags;
    assert_eq!((on, host.told().len()), (BOOSTER.flags, 3));
    assert_eq!(host.query(WRITE, 7, 0x0F, 3), (0, 0, vec![]), "the buffer is shared: any index will do");
    assert_eq!((host.query(READ, 5, 0x0F, 0).1, host.query(READ, 5, 0x0E, 0).1), (0, 1));

    let mut hpb_too = up(true);
    hpb_too.controller.medium_mut().booster = Some(BOOSTER);
    let (_, _, device) = hpb_too.query(READ, 1, 0x00, 0);
    assert_eq!((&device[0x10..0x12], &device[0x51..0x53]), (&[3, 0x10][..], &[1, 0x80][..]));
}

#[test]
fn attributes_of_write_booster_tell_and_take_what_the_standard_says() {
    let mut host = boosted(BOOSTER);
    host.told();
    let read = [0x1C, 0x1D, 0x1F, 0x3C, 0x3E, 0x41].map(|idn| host.attribute(idn));
    assert_eq!(read, [3, 8, 192, 0, 3, 5]);
    assert_eq!(host.told(), [BoosterControl::FlushStatusRead, BoosterControl::ResizeStatusRead]);
    assert_eq!(host.query(READ, 3, 0x3D, 0).0, 0xF6, "write only");
    for idn in [0x1C, 0x1D, 0x1E, 0x1F, 0x3C, 0x3E, 0x41] {
        assert_eq!(host.set_attribute(idn, 1), 0xF7, "{idn:x}h: read only");
    }
    assert_eq!([0, 1, 2, 3].map(|value| host.set_attribute(0x3D, value)), [0, 0, 0, 0xFA]);
    let resizes = [false, true].map(|larger| BoosterControl::Resize { larger });
    assert_eq!(host.told(), resizes);
    assert_eq!([257, 256, 10].map(|value| host.set_attribute(0x40, value)), [0xFA, 0, 0]);
    assert_eq!([2, 1].map(|value| host.set_attribute(0x3F, value)), [0xFA, 0], "no pinned buffer");
    assert_eq!(host.told().last(), Some(&BoosterControl::Keep { units: 10 * 1024 }));
    assert_eq!(host.query(READ, 3, 0x3F, 1).0, 0xFC, "of the device, so its index is 0");
    assert_eq!(host.query_with(READ, [3, 0x1D, 0, 1], 0).0, 0xFB);
    host.controller.switch_on();
    let keeps = host.told().contains(&BoosterControl::Keep { units: 10 * 1024 });
    assert!(keeps && host.controller.medium().booster.unwrap().flags == BoosterFlags::default());

    let mut reduced = boosted(Booster { user_space: UserSpace::Reduced, ..BOOSTER });
    assert_eq!((reduced.set_attribute(0x3D, 1), reduced.query(READ, 1, 0x00, 0).2[0x53]), (0xFF, 0));
}

/// As `ufshcd_wb_probe` of Linux 6.1 looks for it: the first unit with allocation units has the buffer.
#[test]
fn a_dedicated_buffer_is_told_and_steered_by_its_logical_unit() {
    let units = LogicalUnits::of(INFO.capacity_units, &[4096, 4096]);
    let description = Description { boosted_lun: Some(1), ..Host::description(false, false, units) };
    let mut host = Host::described(description);
    host.controller.medium_mut().booster = Some(BOOSTER);
    host.controller.switch_on();
    host.bring_up();
    let (_, _, device) = host.query(READ, 1, 0x00, 0);
    assert_eq!((&device[0x51..0x53], &device[0x53..0x59]), (&[1, 0][..], &[1, 0, 0, 0, 0, 0][..]));
    assert_eq!(host.query(READ, 1, 0x07, 0).2[0x4F..0x57], [0, 0, 1, 0, 1, 3, 1, 0]);
    let allocated = [0, 1, 2].map(|lun| host.query(READ, 1, 0x02, lun).2[0x29..0x2D].to_vec());
    assert_eq!(allocated, [[0; 4], [0, 0, 1, 0], [0; 4]]);
    host.told();
    for idn in [0x0E, 0x0F, 0x10] {
        assert_eq!([0, 1, 2].map(|lun| host.query(WRITE, 6, idn, lun).0), [0xFC, 0, 0xFC]);
        assert_eq!([0, 1].map(|lun| host.query(READ, 5, idn, lun).0), [0xFC, 0]);
    }
    assert_eq!(host.told().len(), 3);
    for idn in [0x1C, 0x1D, 0x1E, 0x1F, 0x3C, 0x3E, 0x40, 0x41] {
        assert_eq!([0, 1, 2].map(|lun| host.query(READ, 3, idn, lun).0), [0xFC, 0, 0xFC], "{idn:x}h");
    }
    assert_eq!([0, 1].map(|lun| host.query_with(WRITE, [4, 0x3D, lun, 0], 1).0), [0xFC, 0], "resize");
    assert_eq!([0, 1].map(|lun| host.query(READ, 3, 0x3F, lun).0), [0, 0xFC], "the mode is the device's");
}

#[test]
fn health_is_told() {
    let mut host = up(false);
    assert_eq!(host.query(READ, 1, 0x09, 0).2[..5], [0x25, 9, 2, 3, 4]);
}

#[test]
fn a_full_buffer_is_an_exception_event_if_the_host_wants_to_hear_of_it() {
    let mut host = boosted(Booster { available_units: 1024, hint: ResizeHint::Increase, ..BOOSTER });
    assert_eq!(host.attribute(0x0E), 1 << 5 | 1 << 8);
    let alert = |host: &mut Host| {
        host.write_blocks(4, 100, &[7; BLOCK]);
        host.wait(4)[9] & 1
    };
    assert_eq!(alert(&mut host), 0, "nobody wants to hear of it");
    host.set_attribute(0x0D, 1 << 5);
    assert_eq!(alert(&mut host), 1);
    host.controller.medium_mut().booster = Some(BOOSTER);
    assert_eq!((alert(&mut host), host.attribute(0x0E)), (0, 0));
}

/// Every operation on everything that could have a name, with values at the edges.
#[test]
fn every_query_has_an_answer_of_the_standard() {
    let wrong = [0xF6, 0xF7, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF];
    for booster in [None, Some(BOOSTER), Some(Booster { user_space: UserSpace::Reduced, ..BOOSTER })] {
        let mut host = up(false);
        host.controller.medium_mut().booster = booster;
        for (idn, opcode) in (0..=255).flat_map(|idn| (0..10).map(move |opcode| (idn, opcode))) {
            for (place, value) in [([0, 0], 0), ([0, 0], 1), ([0, 0], 3), ([1, 0], u32::MAX), ([0, 1], 2), ([9, 9], 7)]
            {
                let function = if matches!(opcode, 1 | 3 | 5) { READ } else { WRITE };
                let (response, told, _) = host.query_with(function, [opcode, idn, place[0], place[1]], value);
                assert!(response == 0 || wrong.contains(&response), "{opcode} {idn:x}h {place:?} {value}: {response}");
                let booster_flag = matches!((opcode, idn), (5..=8, 0x0E..=0x10));
                assert!(!booster_flag || (response != 0xFD) == booster.is_some());
                assert!(!booster_flag || response != 0 || told < 2, "a flag is 0 or 1");
            }
        }
    }
}
