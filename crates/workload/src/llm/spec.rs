//! The description of a model and of how it is read, as TOML.

use params::{ParamError, Table};
use units::{Nanos, UNIT_BYTES};

use crate::described::{DescriptionError, read_table};
use crate::generated::Layout;

units::kinds! {
    /// How weights come from flash.
    pub Access {
        /// The program reads what it needs.
        Read = "read";
        /// The file is mapped into memory, and faults read it.
        Mapped = "mapped";
    }
}

params::params! {
    /// A language model on a phone. The defaults are Mistral 7B in weights of 4 bits.
    pub (clone) LlmSpec {
        /// Blocks of the model.
        layers: count(1 to 1000) = 32, "Mistral 7B";
        /// Neurons of a block, each with a bundle.
        bundles: count(1 to 1_048_576) = 14_336,
            "Ripple (arXiv 2410.19274): 43,008 rows a block of Mistral 7B, three of a neuron";
        /// Rows of a bundle.
        rows: count(1 to 16) = 2, "Ripple: up and down";
        /// Bytes of a row.
        row_bytes: count(64 to 1_048_576) = 2048, "4,096 weights, the width of Mistral 7B; 4 bits are assumed";
        /// Rows of a bundle lie side by side. Otherwise each matrix of a block lies by itself, and a run is read once
        /// in each.
        bundled: switch = true, "LLM in a flash, Ripple";
        /// Part of a layer's bundles on flash that a token needs.
        active_percent: count(1 to 100) = 25, "Ripple: 20 to 30 for Mistral, 3 to 10 for OPT";
        /// Mean length of runs in hundredths of a bundle. "chance": each bundle is active by itself, which gives
        /// 1/(1 - part that is active).
        run_hundredths: count_or("chance" 100 to 100_000) = "chance",
            "Ripple measured 106 to 142, and 310 to 660 where what is active together lies together";
        /// The longest run of those whose mean is given, in bundles. Their lengths follow a power law up to it.
        longest_run: count(1 to 65_536) = 589, "Ripple: 589 and 2,845; the power law is assumed";
        /// Part of the bundles that is in memory, and is never read after loading.
        memory_percent: count(0 to 100) = 50, "PowerInfer-2 (arXiv 2406.06282v3): half of the weights on flash";
        /// What else is loaded, and stays in memory.
        other_mib: count(0 to 1_048_576) = 1661, "Mistral 7B at 4 bits: attention 640, gates 896, embeddings 125";
        /// Time to compute a block.
        compute_us: count(1 to 100_000_000) = 2520,
            "PowerInfer-2: 12.4 tokens a second of Mistral 7B with all weights in memory";
        /// How weights come from flash.
        access: choice(Access) = Read, "PowerInfer-2, LLM in a flash";
        /// Threads that read.
        threads: count(1 to 64) = 1, "PowerInfer-2: one big core";
        /// Reads that a thread has outstanding; of a mapped file while it is loaded.
        depth: count(1 to 1024) = 32, "assumed: the commands that a UFS device takes";
        /// Processor time of a thread for each read.
        request_ns: count(0 to 10_000_000) = 3800,
            "PowerInfer-2: 263,000 reads of 4 KiB a second of a big core; 4060 of a middle and 5380 of a little one";
        /// Largest read, a multiple of 4.
        request_kib: count(4 to 1024) = 512, "PowerInfer-2: sequential loading";
        /// What a fault reads around its page, a multiple of 4; 4 is the page alone.
        readahead_kib: count(4 to 1024) = 128, "Linux: read_ahead_kb";
        /// Layers whose reads are issued before they are next: a predictor knows them.
        prefetch_layers: count(0 to 1000) = 0, "LLM in a flash: what is needed is known when a layer begins";
        /// Tokens to decode.
        tokens: count(1 to 1_000_000) = 20, "assumed";
        /// How the file lies on the volume: in whole, or in the short pieces of a volume that has aged.
        layout: choice(Layout) = Fresh, "assumed: a file that is written at once";
        /// Size of the volume, on which the pieces lie, from the start of the device on.
        volume_mib: count(16 to 1_048_576) = 51_200, "as for generated workloads";
    }
}

impl LlmSpec {
    /// The name of its table.
    pub const TABLE: &'static str = "llm";

    /// Reads a description; `origin` names it in errors.
    ///
    /// ```
    /// use ufsim_workload::LlmSpec;
    /// let spec = LlmSpec::parse("[llm]\nlayers = 24", "a.toml").unwrap();
    /// assert_eq!((spec.layers, spec.bundles), (24, 14_336));
    /// let error = LlmSpec::parse("[llm]\nlayers = 0", "a.toml").unwrap_err();
    /// assert_eq!(error.to_string(), "a.toml: llm.layers = 0: must be 1..=1000");
    /// ```
    ///
    /// # Errors
    /// Text that does not parse, unknown keys, values that are not allowed, and keys without effect.
    pub fn parse(text: &str, origin: &str) -> Result<LlmSpec, DescriptionError> {
        let (spec, table): (LlmSpec, Table) = read_table(text, origin, LlmSpec::TABLE)?;
        let checks = spec.check_sizes().and_then(|()| spec.check_runs()).and_then(|()| spec.check_effects(&table));
        checks.map_err(|problem| DescriptionError::of(origin, &problem))?;
        Ok(spec)
    }

