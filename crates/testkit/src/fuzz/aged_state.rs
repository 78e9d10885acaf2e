//! Input: a choice byte, then either a whole file of an aged state, or changes to a valid file. A change is a place (16
//! bits, scaled to the file's length) and a byte that is combined with the byte there. If a changed file can still be
//! read, the state must be the one that was written.

use std::ops::ControlFlow;
use std::sync::OnceLock;

use lab::profile::Profile;
use lab::{Aged, Parts, Spec, schemes};

/// A workload that ages the tiny device a little.
const AGE: &str = "rw=randwrite bs=4k iodepth=4 size=4m";

pub(super) fn run(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let (parts, good) = good(usize::from(choice) % schemes().len());
    if choice >= 128 {
        return assert!(read(rest, *parts).is_err(), "a file that nobody wrote was read");
    }
    let mut file = good.clone();
    for change in rest.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) * file.len() / (1 << 16);
        file[place] ^= change[2];
    }
    if rest.len() % 3 == 1 {
        file.truncate(good.len() * usize::from(rest[rest.len() - 1]) / 256);
    }
    match read(&file, *parts) {
        Ok(aged) => assert_eq!(written(&aged), written(&read(good, *parts).expect("a good file")), "other contents"),
        Err(error) => assert!(file != *good && !error.trim().is_empty(), "{error}"),
    }
}

fn read(file: &[u8], parts: Parts) -> Result<Aged, String> {
    let tiny = Profile::load("tiny", &[]).expect("an embedded profile");
    Aged::read(file, &tiny.for_parts(parts), parts, 1)
}

/// Text of a state, for comparisons.
fn written(aged: &Aged) -> String {
    format!("{aged:?}")
}

/// A valid file of each scheme, made when it is first needed.
fn good(scheme: usize) -> &'static (Parts, Vec<u8>) {
    static FILES: OnceLock<Vec<(Parts, Vec<u8>)>> = OnceLock::new();
    let make = |preset: &lab::Preset| {
        let spec = Spec { profile: "tiny".into(), age: Some(AGE.into()), ..Spec::new(preset.name, "") };
        let aged = lab::age(&spec, &mut |_| ControlFlow::Continue(())).expect("a device that ages");
        let mut file = Vec::new();
        aged.write(&mut file).expect("memory takes everything");
        (preset.parts, file)
    };
    &FILES.get_or_init(|| schemes().iter().map(make).collect())[scheme]
}
