//! A trace ages a device: its writes and trims, and nothing else.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use ufsim_lab::{LabError, RunResult, Spec, age_header, simulate};

const HEADER: &str = "time_ns,op,device,sector,bytes,flags,latency_ns,process\n";

struct File(PathBuf);

impl File {
    fn new(name: &str, lines: &str) -> File {
        let path = std::env::temp_dir().join(format!("ufsim-aged-by-{name}-{}.csv", std::process::id()));
        fs::write(&path, format!("{HEADER}{lines}")).expect("a temporary file");
        File(path)
    }

    fn path(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn run(spec: &Spec) -> Result<RunResult, LabError> {
    simulate(spec, &mut |_| ControlFlow::Continue(()))
}

/// Reads of 64 units that only an aged device has data in.
fn reading(age: Option<String>) -> Spec {
    let job = "rw=read bs=4k size=256k";
    Spec { profile: "tiny".into(), precondition: "none".into(), age, ..Spec::new("ufs", job) }
}

#[test]
fn what_was_written_is_there_and_what_was_trimmed_is_not() {
    let writes: String =
        (0..64).map(|at| format!("{},write,a,{},4096,,,p\n", 1_000_000_000_u64 * at, 8 * at)).collect();
    let more = "70000000000,read,a,8000,4096,,,p\n71000000000,trim,a,0,131072,,,p\n";
    let file = File::new("installation", &(writes + more));
    let flash_reads = |spec: &Spec| {
        let result = run(spec).expect("nothing fails");
        (
            result.nand_ops.get("host_read").and_then(|ops| ops.get("read")).copied().unwrap_or(0),
            result.setup.age.clone(),
        )
    };
    let (fresh, none) = flash_reads(&reading(None));
    let (aged, told) = flash_reads(&reading(Some(file.path())));
    assert_eq!((fresh, none), (0, None));
    assert!(aged > 0, "the half that was not trimmed is read from flash");
    let told = told.expect("it was aged");
    assert!(told.contains(": 65 writes and trims, digest "), "{told}");
    assert!(!run(&reading(Some(file.path()))).expect("nothing fails").drawn.contains(&"ageing".to_owned()));
}

#[test]
fn other_writes_are_another_state() {
    let key = |file: &File| age_header(&reading(Some(file.path()))).expect("a trace").key();
    // One file with other contents: its name is in the key.
    let of = |write: &str| key(&File::new("other", write));
    let keys = ["0,write,a,8,4096,,,p\n", "0,write,a,16,4096,,,p\n", "0,write,a,8,4096,fua,,p\n"].map(of);
    assert!(keys[0] != keys[1] && keys[0] != keys[2], "{keys:?}");
}

#[test]
fn traces_that_cannot_age_are_refused() {
    let told = |name: &str, lines: &str| {
        let file = File::new(name, lines);
        run(&reading(Some(file.path()))).expect_err("refused").to_string()
    };
    assert!(told("reads", "0,read,a,8,4096,,,p\n").ends_with("must have writes; this trace has none"));
    let beyond = told("beyond", "0,write,a,800000000,4096,,,p\n");
    assert!(beyond.starts_with("age: ") && beyond.contains("beyond"), "{beyond}");
}