    fn check_sizes(&self) -> Result<(), String> {
        for (key, kib) in [("request_kib", self.request_kib), ("readahead_kib", self.readahead_kib)] {
            if !kib.is_multiple_of(4) {
                return Err(must_be(key, kib, "a multiple of 4"));
            }
        }
        let mib = self.file_bytes() / units::MIB;
        if mib > MOST_MIB {
            let told = format!("llm.layers = {}: the model has {mib} MiB", self.layers);
            return Err(format!("{told}: must be at most {MOST_MIB}"));
        }
        Ok(())
    }

    /// Between two runs lies at least one bundle that is not active, so runs have a least length.
    fn check_runs(&self) -> Result<(), String> {
        let Some(run) = self.run_hundredths.count() else { return Ok(()) };
        let most = self.longest_run.saturating_mul(100);
        let least = match self.active_percent {
            100 => return Err(format!("llm.run_hundredths = {run}: must be \"chance\" where all bundles are active")),
            active => (100 * active).div_ceil(100 - active).max(100),
        };
        if (least..=most).contains(&run) {
            return Ok(());
        }
        let told = format!("active_percent = {} and longest_run = {}", self.active_percent, self.longest_run);
        Err(must_be("run_hundredths", run, &format!("{least}..={most} with {told}")))
    }

    /// Refuses keys that nothing asks for.
    fn check_effects(&self, table: &Table) -> Result<(), String> {
        let idle = [
            ("longest_run", self.run_hundredths.count().is_none(), "run_hundredths = \"chance\""),
            ("volume_mib", self.layout == Layout::Fresh, "layout = \"fresh\""),
            ("readahead_kib", self.access == Access::Read, "access = \"read\""),
        ];
        match idle.iter().find_map(|(key, idle, with)| Some((key, idle.then_some(with)?, table.get(*key)?))) {
            Some((key, with, value)) => Err(format!("llm.{key} = {value}: has no effect with {with}")),
            None => Ok(()),
        }
    }

    /// Bytes of a bundle.
    pub(super) fn bundle_bytes(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.row_bytes)
    }

    /// Bundles of a layer that lie on flash alone.
    pub(super) fn on_flash(&self) -> u32 {
        (u64::from(self.bundles) * u64::from(100 - self.memory_percent) / 100) as u32
    }

    /// Bytes at the beginning of the file that are loaded: what stays in memory.
    pub(super) fn loaded_bytes(&self) -> u64 {
        let kept = u64::from(self.bundles - self.on_flash()) * u64::from(self.layers) * self.bundle_bytes();
        (u64::from(self.other_mib) * units::MIB + kept).next_multiple_of(UNIT_BYTES)
    }

    /// Bytes of a layer's bundles on flash; layers begin with a unit.
    pub(super) fn layer_bytes(&self) -> u64 {
        (u64::from(self.on_flash()) * self.bundle_bytes()).next_multiple_of(UNIT_BYTES)
    }

    /// Bytes of the model's file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.loaded_bytes() + self.layer_bytes() * u64::from(self.layers)
    }

    /// Time to compute a block.
    pub(super) fn compute(&self) -> Nanos {
        Nanos::from_micros(self.compute_us.into())
    }
}

/// Largest file of a model: pieces of an aged volume are listed in memory.
const MOST_MIB: u64 = 512 << 10;

fn must_be(key: &str, value: u32, allowed: &str) -> String {
    ParamError::must_be(LlmSpec::TABLE, key, &value.into(), allowed).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_file_is_the_default() {
        let text = include_str!("../../../../jobs/llm.toml");
        assert_eq!(LlmSpec::parse(text, "jobs/llm.toml"), Ok(LlmSpec::default()));
        assert_eq!(LlmSpec::parse("[llm]", "x"), Ok(LlmSpec::default()));
    }

    #[test]
    fn wrong_values_are_named_with_what_is_allowed() {
        for (lines, told) in [
            ("layer = 3", "x.toml: llm.layer = 3: unknown key, must be one of layers, "),
            ("active_percent = 0", "llm.active_percent = 0: must be 1..=100"),
            ("request_kib = 6", "llm.request_kib = 6: must be a multiple of 4"),
            ("run_hundredths = \"long\"", "llm.run_hundredths = \"long\": must be "),
            (
                "run_hundredths = 500\nlongest_run = 4",
                "llm.run_hundredths = 500: must be 100..=400 with active_percent",
            ),
            ("run_hundredths = 150\nactive_percent = 80", "llm.run_hundredths = 150: must be 400..=58900 with "),
            ("run_hundredths = 150\nactive_percent = 100", "must be \"chance\" where all bundles are active"),
            ("longest_run = 9", "llm.longest_run = 9: has no effect with run_hundredths = \"chance\""),
            ("readahead_kib = 64", "llm.readahead_kib = 64: has no effect with access = \"read\""),
            ("volume_mib = 64", "llm.volume_mib = 64: has no effect with layout = \"fresh\""),
            ("layers = 1000\nrow_bytes = 1048576", "the model has 28673661 MiB: must be at most 524288"),
        ] {
            let error = LlmSpec::parse(&format!("[llm]\n{lines}\n"), "x.toml").unwrap_err().to_string();
            assert!(error.contains(told), "{lines}: {error}");
        }
        let error = LlmSpec::parse("[llm]\n[other]", "x.toml").unwrap_err().to_string();
        assert_eq!(error, "x.toml: other: unknown table, must be [llm]");
    }

    #[test]
    fn the_default_is_a_model_of_seven_billion_weights() {
        let spec = LlmSpec::default();
        // Half of two rows of 14,336 neurons in 32 blocks, in 4 KiB each.
        assert_eq!(spec.layer_bytes() * 32, 14_336 / 2 * 32 * 4096);
        assert_eq!(spec.loaded_bytes(), 1661 * units::MIB + 14_336 / 2 * 32 * 4096);
    }
}
