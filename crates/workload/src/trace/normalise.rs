//! Records of any format become a trace: one device chosen or all laid out, in order of time, cleaned, checked,
//! counted.

use std::collections::BTreeMap;

use units::SimTime;

use super::{Format, Records, Trace, TraceDevice, TraceError, TraceOptions, clean, pace};
use crate::SECTOR_BYTES;
use crate::source::LATEST;

/// Ranges of devices begin at multiples of this, so that alignment to 4 KiB stays what it was.
pub(super) const RANGE_SECTORS: u64 = (1 << 20) / SECTOR_BYTES;

/// Builds the trace.
///
/// # Errors
/// [`TraceError::SeveralDevices`], [`TraceError::UnknownDevice`], [`TraceError::NoRequests`],
/// [`TraceError::BeyondModel`], [`TraceError::TooLate`].
pub(super) fn trace(
    name: &str,
    format: Format,
    files: Vec<String>,
    mut records: Records,
    options: &TraceOptions,
) -> Result<Trace, TraceError> {
    choose_device(name, format, &mut records, options)?;
    records.list.sort_by_key(|record| record.request.arrival);
    for rule in &options.clean {
        let cleaned = rule.apply(&mut records.list, &records.names);
        records.report.cleaned.push(cleaned);
    }
    records.report.hints.extend(clock_step(&records, format, &files));
    records.report.hints.extend(clean::long_gaps(&records.list));
    let devices = lay_out(&mut records);
    if records.list.is_empty() {
        return Err(none(name, format, &records));
    }
    let Records { list, names, mut report, .. } = records;
    let mut requests: Vec<_> = list.into_iter().map(|record| record.request).collect();
    let start = requests[0].arrival.0;
    report.start = requests[0].arrival;
    for r in &mut requests {
        r.arrival.0 -= start;
        let place = || (files[usize::from(r.stream.0)].clone(), format.place(r.line));
        if r.end_unit() > u64::from(u32::MAX) {
            let (file, place) = place();
            return Err(TraceError::BeyondModel { file, place, sector: r.sector, bytes: r.bytes });
        }
        if r.arrival > LATEST {
            let (file, place) = place();
            return Err(TraceError::TooLate { file, place, after_ns: r.arrival.0, most_ns: LATEST.0 });
        }
        report.count(r);
    }
    if report.complete_events > 0 {
        report.unmatched_requests = requests.iter().filter(|r| r.phone_latency.is_none()).count() as u64;
    }
    report.duration = requests[requests.len() - 1].arrival.since(SimTime::START);
    let moved = report.read_bytes + report.write_bytes;
    report.implausible = pace::implausible(requests.len() as u64, moved, report.duration, format);
    let mut processes = names.table;
    if processes.is_empty() {
        processes.push("(unknown)".into());
    }
    Ok(Trace { name: name.into(), requests, processes, files, format, devices, report })
}

/// A sentence about a step back of the clock.
fn clock_step(records: &Records, format: Format, files: &[String]) -> Option<String> {
    let step = records.clock_step?;
    let (file, place) = (&files[usize::from(step.file.0)], format.place(step.number));
    let back = step.back.as_secs_f64();
    Some(format!(
        "{file}: {place}: the clock steps back by {back:.3} s; if a second recording begins there, split the file: \
         requests are put in one order of time"
    ))
}

/// Says what the trace has, and what its format needs.
fn none(name: &str, format: Format, records: &Records) -> TraceError {
    let there = records.others.most();
    let mut there = if there.is_empty() { there } else { format!(" ({there})") };
    if let Some((count, first)) = &records.report.unreadable {
        there += &format!("; {count} could not be read, the first: {first}");
    }
    for place in &records.report.cut {
        there += &format!("; cut off at {place}");
    }
    let needs = match format.needs() {
        "" => String::new(),
        needs => format!("; format {} needs {needs}", format.name()),
    };
    TraceError::NoRequests { name: name.into(), events: records.report.events, hint: there + &needs }
}

/// Keeps the records of the device asked for, or of all if they can lie beside each other.
fn choose_device(name: &str, format: Format, records: &mut Records, options: &TraceOptions) -> Result<(), TraceError> {
    let mut there = devices_of(records);
    let names = |there: &[(u32, u64)], records: &Records| {
        there.iter().map(|&(device, _)| records.devices.name(device)).collect::<Vec<_>>().join(", ")
    };
    match &options.device {
        Some(wanted) if !there.is_empty() => {
            let all = names(&there, records);
            there.retain(|&(device, _)| records.devices.name(device) == wanted);
            let Some(&(chosen, kept)) = there.first() else {
                return Err(TraceError::UnknownDevice { name: name.into(), wanted: wanted.clone(), devices: all });
            };
            records.report.other_device_events = records.list.len() as u64 - kept;
            records.list.retain(|record| record.device == chosen);
        }
        None if there.len() > 1 && format.stacked() => {
            // Commands of a UFS host are the requests of the block devices above it once more.
            let blocks: Vec<_> = there.iter().filter(|(d, _)| is_block_device(records.devices.name(*d))).collect();
            if let [&(only, kept)] = blocks[..] {
                let (block, all) = (records.devices.name(only), names(&there, records));
                let told = format!("of {all}, block device {block} is read: the others are taken for what is below it");
                records.report.hints.push(told);
                records.report.other_device_events = records.list.len() as u64 - kept;
                records.list.retain(|record| record.device == only);
                return Ok(());
            }
            return Err(TraceError::SeveralDevices { name: name.into(), devices: names(&there, records) });
        }
        _ => {}
    }
    Ok(())
}

/// Whether this is the name of a block device, `major:minor`, and of no UFS host.
fn is_block_device(name: &str) -> bool {
    name.split_once(':').is_some_and(|(major, minor)| major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok())
}

/// Devices with requests and how many, by name.
fn devices_of(records: &Records) -> Vec<(u32, u64)> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for record in &records.list {
        *counts.entry(record.device).or_default() += 1;
    }
    let mut there: Vec<_> = counts.into_iter().collect();
    there.sort_by_key(|&(device, _)| (natural(records.devices.name(device)), device));
    there
}

/// A key by which numbers inside names count as numbers.
fn natural(name: &str) -> Vec<(&str, u64)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, behind) = rest.split_at(digits);
        let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        key.push((text, behind[..end].parse().unwrap_or(u64::MAX)));
        rest = &behind[end..];
    }
    key
}

/// Gives every device a range of its own, one after another.
fn lay_out(records: &mut Records) -> Vec<TraceDevice> {
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    for record in &records.list {
        let r = &record.request;
        let end = r.sector.saturating_add(r.bytes.div_ceil(SECTOR_BYTES));
        let highest = ends.entry(record.device).or_default();
        *highest = end.max(*highest);
    }
    let mut next = 0_u64;
    let mut first: BTreeMap<u32, u64> = BTreeMap::new();
    let mut devices = Vec::new();
    for (device, requests) in devices_of(records) {
        let sectors = ends[&device].div_ceil(RANGE_SECTORS).saturating_mul(RANGE_SECTORS);
        first.insert(device, next);
        devices.push(TraceDevice {
            name: records.devices.name(device).to_owned(),
            first_sector: next,
            sectors,
            requests,
        });
        next = next.saturating_add(sectors.max(RANGE_SECTORS));
    }
    for record in &mut records.list {
        if record.request.op != crate::WorkOp::Flush {
            record.request.sector = record.request.sector.saturating_add(first[&record.device]);
        }
    }
    devices
}
