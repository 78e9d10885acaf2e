//! What the oracle lets pass, and what it refuses.

use super::*;

const A: Lpa = Lpa(5);

fn one(lpa: Lpa, stamp: u32) -> DataIn {
    DataIn::One(Some(Content { lpa, stamp }))
}

/// Submits a read, lets `during` happen, and ends the read with `data`.
fn read(oracle: &mut Oracle, data: &DataIn, during: impl FnOnce(&mut Oracle)) -> Result<(), Violation> {
    let mut memory = Remembered::default();
    oracle.read_submitted(A, 1, &mut memory);
    during(oracle);
    oracle.read_done(A, 1, &memory, data)
}

fn write(oracle: &mut Oracle) -> u32 {
    let number = oracle.write_submitted(A, 1);
    oracle.write_acked(A, 1, number);
    number
}

fn trim(oracle: &mut Oracle) -> u32 {
    let number = oracle.trim_submitted(A, 1);
    oracle.trim_acked(A, 1, number);
    number
}

#[test]
fn an_unwritten_unit_reads_as_zeroes_and_nothing_else() {
    let mut oracle = Oracle::new(16);
    assert!(read(&mut oracle, &DataIn::One(None), |_| ()).is_ok());
    assert!(read(&mut oracle, &one(A, 1), |_| ()).is_err());
}

#[test]
fn old_data_foreign_data_and_zeroes_are_refused() {
    let mut oracle = Oracle::new(16);
    let old = write(&mut oracle);
    let new = write(&mut oracle);
    assert!(read(&mut oracle, &one(A, new), |_| ()).is_ok());
    let error = read(&mut oracle, &one(A, old), |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "read of LPA 5 (unit 0 of 1): expected LPA 5 of write 2, got LPA 5 of write 1");
    assert!(read(&mut oracle, &one(Lpa(6), new), |_| ()).is_err());
    assert!(read(&mut oracle, &one(A, new + 1), |_| ()).is_err());
    assert!(read(&mut oracle, &DataIn::One(None), |_| ()).is_err());
    assert!(read(&mut oracle, &DataIn::None, |_| ()).is_err());
}

#[test]
fn a_write_under_way_may_be_seen_or_not() {
    for seen in [1, 2] {
        let mut oracle = Oracle::new(16);
        write(&mut oracle);
        oracle.write_submitted(A, 1);
        assert!(read(&mut oracle, &one(A, seen), |_| ()).is_ok());
    }
    let mut oracle = Oracle::new(16);
    write(&mut oracle);
    assert!(
        read(&mut oracle, &one(A, 1), |o| assert_eq!(write(o), 2)).is_ok(),
        "what was acknowledged at submission counts"
    );
    assert!(read(&mut oracle, &one(A, 1), |_| ()).is_err());
}

#[test]
fn a_late_acknowledgement_of_an_older_write_changes_nothing() {
    let mut oracle = Oracle::new(16);
    let slow = oracle.write_submitted(A, 1);
    let fast = write(&mut oracle);
    oracle.write_acked(A, 1, slow);
    assert!(read(&mut oracle, &one(A, fast), |_| ()).is_ok());
    assert!(read(&mut oracle, &one(A, slow), |_| ()).is_err());
}

#[test]
fn trimmed_data_does_not_come_back() {
    let mut oracle = Oracle::new(16);
    let old = write(&mut oracle);
    trim(&mut oracle);
    assert!(read(&mut oracle, &DataIn::One(None), |_| ()).is_ok());
    let error = read(&mut oracle, &one(A, old), |_| ()).unwrap_err();
    assert_eq!(error.expected, "LPA 5 trimmed by 2");
    let new = write(&mut oracle);
    assert!(read(&mut oracle, &one(A, new), |_| ()).is_ok());
    assert!(read(&mut oracle, &DataIn::One(None), |_| ()).is_err());
}

#[test]
fn a_trim_under_way_may_be_seen_or_not() {
    for data in [DataIn::One(None), one(A, 1)] {
        let mut oracle = Oracle::new(16);
        write(&mut oracle);
        oracle.trim_submitted(A, 1);
        assert!(read(&mut oracle, &data, |_| ()).is_ok());
    }
    let mut oracle = Oracle::new(16);
    write(&mut oracle);
    oracle.trim_submitted(Lpa(6), 2);
    assert!(read(&mut oracle, &DataIn::One(None), |_| ()).is_err(), "a trim of other units is no excuse");
}

#[test]
fn a_read_remembers_a_trim_that_a_write_has_hidden_since() {
    let mut oracle = Oracle::new(16);
    write(&mut oracle);
    let hide = |o: &mut Oracle| {
        trim(o);
        write(o);
        elsewhere(o, 1000);
    };
    assert!(read(&mut oracle, &DataIn::One(None), hide).is_ok());
    assert!(read(&mut oracle, &DataIn::One(None), |_| ()).is_err());
}

