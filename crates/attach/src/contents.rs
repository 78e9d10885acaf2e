//! The data of every version that a read may still give.
//!
//! A version is pending from its submission on, with its data in memory. The ledger says when it is durable: then its
//! data goes to the store in place of the older one, and what became impossible is dropped. A read that was submitted
//! before may still give it, and keeps it until it ends.
//!
//! The store may refuse it, for want of room. Then the end of the process would bring back what the store has, so
//! nothing may be promised: flushes and FUA fail, and so does a read that tells what a power cut has left.

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger::{Expected, Ledger, Settled, Span, Version};
use ufs::{Content, DataIn};
use units::Lpa;

use crate::UNIT;
use crate::ask::Failure;
use crate::hole::Hole;
use crate::store::{Page, Store};

/// Data of a unit: that at a position of what was written at once.
#[derive(Clone, Debug)]
enum Data {
    /// In memory.
    Here(Arc<Vec<u8>>, u32),
    /// The store has it already: it was there when the device was filled from it.
    Stored,
}

/// A read under way.
#[derive(Debug)]
struct Reading {
    span: Span,
    expected: Expected,
    /// Data that it may give and nobody else: unit, stamp, data.
    kept: Vec<(u32, u32, Data)>,
}

/// A version that the store has refused.
#[derive(Clone, Copy, Debug)]
struct Unsaved {
    durable: Version,
    /// The stamp of what the store has in its place; 0 = nothing.
    has: u32,
}

/// The data of a device.
pub struct Contents {
    ledger: Ledger,
    /// Data by unit and stamp.
    pending: BTreeMap<(u32, u32), Data>,
    readings: BTreeMap<u32, Reading>,
    store: Box<dyn Store>,
    /// Durable versions that the store has refused, by unit. Those of writes are still pending. Of all other units the
    /// store has what is durable, once that is settled.
    unsaved: BTreeMap<u32, Unsaved>,
    /// Number of the last version that was submitted, and what that was at the last power cut.
    last: u32,
    last_before_cut: u32,
    /// Units that were read and checked.
    pub checked: u64,
    pub sabotage: Option<Hole>,
}

impl Contents {
    /// A device whose units hold what a ledger says, of which the store has no data yet. What the store has comes with
    /// [`Contents::refill`].
    pub fn new(mut ledger: Ledger, store: Box<dyn Store>) -> Contents {
        ledger.note_settled();
        Contents {
            ledger,
            pending: BTreeMap::new(),
            readings: BTreeMap::new(),
            store,
            unsaved: BTreeMap::new(),
            last: 0,
            last_before_cut: 0,
            checked: 0,
            sabotage: None,
        }
    }

    /// The device's size in units.
    pub fn units(&self) -> u32 {
        self.ledger.units()
    }

    /// What each unit may hold.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Runs of units that the store has.
    pub fn held(&self) -> Vec<(u32, u32)> {
        self.store.held()
    }

    /// Versions that are kept in memory.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// What the store has of these units is written again, to a new device.
    pub fn refill(&mut self, span: Span, stamp: u32) {
        self.submitted(span, Version::written(stamp));
        let units = span.lpa.0..span.lpa.0 + span.len;
        self.pending.extend(units.map(|unit| ((unit, stamp), Data::Stored)));
    }

    /// A write is being submitted.
    pub fn write_submitted(&mut self, span: Span, stamp: u32, data: Vec<u8>) {
        self.submitted(span, Version::written(stamp));
        let data = Arc::new(data);
        for i in 0..span.len {
            self.pending.insert((span.lpa.0 + i, stamp), Data::Here(data.clone(), i));
        }
    }

    /// A trim is being submitted. Units that hold zeroes and nothing else stay as they are: most of a device that a
    /// file system trims as a whole.
    pub fn trim_submitted(&mut self, span: Span, stamp: u32) {
        let mut first = None;
        for unit in span.lpa.0..=span.lpa.0 + span.len {
            let matters = unit < span.lpa.0 + span.len && !self.ledger.is_blank(Lpa(unit));
            match (first, matters) {
                (None, true) => first = Some(unit),
                (Some(begin), false) => {
                    self.submitted(Span { lpa: Lpa(begin), len: unit - begin }, Version::trimmed(stamp));
                    first = None;
                }
                _ => {}
            }
        }
    }

    fn submitted(&mut self, span: Span, version: Version) {
        self.last = self.last.max(version.number());
        self.ledger.submitted(span, version);
        self.readings.values_mut().for_each(|reading| reading.expected.submitted(span, version));
    }

