//! A host outside that makes its own commands: its data, its own kinds of command, its mistakes, and power cuts.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use lab::{LogPart, Logging, Observe, Outside, Ran, Recorder, SeriesTo, Spec};
use ufs::{Command, DataIn, DataOut, Op, Status, Tag};
use ufsim_attach::{Engine, MemoryStore, Relayed, UNIT};
use units::{Lpa, SegmentId, Seq};

fn machine(scheme: &str) -> (Outside, Engine) {
    let spec = Spec { profile: "tiny".into(), ..Spec::new(scheme, "") };
    let (outside, stack, expected) = Outside::begin(&spec, &mut |_| ControlFlow::Continue(())).expect("a machine");
    (outside, Engine::for_outside(stack, &expected, 7, Box::new(MemoryStore::new())))
}

fn engine(scheme: &str) -> Engine {
    machine(scheme).1
}

fn begin(engine: &mut Engine, tag: u8, op: Op, data: Vec<u8>) {
    let command = Command { tag: Tag(tag), op, host_seq: Seq(0), freed: None, data: DataOut::None };
    engine.relay(engine.now(), command, data);
}

fn end(engine: &mut Engine) -> Relayed {
    loop {
        match engine.relayed() {
            Some(relayed) => return relayed,
            None => engine.step(),
        }
    }
}

fn run(engine: &mut Engine, op: Op, data: Vec<u8>) -> Relayed {
    begin(engine, 5, op, data);
    let relayed = end(engine);
    assert_eq!(relayed.response.tag, Tag(5));
    relayed
}

fn read(engine: &mut Engine, lpa: u32, len: u32) -> Vec<u8> {
    run(engine, Op::Read { lpa: Lpa(lpa), len }, Vec::new()).data
}

fn write(engine: &mut Engine, lpa: u32, value: u8, fua: bool) {
    let ended = run(engine, Op::Write { lpa: Lpa(lpa), len: 1, fua }, vec![value; UNIT]);
    assert_eq!(ended.response.status, Status::Good);
}

#[test]
fn it_may_use_hpb_by_itself() {
    let mut engine = engine("hpb-linux");
    (0..8).for_each(|lpa| write(&mut engine, lpa, lpa as u8 + 1, false));
    run(&mut engine, Op::Flush, Vec::new());
    let buffer = run(&mut engine, Op::HpbReadBuffer { group: 0 }, Vec::new());
    let DataIn::Sealed(entries) = buffer.response.data else { panic!("{buffer:?}") };
    assert!(entries[3] != 0 && buffer.data.is_empty());
    for entry in [entries[3], entries[4], 12345] {
        let op = Op::HpbRead { lpa: Lpa(3), len: 2, entry };
        assert!(run(&mut engine, op, Vec::new()).data == [[4; UNIT], [5; UNIT]].concat(), "entry {entry:x}");
    }
    let counters = engine.stats().device;
    assert_eq!(counters["host_entries_refused"], 2, "one of another unit and an invented one: {counters:?}");
}

#[test]
fn commands_end_in_the_order_of_the_device_each_under_its_tag() {
    let mut engine = engine("ufs");
    write(&mut engine, 1, 7, true);
    begin(&mut engine, 31, Op::Read { lpa: Lpa(1), len: 1 }, Vec::new());
    begin(&mut engine, 0, Op::Write { lpa: Lpa(2), len: 2, fua: false }, vec![9; 2 * UNIT]);
    let (first, second) = (end(&mut engine), end(&mut engine));
    assert!(first.response.tag == Tag(0) && first.data.is_empty());
    assert!(second.response.tag == Tag(31) && second.data == [7; UNIT]);
    assert!(first.at < second.at);
    assert!(read(&mut engine, 2, 2) == [9; 2 * UNIT]);
    run(&mut engine, Op::Unmap { lpa: Lpa(2), len: 1 }, Vec::new());
    assert!(read(&mut engine, 2, 2) == [[0; UNIT], [9; UNIT]].concat());
}

