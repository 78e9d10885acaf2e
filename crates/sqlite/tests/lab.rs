//! The workload under the run loop, with every preset.

use std::ops::ControlFlow;

use lab::profile::Profile;
use lab::{System, schemes};
use sqlite_load::spec::{JournalMode, Synchronous};
use sqlite_load::{SqliteSource, SqliteSpec};
use units::SimTime;
use workload::{Progress, Source};

fn spec(mode: JournalMode) -> SqliteSpec {
    SqliteSpec { transactions: 30, fill_rows: 200, journal_mode: mode, ..SqliteSpec::default() }
}

fn run(scheme: &str, spec: &SqliteSpec) -> (SqliteSource, System) {
    let preset = schemes().iter().find(|preset| preset.name == scheme).unwrap();
    let profile = Profile::load("tiny", &[]).unwrap();
    let mut source = SqliteSource::new(spec, profile.capacity_units()).unwrap();
    let mut system = lab::assemble(&profile, preset.parts, 1).unwrap();
    system.run(&mut source, &mut |_, _| ControlFlow::Continue(())).unwrap();
    (source, system)
}

#[test]
fn it_runs_under_every_scheme() {
    for preset in schemes() {
        let (source, system) = run(preset.name, &spec(JournalMode::Truncate));
        assert_eq!(source.outcome(), Some(&Ok(())), "{}", preset.name);
        let found = source.inspect().unwrap();
        assert_eq!(found.integrity, "ok");
        eprintln!("{} {:?} {:?}", preset.name, system.now(), source.transactions()[0].requests);
        let _ = (Synchronous::Full, SimTime(0), Progress::default(), source.footprint());
    }
}
