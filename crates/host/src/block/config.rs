//! What takes time on the host: the keys of a profile, and the configuration that they stand for.

use params::ParamError;
use units::Nanos;

use super::cost::{Cost, WorkKind};
use super::stalls::StallConfig;

params::params! {
    /// What takes time on the host, between workload and driver: places in the block layer, the processors' work for
    /// each request, and what keeps processors from working. Unless a profile says otherwise, nothing does.
    pub HostTimeParams {
        /// Requests that the block layer takes in at once, of all tasks and kinds together (sysfs: nr_requests). A task
        /// that finds no place waits before the queue.
        nr_requests: count_or("unlimited" 1 to 65536) = "unlimited",
            "unlimited unless a profile has it. Linux: 128 for devices with one queue (BLKDEV_MAX_RQ)";
        /// Tasks of fio jobs, SQLite and phones have plugs: what one asks for at a moment is merged where it is
        /// neighbouring, within the limits of [merge]. Traces have the option --merge.
        plugs: switch = false, "off unless a profile has it";
        /// Hardware queues of the host controller (UFSHCI 4.0, MCQ). Each has an interrupt of its own on a processor of
        /// its own. A request goes into the queue of the processor that submits it, counted round and round, and that
        /// of the queue completes it. With one, the first processor handles all interrupts. They share host.tags.
        queues: count(1 to 64) = 1, "UFSHCI 3.0 and before: one list";
        /// Processors that work for storage. Interrupts are handled by the first ones, one for each of the queues.
        processors: count_or("unlimited" 1 to 64) = "unlimited",
            "as many as there is work for, unless a profile has it: none of its other work is in a trace";
        /// Read: time of the submitting task, from plug to driver.
        read_submit_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Read: the same for each page of 4 KiB.
        read_submit_page_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Read: from the last response until its completion work is asked for; it occupies no processor.
        read_delay_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Read: time of the processor that handles interrupts.
        read_complete_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Read: the same for each page, such as decryption.
        read_complete_page_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Write: time of the submitting task, from plug to driver.
        write_submit_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Write: the same for each page, such as encryption.
        write_submit_page_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Write: from the last response until its completion work is asked for; it occupies no processor.
        write_delay_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Write: time of the processor that handles interrupts.
        write_complete_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Write: the same for each page.
        write_complete_page_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Write of the file system's metadata (flag META), in place of write_submit_ns.
        meta_submit_ns: count_or("as-write" 0 to 100000000) = "as-write", "as other writes unless a profile has it";
        /// The same in place of write_submit_page_ns.
        meta_submit_page_ns: count_or("as-write" 0 to 100000000) = "as-write",
            "as other writes unless a profile has it";
        /// The same in place of write_delay_ns.
        meta_delay_ns: count_or("as-write" 0 to 100000000) = "as-write", "as other writes unless a profile has it";
        /// The same in place of write_complete_ns.
        meta_complete_ns: count_or("as-write" 0 to 100000000) = "as-write", "as other writes unless a profile has it";
        /// The same in place of write_complete_page_ns.
        meta_complete_page_ns: count_or("as-write" 0 to 100000000) = "as-write",
            "as other writes unless a profile has it";
        /// Flush and trim: time of the submitting task.
        other_submit_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Flush and trim: from the response until its completion work is asked for; it occupies no processor.
        other_delay_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Flush and trim: time of the processor that handles interrupts.
        other_complete_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Idle time after which a processor sleeps.
        processor_idle_us: count_or("never" 1 to 100000000) = "never", "never unless a profile has it";
        /// Until a processor that sleeps works again.
        processor_wake_us: count(0 to 1000000) = 150,
            "assumed: device trees of phones give exit latencies of some 100 us to the deepest states of a core";
        /// Bursts, of a hundred, in which the processors stall, as for a change of frequency; 0 = none.
        stall_percent: count(0 to 100) = 0, "nothing unless a profile has it";
        /// A pause without requests that ends a burst.
        stall_pause_ms: count(1 to 1000000) = 20, "assumed: a governor looks every 10 to 20 ms";
        /// From the beginning of a burst to its stall, at least.
        stall_after_min_ms: count(0 to 1000000) = 15, "a Pixel 4: all stalls come 15 to 150 ms after a burst began";
        /// The same at most.
        stall_after_max_ms: count(0 to 1000000) = 150, "a Pixel 4: all stalls come 15 to 150 ms after a burst began";
        /// Length of a stall, at least.
        stall_min_us: count(1 to 10000000) = 4000, "a Pixel 4: what counts as a stall lasts over 4 ms";
        /// The same at most.
        stall_max_us: count(1 to 10000000) = 12000, "assumed: three times the shortest";
        /// Completions of writes, out of a million, whose processor is taken by something else first; 0 = none.
        preempt_per_million: count(0 to 1000000) = 0, "nothing unless a profile has it";
        /// For how long it is taken, at least.
        preempt_min_us: count(1 to 10000000) = 200, "a Pixel 4: gaps between completions of writes of 200 us and more";
        /// The same at most.
        preempt_max_us: count(1 to 10000000) = 500, "a Pixel 4: the median of these gaps is 358 us";
    }
}