#[test]
fn a_write_to_another_address_is_no_excuse() {
    let mut oracle = Oracle::new(16);
    let old = write(&mut oracle);
    let other = oracle.write_submitted(Lpa(9), 2);
    let error = read(&mut oracle, &one(A, other), |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "read of LPA 5 (unit 0 of 1): expected LPA 5 of write 1, got LPA 5 of write 2");
    assert!(read(&mut oracle, &one(A, other), |o| o.write_acked(Lpa(9), 2, other)).is_err());
    assert!(read(&mut oracle, &one(A, old), |_| ()).is_ok());
    let mut oracle = Oracle::new(16);
    oracle.write_submitted(Lpa(9), 2);
    assert!(read(&mut oracle, &one(A, 1), |_| ()).is_err(), "a unit that was never written");
    let mut oracle = Oracle::new(16);
    oracle.trim_submitted(A, 1);
    assert!(read(&mut oracle, &one(A, 1), |_| ()).is_err(), "the number of a trim is in no unit");
}

#[test]
fn a_read_may_have_met_any_write_since_it_was_submitted() {
    let writes = |o: &mut Oracle| {
        for _ in 0..3 {
            write(o);
        }
        elsewhere(o, 1000);
        begin_a_write_and_a_trim(o);
    };
    for (stamp, good) in
        [(1, false), (2, true), (3, true), (4, true), (5, true), (6, false), (1006, true), (1007, false)]
    {
        let mut oracle = Oracle::new(16);
        write(&mut oracle);
        write(&mut oracle);
        assert_eq!(read(&mut oracle, &one(A, stamp), writes).is_ok(), good, "write {stamp}");
    }
    let mut oracle = Oracle::new(16);
    writes(&mut oracle);
    let error = read(&mut oracle, &one(A, 1), |_| ()).unwrap_err();
    assert_eq!(error.expected, "LPA 5 of write 3, or of write 1004 under way, or trimmed by 1005 under way");
}

/// A write and a trim of the unit that are not acknowledged.
fn begin_a_write_and_a_trim(oracle: &mut Oracle) {
    oracle.write_submitted(A, 1);
    oracle.trim_submitted(A, 1);
}

/// Writes another address.
fn elsewhere(oracle: &mut Oracle, count: u32) {
    for _ in 0..count {
        let number = oracle.write_submitted(Lpa(9), 1);
        oracle.write_acked(Lpa(9), 1, number);
    }
}

#[test]
fn a_write_that_has_been_replaced_does_not_come_back() {
    let mut oracle = Oracle::new(16);
    let (first, second) = (oracle.write_submitted(A, 1), oracle.write_submitted(A, 1));
    oracle.write_acked(A, 1, second);
    assert!(read(&mut oracle, &one(A, first), |_| ()).is_err(), "it is under way, but older than what is acknowledged");
}

#[test]
fn what_was_refused_may_be_there_in_part_until_the_unit_is_written_again() {
    let mut oracle = Oracle::new(16);
    let old = write(&mut oracle);
    let refused = oracle.write_submitted(A, 1);
    oracle.refused(refused);
    let trimmed = oracle.trim_submitted(A, 1);
    oracle.refused(trimmed);
    elsewhere(&mut oracle, 1000);
    let mut oracle = oracle.at_rest();
    for data in [one(A, old), one(A, refused), DataIn::One(None)] {
        assert!(read(&mut oracle, &data, |_| ()).is_ok(), "{data:?}");
    }
    assert!(read(&mut oracle, &one(A, trimmed), |_| ()).is_err());
    let new = write(&mut oracle);
    for (data, good) in
        [(one(A, new), true), (one(A, refused), false), (one(A, old), false), (DataIn::One(None), false)]
    {
        assert_eq!(read(&mut oracle, &data, |_| ()).is_ok(), good, "{data:?}");
    }
}

#[test]
fn what_is_known_survives_a_file() {
    let mut oracle = Oracle::new(16);
    let (written, refused) = (write(&mut oracle), oracle.write_submitted(A, 2));
    oracle.refused(refused);
    let mut file = Writer::new(Vec::new(), "a test", "").expect("memory takes everything");
    oracle.save(&mut file).expect("memory takes everything");
    let bytes = file.finish().expect("memory takes everything");
    let load = |units| Oracle::load(units, &mut Reader::new(&bytes[..], "a test").expect("a file").1);
    let mut again = load(16).expect("the same tables");
    for (stamp, good) in [(written, true), (refused, true), (refused + 1, false)] {
        assert_eq!(read(&mut again, &one(A, stamp), |_| ()).is_ok(), good, "write {stamp}");
    }
    assert_eq!(again.write_submitted(A, 1), refused + 1, "numbers go on");
    assert!(load(15).is_err(), "a device of another size");
}