    /// A read is being submitted; `id` names it until it ends.
    pub fn read_submitted(&mut self, id: u32, span: Span) {
        let expected = self.ledger.expected(span);
        self.readings.insert(id, Reading { span, expected, kept: Vec::new() });
    }

    /// A write or trim has been acknowledged; it is durable if `durable`.
    pub fn acked(&mut self, span: Span, version: Version, durable: bool) {
        self.ledger.acked(span, version, durable);
        self.settle();
    }

    /// Acknowledgements so far, for a flush that is being submitted.
    pub fn acknowledgements(&self) -> u64 {
        self.ledger.acknowledgements()
    }

    /// A flush has completed that was submitted after `until` acknowledgements.
    pub fn flushed(&mut self, until: u64) {
        self.ledger.flushed(until);
        self.settle();
    }

    /// Units have come to flash.
    pub fn programmed(&mut self, programmed: impl Iterator<Item = Content>) {
        for Content { lpa, stamp } in programmed {
            self.ledger.programmed(lpa, Version::written(stamp));
        }
        self.settle();
    }

    /// The power has been cut: reads under way are forgotten.
    pub fn power_cut(&mut self) {
        self.readings.clear();
        self.last_before_cut = self.last;
        self.ledger.power_cut();
    }

    /// A read has ended without data.
    pub fn read_failed(&mut self, id: u32) {
        self.readings.remove(&id);
    }

    /// A read has ended: its bytes.
    ///
    /// # Errors
    /// If the store cannot be read, or cannot keep what the read would tell of a power cut.
    ///
    /// # Panics
    /// If the device has given what it must not give.
    pub fn read_done(&mut self, id: u32, data: &DataIn) -> Result<Vec<u8>, Failure> {
        let reading = self.readings.remove(&id).expect("a read ends once");
        let units: &[Option<Content>] = match data {
            DataIn::One(content) => std::slice::from_ref(content),
            DataIn::Many(units) => units,
            other => panic!("{:?} gave {other:?}", reading.span),
        };
        assert_eq!(units.len(), reading.span.len as usize, "units of {:?}", reading.span);
        let mut bytes = vec![0; units.len() * UNIT];
        let mut result = Ok(());
        for ((lpa, content), page) in (reading.span.lpa.0..).zip(units).zip(bytes.chunks_exact_mut(UNIT)) {
            let page: &mut Page = page.try_into().expect("chunks are units");
            result = result.and(self.unit_done(&reading, Lpa(lpa), *content, page));
        }
        self.settle();
        for (lpa, content) in (reading.span.lpa.0..).map(Lpa).zip(units) {
            result = result.and(self.keep_shown(lpa, content.map_or(0, |c| c.stamp)));
        }
        result.map(|()| bytes)
    }

    /// What is about to be shown is to be there after the end of the process, if it has to be.
    fn keep_shown(&mut self, lpa: Lpa, stamp: u32) -> Result<(), Failure> {
        if self.sabotage == Some(Hole::ReturningTrims) {
            return Ok(());
        }
        match self.unsaved.get(&lpa.0) {
            Some(&unsaved) if self.would_come_back(lpa.0, stamp) => self.save_again(lpa.0, unsaved),
            _ => Ok(()),
        }
    }

    /// True if a read that gives this stamp tells what a power cut has left, and the store would bring back something
    /// older.
    fn would_come_back(&self, unit: u32, stamp: u32) -> bool {
        let Some(&Unsaved { durable, has }) = self.unsaved.get(&unit) else { return false };
        // Zeroes do not tell which trim has made them.
        let number = if stamp == 0 && durable.is_trim() { durable.number() } else { stamp };
        stamp != has && number <= self.last_before_cut
    }

    fn unit_done(
        &mut self,
        reading: &Reading,
        lpa: Lpa,
        content: Option<Content>,
        page: &mut Page,
    ) -> Result<(), Failure> {
        assert!(content.is_none_or(|c| c.lpa == lpa), "wrong data: read of {lpa} gave {content:?}");
        let stamp = content.map_or(0, |c| c.stamp);
        if let Err(allowed) = self.ledger.read(&reading.expected, lpa, stamp) {
            panic!("wrong data: read of {lpa} gave write {stamp}, not one of {allowed:?} (0 = zeroes)");
        }
        self.checked += 1;
        if stamp == 0 {
            return Ok(());
        }
        let of_read = || reading.kept.iter().find(|(unit, kept, _)| (*unit, *kept) == (lpa.0, stamp));
        match self.pending.get(&(lpa.0, stamp)).or_else(|| of_read().map(|(.., data)| data)) {
            Some(Data::Here(data, at)) => page.copy_from_slice(unit_of(data, *at)),
            None if self.saved(lpa) != stamp => panic!("data of {lpa} of write {stamp} was dropped too soon"),
            Some(Data::Stored) | None => self.store.get(lpa.0, page).map_err(|_| Failure::Store)?,
        }
        Ok(())
    }

