//! The fingerprint of a version is that of what runs.

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../build.rs"]
#[allow(dead_code)]
mod build;

/// A small workspace that is removed in the end.
struct Workspace(PathBuf);

impl Workspace {
    fn new(name: &str) -> Workspace {
        let root = std::env::temp_dir().join(format!("ufsim-fingerprint-{name}-{}", std::process::id()));
        let workspace = Workspace(root);
        workspace.put("Cargo.toml", "[workspace.dependencies]\nflash = { path = \"crates/flash\" }\n");
        workspace.put("crates/lab/Cargo.toml", "[dependencies]\nflash.workspace = true\n");
        let lab = "//! Lab.\nmod run;\n#[cfg(test)]\nmod more;\n#[cfg(test)]\nmod tests {}\n";
        workspace.put("crates/lab/src/lib.rs", lab);
        workspace.put("crates/lab/src/run.rs", "/// Runs.\npub fn run(n: u32) -> u32 {\n    n + 40 // pages\n}\n");
        workspace.put("crates/lab/src/more.rs", "const HELPS: u32 = 1;\n");
        workspace.put("crates/flash/Cargo.toml", "[dependencies]\n");
        let flash = "params! {\n    /// Pages.\n    pages: count(1 to 8) = 4, \"s\";\n}\n";
        workspace.put("crates/flash/src/lib.rs", flash);
        workspace.put("profiles/a.toml", "# A device.\n[nand]\nplanes = 4\n");
        workspace
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("room for a folder");
        fs::write(path, text).expect("room for a file");
    }

    /// Whether the fingerprint is another one when a file has this text in the place of that.
    fn changes(&self, path: &str, from: &str, to: &str) -> bool {
        let before = build::fingerprint(&self.0).0;
        let old = fs::read_to_string(self.0.join(path)).expect("a file");
        assert!(old.contains(from), "{path} has no {from}");
        self.put(path, &old.replace(from, to));
        let after = build::fingerprint(&self.0).0;
        self.put(path, &old);
        before != after
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn comments_documentation_layout_and_tests_do_not_count() {
    let workspace = Workspace::new("same");
    for (path, from, to) in [
        ("crates/lab/src/run.rs", "// pages", "/* so many */ // pages"),
        ("crates/lab/src/run.rs", "/// Runs.", "/// Runs all.\n#[doc = \"Twice.\"]"),
        ("crates/lab/src/run.rs", "n + 40", "n\n+  40"),
        ("crates/lab/src/lib.rs", "//! Lab.", "//! The laboratory."),
        ("crates/lab/src/lib.rs", "mod tests {}", "mod tests {\n    #[test]\n    fn runs() {}\n}"),
        ("crates/lab/src/more.rs", "1", "2"),
        ("crates/flash/src/lib.rs", "/// Pages.", "/// Pages of a block."),
        ("profiles/a.toml", "# A device.", "# The device."),
    ] {
        assert!(!workspace.changes(path, from, to), "{path}: {from} -> {to}");
    }
}

#[test]
fn constants_defaults_values_and_names_count() {
    let workspace = Workspace::new("other");
    for (path, from, to) in [
        ("crates/lab/src/run.rs", "40", "41"),
        ("crates/lab/src/run.rs", "n + 40", "40 - n"),
        ("crates/lab/src/lib.rs", "mod run;", "mod run;\nconst MOST: u32 = 3;"),
        ("crates/lab/src/lib.rs", "#[cfg(test)]\nmod more;", "mod more;"),
        ("crates/flash/src/lib.rs", "= 4", "= 5"),
        ("crates/flash/src/lib.rs", "pages:", "blocks:"),
        ("profiles/a.toml", "planes = 4", "planes = 2"),
    ] {
        assert!(workspace.changes(path, from, to), "{path}: {from} -> {to}");
    }
}

#[test]
fn the_version_has_that_of_this_workspace() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (sum, read) = build::fingerprint(&root);
    assert!(ufsim_lab::VERSION.ends_with(&format!("+{sum:016x}")), "{} is not of {sum:016x}", ufsim_lab::VERSION);
    for name in ["nand", "host", "workload", "units"] {
        assert!(read.contains(&root.join("crates").join(name).join("src")), "{name} does not count");
    }
}
