//! The state of one app while the phone runs.

use units::{Nanos, UNIT_BYTES};
use workload::{Rng, named_stream};

use crate::access::{Locality, Placement, Reads};
use crate::app::App;
use crate::traced::TracedIo;

/// Lists, process and memory of an app.
pub(super) struct State {
    pub app: App,
    pub launch: Reads,
    pub loading: Reads,
    pub run: Reads,
    pub background: Reads,
    /// Next index into the list of reads of its run.
    pub run_at: usize,
    /// Next index into the list of reads in the background.
    pub background_at: usize,
    pub alive: bool,
    /// Changes whenever events planned for it in the background become void.
    pub epoch: u32,
    pub launches: u32,
    /// Order of last use, or of last start if it is a service; later is larger.
    pub used: u64,
    /// Memory that it wants now, in bytes, and how much of it per period.
    pub target: u64,
    pub growth: u64,
    /// Most bytes of its files that the page cache can hold.
    pub file_most: u64,
    /// Bytes of its files in the page cache when it left the foreground.
    pub file_left: u64,
    /// Reads that are left of its start, if it is a service.
    pub starting: u32,
    pub rng: Rng,
}

impl State {
    pub fn new(app: &App, place: &Placement, use_seconds: f64) -> State {
        let reads = |part: &str, locality, count| Reads::new(place, &format!("{} {part}", app.name), locality, count);
        let no_others = Placement { fresh_share: 0.0, ..*place };
        let only =
            |part: &str, locality, count| Reads::new(&no_others, &format!("{} {part}", app.name), locality, count);
        let by_rates = (app.run.reads_per_s.max(app.run.writes_per_s) * use_seconds).ceil() as u32;
        // The requests of a trace are not in the list.
        let run = if app.traced.is_some() { 0 } else { by_rates };
        let background = if app.is_service() { SERVICE_READS } else { APP_READS };
        let lists = [
            reads("launch", Locality::Launch, app.cold.reads),
            reads("loading", Locality::Launch, app.loading.map_or(0, |loading| loading.reads)),
            reads("run", Locality::Run, run),
            only("background", Locality::Run, if app.background_reads_per_s > 0.0 { background } else { 0 }),
        ];
        // Only these three lists stay in the page cache; data read in the background do not.
        let units: u64 = lists[..3].iter().flat_map(Reads::listed).map(|(_, len)| u64::from(len)).sum();
        let [launch, loading, run, background] = lists;
        State {
            app: app.clone(),
            launch,
            loading,
            run,
            background,
            run_at: 0,
            background_at: 0,
            alive: false,
            epoch: 0,
            launches: 0,
            used: 0,
            target: 0,
            growth: 0,
            file_most: units * UNIT_BYTES,
            file_left: 0,
            starting: 0,
            rng: named_stream(place.seed, &app.name, 1),
        }
    }

    /// The next request of its trace.
    pub fn traced_io(&self) -> Option<TracedIo> {
        let io = &self.app.traced.as_ref()?.io;
        (!io.is_empty()).then(|| io[self.run_at % io.len()])
    }

    /// Random time to the next event at a rate of `per_second`: the mean plus or minus half of it. `None` if never.
    pub fn gap(&mut self, per_second: f64) -> Option<Nanos> {
        let mean = 1e9 / per_second;
        (per_second > 0.0 && mean < 1e15).then(|| Nanos(((0.5 + self.rng.unit()) * mean) as u64 + 1))
    }
}

/// Reads in the list of a service: an eighth of what all processes but the app in the foreground read in about two
/// hours of Technion's traces of a Pixel 6a, 1619 (Telegram) and 3090 (Genshin Impact) ranges of 2 MiB, at 14.5 each.
const SERVICE_READS: u32 = 4_300;
/// Reads in the background list of an app: a quarter of a service's, since the app only looks for news.
const APP_READS: u32 = 1_075;

/// Share of a run's reads that belongs to one of its tenths, counted from 0.
pub(super) fn tenth_share(decay: f64, tenth: u64) -> f64 {
    let powers: Vec<f64> = std::iter::successors(Some(1.0), |p| Some(p * decay)).take(10).collect();
    powers[tenth as usize] / powers.iter().sum::<f64>()
}