#[test]
fn a_ledger_tells_what_a_power_cut_may_have_left() {
    let mut ledger = Ledger::new(16);
    let span = |lpa, len| ledger::Span { lpa: Lpa(lpa), len };
    ledger.submitted(span(4, 4), Version::written(1));
    ledger.acked(span(4, 4), Version::written(1), true);
    ledger.submitted(span(4, 3), Version::written(2));
    ledger.submitted(span(7, 1), Version::trimmed(3));
    ledger.power_cut();
    // What is in the middle has been read.
    let expected = ledger.expected(span(5, 1));
    ledger.read(&expected, A, 2).expect("it may be there");
    ledger.submitted(span(4, 1), Version::written(4));
    let oracle = Oracle::of_ledger(&ledger, 3);
    let change = |lpa, effect| Change { lpa: Lpa(lpa), len: 1, effect };
    let doubtful = [(2, change(4, Effect::Write)), (2, change(6, Effect::Write)), (3, change(7, Effect::Trim))];
    assert_eq!((oracle.history.refused(), oracle.history.issued()), (&doubtful[..], 3));
    assert_eq!(oracle.acked[4..8], [1, 2, 1, 1]);
    for (lpa, stamps) in [(4, [true, true, false]), (5, [false, true, false]), (6, [true, true, false])] {
        assert_eq!(
            [1, 2, 4].map(|stamp| stamp == oracle.acked[lpa] || oracle.history.has_written(stamp, Lpa(lpa as u32))),
            stamps
        );
    }
    let mut file = Writer::new(Vec::new(), "a test", "").expect("memory takes everything");
    oracle.save(&mut file).expect("memory takes everything");
    let bytes = file.finish().expect("memory takes everything");
    let again = Oracle::load(16, &mut Reader::new(&bytes[..], "a test").expect("a file").1).expect("the same tables");
    assert_eq!((again.acked, again.history.refused()), (oracle.acked, &doubtful[..]));
}

#[test]
fn numbers_of_refused_requests_have_to_make_sense() {
    let good = [2, 5, 1, 3 | TRIM, 0, 16];
    let found = refused_changes(&good, 3, 16).expect("two changes");
    let trim = Change { lpa: Lpa(0), len: 16, effect: Effect::Trim };
    assert_eq!(found, [(2, Change { lpa: A, len: 1, effect: Effect::Write }), (3, trim)]);
    for (numbers, issued, units) in
        [(&good[..5], 3, 16), (&good, 2, 16), (&good, 3, 15), (&[2, 5, 1, 2, 5, 1], 3, 16), (&[0, 5, 1], 3, 16)]
    {
        assert_eq!(refused_changes(numbers, issued, units), None, "{numbers:?} of {issued} on {units}");
    }
}

#[test]
fn everything_that_was_written_is_listed_with_what_lies_between() {
    let mut oracle = Oracle::new(1000);
    assert!(oracle.written().ranges.is_empty());
    for (lpa, len) in [(130, 1), (250, 10), (900, 3)] {
        let number = oracle.write_submitted(Lpa(lpa), len);
        oracle.write_acked(Lpa(lpa), len, number);
    }
    let trimmed = oracle.trim_submitted(Lpa(901), 1);
    oracle.trim_acked(Lpa(901), 1, trimmed);
    let refused = oracle.write_submitted(Lpa(600), 2);
    oracle.refused(refused);
    let written = oracle.written();
    let ranges: Vec<_> = written.ranges.ranges().iter().map(|range| (range.first.0, range.count)).collect();
    assert_eq!(ranges, [(128, 256), (600, 2), (896, 104)], "the last stretch ends with the device");
    assert_eq!((written.data_units, written.trimmed_units), (13, 1));
}

#[test]
fn every_unit_of_a_long_read_is_checked() {
    let mut oracle = Oracle::new(16);
    let number = oracle.write_submitted(A, 2);
    oracle.write_acked(A, 2, number);
    let mut memory = Remembered::default();
    let content = |lpa, stamp| Some(Content { lpa, stamp });
    for (units, good) in [
        (vec![content(A, 1), content(Lpa(6), 1), None], true),
        (vec![content(A, 1), content(A, 1), None], false),
        (vec![content(A, 1), None, None], false),
        (vec![content(A, 1), content(Lpa(6), 1)], false),
    ] {
        oracle.read_submitted(A, 3, &mut memory);
        assert_eq!(oracle.read_done(A, 3, &memory, &DataIn::Many(units)).is_ok(), good);
    }
}
