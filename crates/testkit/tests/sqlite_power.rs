//! SQLite on a device that loses power at any moment, under every mapping scheme: the database is intact afterwards,
//! with every transaction that had returned.

use crate::driven::Driven;
use campaign::{Defects, Rig, Rng};
use ftl::{MappingKind, Sabotage};
use lab::profile::Profile;
use lab::{Preset, schemes};
use sqlite_load::fs::Kind;
use sqlite_load::spec::{JournalMode, Synchronous};
use sqlite_load::{SqliteSource, SqliteSpec};
use units::Nanos;

const FILE_SYSTEMS: [Kind; 2] = [Kind::Ext4, Kind::F2fs];
const MODES: [JournalMode; 4] = [JournalMode::Delete, JournalMode::Truncate, JournalMode::Persist, JournalMode::Wal];
/// Seeds in which every file system meets every journal mode once.
const ROUND: u64 = (FILE_SYSTEMS.len() * MODES.len()) as u64;

fn spec(seed: u64) -> SqliteSpec {
    SqliteSpec {
        transactions: 100,
        fill_rows: 100,
        file_system: FILE_SYSTEMS[(seed % 2) as usize],
        journal_mode: MODES[(seed / 2 % 4) as usize],
        // Below this level the deletion of a journal is not synced, so the last transaction may be lost.
        synchronous: Synchronous::Extra,
        volume_mib: 16,
        seed,
        ..SqliteSpec::default()
    }
}

/// Presets with this mapping scheme: its hosts take turns, one for each round of seeds.
fn presets(kind: MappingKind) -> Vec<&'static Preset> {
    schemes().iter().filter(|preset| preset.parts.mapping == kind).collect()
}

fn preset(kind: MappingKind, seed: u64) -> &'static Preset {
    let presets = presets(kind);
    presets[(seed / ROUND) as usize % presets.len()]
}

/// Runs the workload of a seed for a while and cuts the power. `None` if no transaction had returned yet, or all had.
fn cut(kind: MappingKind, seed: u64, sabotage: Option<Sabotage>) -> Option<Result<(), String>> {
    let profile = Profile::load("tiny", &[]).expect("an embedded profile");
    let defects = Defects { sabotage, ..Defects::default() };
    let mut rig = Rig::defective(&profile, preset(kind, seed).parts, Nanos::from_micros(3), defects);
    let mut source = SqliteSource::new(&spec(seed), profile.capacity_units()).expect("a workload that fits");
    let mut rng = Rng::new(seed);
    let mut driven = Driven::default();
    if !driven.run_events(&mut rig, &mut source, 2500 + rng.below(9000)) {
        return None;
    }
    let moment = rig.now();
    let returned = source.written_by(moment);
    if returned == 0 {
        return None;
    }
    let again = rng.below(3);
    rig.power_cut(&mut rng, again);
    let found = match source.inspect_cut(moment, |lpa| driven.held(&rig, lpa)) {
        Ok(found) => found,
        Err(error) => return Some(Err(error.to_string())),
    };
    let whole = found.integrity == "ok" && found.transactions.is_some_and(|n| n == returned || n == returned + 1);
    Some(if whole { Ok(()) } else { Err(format!("{found:?} of {returned} transactions")) })
}

/// At least three rounds, and one for each host of the scheme.
fn the_database_survives(kind: MappingKind) {
    let seeds = ROUND * 3.max(presets(kind).len() as u64);
    let mut cuts = 0;
    for seed in 0..seeds {
        if let Some(outcome) = cut(kind, seed, None) {
            assert_eq!(outcome, Ok(()), "seed {seed}: {}, {:?}", preset(kind, seed).name, spec(seed));
            cuts += 1;
        }
    }
    assert!(3 * cuts >= seeds, "{cuts} of {seeds} cuts fell between transactions: too few");
}

/// The same with a device that answers flushes and FUA writes too early. Databases must be lost, or the test proves
/// nothing.
fn a_device_that_lies_about_flushes_loses_databases(kind: MappingKind) {
    for sabotage in [Sabotage::FlushAtOnce, Sabotage::FuaAtOnce] {
        let lost = |seed| {
            let outcome = std::panic::catch_unwind(|| cut(kind, seed, Some(sabotage)));
            !matches!(outcome, Ok(None | Some(Ok(()))))
        };
        assert!((0..64).any(lost), "{sabotage:?} was not noticed");
    }
}

macro_rules! power {
    ($($Scheme:ident)*) => {$(
        #[allow(non_snake_case)]
        mod $Scheme {
            ufsim_testkit::tests_of_scheme! { ftl::MappingKind::of::<schemes::$Scheme>(), super:
                the_database_survives
                a_device_that_lies_about_flushes_loses_databases
            }
        }
    )*};
}
schemes::registered!(power);
