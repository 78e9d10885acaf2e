//! What is known of one app while the phone runs.

use units::{Nanos, UNIT_BYTES};
use workload::{Rng, named_stream};

use crate::access::{Locality, Place, Reads};
use crate::app::App;
use crate::traced::TracedIo;

/// What an app is doing.
pub(super) struct State {
    pub app: App,
    pub launch: Reads,
    pub loading: Reads,
    pub run: Reads,
    pub background: Reads,
    /// Place in the list of reads of its run.
    pub run_at: usize,
    /// The same in the background.
    pub background_at: usize,
    pub alive: bool,
    /// Changes whenever what was planned for it in the background no longer holds.
    pub epoch: u32,
    pub launches: u32,
    /// When it was used last, or started if it is a service; later is larger.
    pub used: u64,
    /// Memory that it wants now, in bytes, and how much of it in a tick.
    pub target: u64,
    pub growth: u64,
    /// Most of its files that the page cache can hold, in bytes.
    pub file_most: u64,
    /// Of them, what was there when it left the foreground.
    pub file_left: u64,
    /// Reads that it owes for its start, if it is a service.
    pub starting: u32,
    pub rng: Rng,
}

impl State {
    pub fn new(app: &App, place: &Place, use_seconds: f64) -> State {
        let reads = |part: &str, locality, count| Reads::new(place, &format!("{} {part}", app.name), locality, count);
        let no_others = Place { fresh_share: 0.0, ..*place };
        let only =
            |part: &str, locality, count| Reads::new(&no_others, &format!("{} {part}", app.name), locality, count);
        let by_rates = (app.run.reads_per_s.max(app.run.writes_per_s) * use_seconds).ceil() as u32;
        // What a trace says is not in the list.
        let run = if app.traced.is_some() { 0 } else { by_rates };
        let background = if app.is_service() { SERVICE_READS } else { APP_READS };
        let lists = [
            reads("launch", Locality::Launch, app.cold.reads),
            reads("loading", Locality::Launch, app.loading.map_or(0, |loading| loading.reads)),
            reads("run", Locality::Run, run),
            only("background", Locality::Run, if app.background_reads_per_s > 0.0 { background } else { 0 }),
        ];
        // What is read in the background passes through.
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

    /// The request of its trace that is next.
    pub fn traced_io(&self) -> Option<TracedIo> {
        let io = &self.app.traced.as_ref()?.io;
        (!io.is_empty()).then(|| io[self.run_at % io.len()])
    }

    /// Time to the next of what happens so often per second, with a spread of half of it; `None` if never.
    pub fn gap(&mut self, per_second: f64) -> Option<Nanos> {
        let mean = 1e9 / per_second;
        (per_second > 0.0 && mean < 1e15).then(|| Nanos(((0.5 + self.rng.unit()) * mean) as u64 + 1))
    }
}

/// Reads in the list of a service: as many places of 2 MiB, at 14.5 reads each, as an average app has in the paper's
/// profile lists (HPBvalve Sec. 6.3: 99 KB for nine apps at 4 bytes), so that both need as much of a mapping cache.
const SERVICE_READS: u32 = 40_000;
/// The same for an app in the background: a quarter, since it looks for news and no more.
const APP_READS: u32 = 10_000;

/// Share of a run's reads in one of its tenths, from 0.
pub(super) fn tenth_share(decay: f64, tenth: u64) -> f64 {
    let powers: Vec<f64> = std::iter::successors(Some(1.0), |p| Some(p * decay)).take(10).collect();
    powers[tenth as usize] / powers.iter().sum::<f64>()
}
