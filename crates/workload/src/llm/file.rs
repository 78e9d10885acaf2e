//! Where the model's file lies on the device.

use units::{Lpa, UNIT_BYTES};

use super::spec::LlmSpec;
use crate::Footprint;
use crate::generated::{Blocks, Layout, Volume};
use crate::rng::named_stream;

/// Part of each of its segments that a file of an aged volume fills, as what is written in general.
const SEGMENT_PERCENT: u32 = 32;

/// A file: its pieces on the device, by their first unit in the file.
pub(super) struct File {
    pieces: Vec<Piece>,
    units: u32,
}

struct Piece {
    in_file: u32,
    on_device: u32,
}

impl File {
    /// Lays the model's file out. `Err` tells what is allowed.
    pub fn new(spec: &LlmSpec, capacity_units: u32, seed: u64) -> Result<File, String> {
        let units = spec.file_bytes() / UNIT_BYTES;
        let most = u64::from(capacity_units) * UNIT_BYTES / units::MIB;
        if units > u64::from(capacity_units) {
            let mib = spec.file_bytes().div_ceil(units::MIB);
            return Err(format!("llm.layers = {}: the model has {mib} MiB, the device {most}", spec.layers));
        }
        let units = units as u32;
        if spec.layout == Layout::Fresh {
            return Ok(File { pieces: vec![Piece { in_file: 0, on_device: 0 }], units });
        }
        if u64::from(spec.volume_mib) > most {
            return Err(format!("llm.volume_mib = {}: must be 16..={most}, the size of the device", spec.volume_mib));
        }
        let mut volume = Volume::new(spec.volume_mib, named_stream(seed, "llm volume", 0));
        let mut blocks = Blocks::new(Layout::Aged, SEGMENT_PERCENT, named_stream(seed, "llm blocks", 0));
        let mut pieces = Vec::new();
        let mut in_file = 0;
        while in_file < units {
            let piece = blocks
                .next(units - in_file, &mut volume)
                .map_err(|_| format!("llm.volume_mib = {}: too small for a model in pieces", spec.volume_mib))?;
            pieces.push(Piece { in_file, on_device: piece.first });
            in_file += piece.count;
        }
        Ok(File { pieces, units })
    }

    /// Units of the file.
    pub fn units(&self) -> u32 {
        self.units
    }

    /// Hands the parts of the device in which a range of the file lies to `each`, each of at most `most` units.
    pub fn parts(&self, mut first: u32, count: u32, most: u32, mut each: impl FnMut(Lpa, u32)) {
        let end = first + count;
        let mut number = self.pieces.partition_point(|piece| piece.in_file <= first) - 1;
        while first < end {
            let piece = &self.pieces[number];
            let piece_end = self.pieces.get(number + 1).map_or(self.units, |next| next.in_file);
            let part = (end.min(piece_end) - first).min(most);
            each(Lpa(piece.on_device + (first - piece.in_file)), part);
            first += part;
            number += usize::from(first == piece_end);
        }
    }

    /// Where it lies.
    pub fn footprint(&self) -> Footprint {
        let ends = self.pieces[1..].iter().map(|piece| piece.in_file).chain([self.units]);
        Footprint::from_ranges(
            self.pieces.iter().zip(ends).map(|(piece, end)| (Lpa(piece.on_device), end - piece.in_file)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "[llm]\nlayers = 2\nbundles = 512\nother_mib = 3\n";

    #[test]
    fn a_file_in_pieces_has_all_its_units_once() {
        let text = format!("{SMALL}layout = \"aged\"\nvolume_mib = 64");
        let spec = LlmSpec::parse(&text, "x").unwrap();
        let file = File::new(&spec, 1 << 14, 1).unwrap();
        let mut parts = Vec::new();
        file.parts(0, file.units(), 4, |first, count| parts.push((first, count)));
        assert!(parts.iter().all(|&(_, count)| count <= 4) && file.pieces.len() > 100);
        assert_eq!(Footprint::from_ranges(parts), file.footprint());
        assert_eq!((file.footprint().units(), file.units()), (7 * 256, 7 * 256));
        // A part in the middle is where the whole has it.
        let mut whole = Vec::new();
        file.parts(0, file.units(), 1, |first, _| whole.push(first));
        let mut some = Vec::new();
        file.parts(100, 50, 1, |first, _| some.push(first));
        assert_eq!(some, whole[100..150]);
    }

    #[test]
    fn a_model_that_does_not_fit_is_refused() {
        let refused = |lines: &str, units: u32| {
            let spec = LlmSpec::parse(&format!("{SMALL}{lines}"), "x").unwrap();
            File::new(&spec, units, 1).err().expect("an error")
        };
        assert_eq!(refused("", 1000), "llm.layers = 2: the model has 7 MiB, the device 3");
        let aged = "layout = \"aged\"\nvolume_mib = ";
        assert_eq!(refused(&format!("{aged}17"), 4096), "llm.volume_mib = 17: must be 16..=16, the size of the device");
        assert_eq!(refused(&format!("{aged}16"), 4096), "llm.volume_mib = 16: too small for a model in pieces");
    }
}