    /// The stamp of what the store has of a unit; 0 = nothing.
    fn saved(&self, lpa: Lpa) -> u32 {
        self.unsaved.get(&lpa.0).map_or(self.ledger.durable(lpa).stamp(), |unsaved| unsaved.has)
    }

    /// Puts into the store what has become durable, and drops what has become impossible.
    fn settle(&mut self) {
        for Settled { unit, before, durable, until } in self.ledger.take_settled() {
            let has = self.unsaved.get(&unit).map_or(before.stamp(), |unsaved| unsaved.has);
            self.keep_for_reads(unit, until, has);
            let gone: Vec<u32> = self.pending.range((unit, 0)..=(unit, until)).map(|(&(_, stamp), _)| stamp).collect();
            let saved = self.save(unit, Unsaved { durable, has });
            for stamp in gone {
                if saved || stamp != durable.stamp() {
                    self.pending.remove(&(unit, stamp));
                }
            }
        }
    }

    /// Puts the durable version of a unit into the store. False if the store refuses it.
    fn save(&mut self, unit: u32, unsaved: Unsaved) -> bool {
        let stamp = unsaved.durable.stamp();
        let put = match self.pending.get(&(unit, stamp)) {
            Some(Data::Here(data, at)) => self.store.put(unit, unit_of(data, *at)),
            // It was there before the device was filled from it.
            Some(Data::Stored) => Ok(()),
            // Also if it has nothing: something that it has refused may be there.
            None if stamp == 0 => self.store.remove(unit),
            None if stamp == unsaved.has => Ok(()),
            None => panic!("unit {unit} is to hold write {stamp}, whose data is gone"),
        };
        match put {
            Ok(()) => self.unsaved.remove(&unit),
            Err(_) => self.unsaved.insert(unit, unsaved),
        };
        put.is_ok()
    }

    /// Reads under way of a unit keep what is about to be dropped. `has` is the stamp of what the store has.
    fn keep_for_reads(&mut self, unit: u32, until: u32, has: u32) {
        let place = Span { lpa: Lpa(unit), len: 1 };
        if !self.readings.values().any(|reading| reading.span.meets(place)) {
            return;
        }
        let pending = self.pending.range((unit, 0)..=(unit, until));
        let mut dropped: Vec<_> = pending.map(|(&(unit, stamp), data)| (unit, stamp, data.clone())).collect();
        let mut page = [0; UNIT];
        if has != 0 && self.store.get(unit, &mut page).is_ok() {
            dropped.retain(|&(_, stamp, _)| stamp != has);
            dropped.push((unit, has, Data::Here(Arc::new(page.to_vec()), 0)));
        }
        for reading in self.readings.values_mut().filter(|reading| reading.span.meets(place)) {
            reading.kept.extend(dropped.iter().cloned());
        }
    }

    /// Tries again to put into the store what it has refused.
    ///
    /// # Errors
    /// If it refuses again.
    pub fn save_all(&mut self) -> Result<(), Failure> {
        while let Some((&unit, &unsaved)) = self.unsaved.first_key_value() {
            self.save_again(unit, unsaved)?;
        }
        Ok(())
    }

    fn save_again(&mut self, unit: u32, unsaved: Unsaved) -> Result<(), Failure> {
        if !self.save(unit, unsaved) {
            return Err(Failure::NoSpace);
        }
        if unsaved.durable.stamp() != 0 {
            self.pending.remove(&(unit, unsaved.durable.stamp()));
        }
        Ok(())
    }

    /// An ordinary end.
    ///
    /// # Errors
    /// If the store has lost something.
    pub fn close(&mut self) -> std::io::Result<()> {
        if self.save_all().is_err() {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.store.close()
    }

    /// Whether a unit reads as zeroes now. What a power cut has left is not known before it is read, and what the store
    /// would bring back is not promised.
    pub fn is_hole(&self, unit: u32) -> bool {
        let lpa = Lpa(unit);
        let known = self.ledger.is_blank(lpa) || self.ledger.present(lpa).number() > self.last_before_cut;
        self.ledger.held(lpa) == 0 && known && !self.would_come_back(unit, 0)
    }
}

fn unit_of(data: &[u8], at: u32) -> &Page {
    let begin = at as usize * UNIT;
    data[begin..begin + UNIT].try_into().expect("a slice of a unit's length")
}