#[test]
fn its_mistakes_end_in_errors() {
    let mut engine = engine("ufs");
    let units = engine.units();
    let mut status = |op, data| run(&mut engine, op, data).response.status;
    assert_eq!(status(Op::Read { lpa: Lpa(units), len: 1 }, Vec::new()), Status::OutOfRange);
    assert_eq!(status(Op::Unmap { lpa: Lpa(units - 1), len: 2 }, Vec::new()), Status::OutOfRange);
    assert_eq!(status(Op::Write { lpa: Lpa(units), len: 1, fua: false }, vec![0; UNIT]), Status::OutOfRange);
    assert_eq!(status(Op::SegmentRead { segment: SegmentId(0) }, Vec::new()), Status::InvalidField);
    assert_eq!(status(Op::Read { lpa: Lpa(0), len: 1 }, Vec::new()), Status::Good);
}

#[test]
fn a_power_cut_takes_what_was_under_way_and_keeps_what_was_promised() {
    let mut engine = engine("hpb-linux");
    for round in 1..=20 {
        write(&mut engine, 0, round, true);
        write(&mut engine, 1, round, false);
        begin(&mut engine, 9, Op::Write { lpa: Lpa(0), len: 1, fua: true }, vec![100 + round; UNIT]);
        engine.cut(engine.now());
        assert_eq!(engine.relayed(), None);
        while !engine.is_ready() {
            engine.step();
        }
        let found = read(&mut engine, 0, 1)[0];
        assert!(found == round || found == 100 + round, "{found} in round {round}");
    }
}

/// Sum of a column of a series.
fn sum(columns: &[lab::Column], name: &str) -> u64 {
    let column = columns.iter().find(|column| column.name == name).expect("a column");
    column.bytes.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).sum()
}

#[test]
fn a_record_goes_on_after_a_power_cut() {
    let (outside, mut engine) = machine("ufs");
    let rows = Arc::new(Mutex::new(Vec::new()));
    let kept = rows.clone();
    let sink = Box::new(move |columns| {
        kept.lock().unwrap().push(columns);
        ControlFlow::Continue(())
    });
    let series = SeriesTo::new("10s", sink).expect("a step");
    let observe = Observe { series: Some(series), ..Observe::logging(Logging::First(1000)) };
    engine.record(engine.now(), |stack| Recorder::new("outside", observe, stack));
    for round in 1..=5 {
        write(&mut engine, 0, round, true);
        begin(&mut engine, 9, Op::Write { lpa: Lpa(7), len: 1, fua: true }, vec![round; UNIT]);
        engine.cut(engine.now());
        while !engine.is_ready() {
            engine.step();
        }
        assert_eq!(read(&mut engine, 0, 1)[0], round);
    }
    let (recorder, stack) = engine.take_record().expect("it goes on");
    let Ran { result, requests, .. } = outside.result("outside", recorder, stack).expect("a result");
    let part: LogPart = requests.expect("a log");
    let logged: Vec<(&str, u32, bool)> =
        part.rows().map(|row| (row.request.op.name(), row.lpa.0, row.status != Status::Good)).collect();
    assert_eq!(logged, [("write", 0, false), ("write", 7, true), ("read", 0, false)].repeat(5));
    assert!(part.rows().all(|row| row.stages.iter().map(|time| time.0).sum::<u64>() == row.latency().0));
    assert_eq!((result.completed, result.failed), (15, 5));
    // The device counts from 0 again after each cut; the result has all of it.
    let written = result.counters.device["host_units_written"];
    assert!((5..=10).contains(&written), "those of the last cut may not have begun: {written}");
    let rows = rows.lock().unwrap();
    assert_eq!(rows.iter().map(|columns| sum(columns, "host_units_written")).sum::<u64>(), written);
    assert_eq!(rows.iter().map(|columns| sum(columns, "requests")).sum::<u64>(), 15);
}