impl HostTimeParams {
    /// What they stand for; `seed` decides what is drawn.
    pub fn config(&self, seed: u64) -> BlockConfig {
        let micros = |us: u32| Nanos::from_micros(us.into());
        let millis = |ms: u32| Nanos::from_millis(ms.into());
        BlockConfig {
            nr_requests: self.nr_requests.count(),
            processors: self.processors.count().map(|count| count as u16),
            queues: self.queues as u16,
            costs: self.costs(),
            idle: self
                .processor_idle_us
                .count()
                .map(|after| IdleConfig { after: micros(after), wake: micros(self.processor_wake_us) }),
            stalls: (self.stall_percent > 0).then(|| StallConfig {
                percent: self.stall_percent,
                pause: millis(self.stall_pause_ms),
                after: (millis(self.stall_after_min_ms), millis(self.stall_after_max_ms)),
                length: (micros(self.stall_min_us), micros(self.stall_max_us)),
            }),
            preempt: (self.preempt_per_million > 0).then(|| PreemptConfig {
                per_million: self.preempt_per_million,
                length: (micros(self.preempt_min_us), micros(self.preempt_max_us)),
            }),
            seed,
        }
    }

    /// In the order of [`WorkKind::ALL`].
    fn costs(&self) -> [Cost; WorkKind::ALL.len()] {
        let cost = |[submit, submit_page, delay, complete, complete_page]: [u32; 5]| Cost {
            submit: Nanos(submit.into()),
            submit_page: Nanos(submit_page.into()),
            delay: Nanos(delay.into()),
            complete: Nanos(complete.into()),
            complete_page: Nanos(complete_page.into()),
        };
        let read = [
            self.read_submit_ns,
            self.read_submit_page_ns,
            self.read_delay_ns,
            self.read_complete_ns,
            self.read_complete_page_ns,
        ];
        let write = [
            self.write_submit_ns,
            self.write_submit_page_ns,
            self.write_delay_ns,
            self.write_complete_ns,
            self.write_complete_page_ns,
        ];
        let meta = [
            self.meta_submit_ns,
            self.meta_submit_page_ns,
            self.meta_delay_ns,
            self.meta_complete_ns,
            self.meta_complete_page_ns,
        ];
        let meta = std::array::from_fn(|i| meta[i].count().unwrap_or(write[i]));
        let other = [self.other_submit_ns, 0, self.other_delay_ns, self.other_complete_ns, 0];
        [read, write, meta, other].map(cost)
    }

    /// Refuses a pair whose least is above its most, and queues without processors.
    ///
    /// # Errors
    /// Names the key, its value and the allowed range.
    pub fn check(&self) -> Result<(), ParamError> {
        for (key, least, most_key, most) in [
            ("stall_after_min_ms", self.stall_after_min_ms, "stall_after_max_ms", self.stall_after_max_ms),
            ("stall_min_us", self.stall_min_us, "stall_max_us", self.stall_max_us),
            ("preempt_min_us", self.preempt_min_us, "preempt_max_us", self.preempt_max_us),
        ] {
            if least > most {
                let allowed = format!("at most host_time.{most_key} = {most}");
                return Err(ParamError::must_be("host_time", key, &least.into(), allowed));
            }
        }
        match self.processors.count() {
            Some(most) if self.queues > most => {
                let allowed = format!("at most host_time.processors = {most}");
                Err(ParamError::must_be("host_time", "queues", &self.queues.into(), allowed))
            }
            _ => Ok(()),
        }
    }
}

/// When processors sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdleConfig {
    /// Idle time after which a processor sleeps.
    pub after: Nanos,
    /// What it takes to wake.
    pub wake: Nanos,
}

/// Something else takes the interrupt's processor now and then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PreemptConfig {
    /// Completions of writes, out of a million, that find the processor taken.
    pub per_million: u32,
    /// For how long: at least and at most.
    pub length: (Nanos, Nanos),
}

/// What takes time on the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockConfig {
    /// Requests inside; `None` = any number.
    pub nr_requests: Option<u32>,
    /// Processors; `None` = as many as there is work for.
    pub processors: Option<u16>,
    /// Hardware queues, from 1, each with a processor that handles its interrupt.
    pub queues: u16,
    /// Costs by kind, in the order of [`WorkKind::ALL`].
    pub costs: [Cost; WorkKind::ALL.len()],
    /// When processors sleep; `None` = never.
    pub idle: Option<IdleConfig>,
    /// Stalls in bursts; `None` = none.
    pub stalls: Option<StallConfig>,
    /// Other work on the interrupt's processor; `None` = none.
    pub preempt: Option<PreemptConfig>,
    /// Seed of all that is drawn.
    pub seed: u64,
}

impl Default for BlockConfig {
    /// Nothing takes time.
    fn default() -> BlockConfig {
        BlockConfig {
            nr_requests: None,
            processors: None,
            queues: 1,
            costs: Default::default(),
            idle: None,
            stalls: None,
            preempt: None,
            seed: 0,
        }
    }
}

impl BlockConfig {
    /// True if anything takes time or place.
    pub fn any(&self) -> bool {
        let costs = self.costs.iter().any(|cost| *cost != Cost::default());
        costs || self.nr_requests.is_some() || self.idle.is_some() || self.is_random()
    }

    /// True if anything is drawn.
    pub fn is_random(&self) -> bool {
        self.stalls.is_some() || self.preempt.is_some()
    }
}
