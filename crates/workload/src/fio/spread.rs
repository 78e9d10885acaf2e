//! How a clone spreads its requests over its files.

use super::job::JobClone;
use super::options::FileOrder;
use super::pattern::{Pattern, Sizes, Streams};
use crate::Rng;

/// One file of a clone: where it begins, and what comes next in it.
#[derive(Clone, Debug)]
struct File {
    begin: u64,
    pattern: Pattern,
    /// Nothing comes in it any more in this loop.
    done: bool,
}

/// The files of a clone, taken in the order of `file_service_type`.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    files: Vec<File>,
    order: FileOrder,
    /// Requests to one file before another is chosen.
    run: u64,
    /// Numbers of the files that are not done, and a few that are.
    open: Vec<u32>,
    /// How many of `open` are done.
    stale: usize,
    /// Position in `open` of the file that is served.
    at: usize,
    /// Requests until another file is chosen.
    left: u64,
    /// Where the file of the last request begins.
    begin: u64,
}

impl Spread {
    pub(super) fn new(clone: &JobClone<'_>, sizes: &[Sizes; 3], streams: &mut Streams) -> Spread {
        let options = &clone.job.options;
        let file = |region: &super::job::Region| File {
            begin: region.begin,
            pattern: Pattern::new(options, region.bytes, sizes, &mut streams.map),
            done: false,
        };
        let files: Vec<File> = clone.regions.iter().map(file).collect();
        let mut spread = Spread {
            files,
            order: options.file_service.order,
            run: options.file_service.run,
            open: Vec::new(),
            stale: 0,
            at: 0,
            left: 0,
            begin: clone.regions[0].begin,
        };
        spread.open_all();
        spread
    }

    /// Offset in its file and length of the next request; see [`Pattern::next`]. `None` when all files are done.
    ///
    /// The offset on the device is this plus [`Spread::begin`]. Adding them here would make the compiler pass both
    /// numbers through memory, which costs 3% of a simple run.
    #[inline(always)]
    pub(super) fn next(
        &mut self,
        direction: usize,
        length: u64,
        sizes: &Sizes,
        streams: &mut Streams,
    ) -> Option<(u64, u64)> {
        if let [only] = self.files.as_mut_slice() {
            return only.pattern.next(direction, length, sizes, &mut streams.place);
        }
        self.next_of_many(direction, length, sizes, streams)
    }

    /// Where the next request will probably be, in bytes from the start of the device, if that is known.
    #[inline]
    pub(super) fn coming(&self) -> Option<u64> {
        match self.files.as_slice() {
            [only] => Some(only.begin + only.pattern.coming()?),
            _ => None,
        }
    }

    /// Where the file of the last request begins, in bytes from the start of the device.
    #[inline]
    pub(super) fn begin(&self) -> u64 {
        self.begin
    }

    #[inline(never)]
    fn next_of_many(
        &mut self,
        direction: usize,
        length: u64,
        sizes: &Sizes,
        streams: &mut Streams,
    ) -> Option<(u64, u64)> {
        loop {
            if self.left == 0 {
                self.choose(&mut streams.file)?;
            }
            let file = &mut self.files[self.open[self.at] as usize];
            if let Some(place) = file.pattern.next(direction, length, sizes, &mut streams.place) {
                self.left -= 1;
                self.begin = file.begin;
                return Some(place);
            }
            file.done = true;
            self.left = 0;
            self.stale += 1;
            if self.stale * 2 > self.open.len() {
                self.drop_stale();
            }
        }
    }

    /// Chooses a file that is not done. `None` if there is none.
    fn choose(&mut self, rng: &mut Rng) -> Option<()> {
        if self.stale == self.open.len() {
            return None;
        }
        let done = |at: usize, spread: &Spread| spread.files[spread.open[at] as usize].done;
        match self.order {
            // At least half of the open files are not done: two draws on average.
            FileOrder::Random => loop {
                self.at = rng.below(self.open.len() as u64) as usize;
                if !done(self.at, self) {
                    break;
                }
            },
            FileOrder::Sequential if self.at < self.open.len() && !done(self.at, self) => {}
            FileOrder::RoundRobin | FileOrder::Sequential => loop {
                self.at = if self.at + 1 >= self.open.len() { 0 } else { self.at + 1 };
                if !done(self.at, self) {
                    break;
                }
            },
        }
        self.left = self.run;
        Some(())
    }

    /// Forgets the files that are done, and goes on behind the one that was served.
    fn drop_stale(&mut self) {
        let files = &self.files;
        let done = |number: &u32| files[*number as usize].done;
        let before = self.open[..=self.at].iter().filter(|number| !done(number)).count();
        self.open.retain(|number| !done(number));
        // The next step goes on to `before`, also if that is the first.
        self.at = before.checked_sub(1).unwrap_or(usize::MAX - 1);
        self.stale = 0;
    }

    /// Starts all files from the beginning, with new random maps.
    pub(super) fn restart(&mut self, rng: &mut Rng) {
        for file in &mut self.files {
            file.pattern.restart(rng);
            file.done = false;
        }
        self.open_all();
    }

    fn open_all(&mut self) {
        self.open.clear();
        self.open.extend(0..self.files.len() as u32);
        (self.stale, self.left) = (0, 0);
        // The first step goes on to the first file.
        self.at = usize::MAX - 1;
    }
}
