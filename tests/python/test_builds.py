"""What `make test` compiles: nothing twice, and no test program without tests."""

import subprocess
import tomllib

from conftest import ROOT


def compiled(*selected: str) -> set[str]:
    """Crates with their features, as cargo would compile them."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--format", "{p} [{f}]", *selected]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {line.removesuffix(" (*)") for line in done.stdout.splitlines()}


def test_the_extension_for_tests_is_made_of_what_the_tests_in_rust_have_compiled() -> None:
    tests = compiled("--workspace", "--edges", "normal,build,dev")
    extension = compiled("--package", "ufsim-py", "--features", "as-tested", "--edges", "normal,build")
    assert [crate.split()[0] for crate in extension - tests] == ["ufsim-py"]


def test_what_has_no_test_program_has_no_tests() -> None:
    without = set()
    for manifest in sorted(ROOT.glob("crates/*/Cargo.toml")):
        if tomllib.loads(manifest.read_text()).get("lib", {}).get("test", True):
            continue
        without.add(manifest.parent.name)
        for source in manifest.parent.glob("src/**/*.rs"):
            attributes = [line.strip() for line in source.read_text().splitlines()]
            # A macro of testkit makes tests for other crates.
            assert "#[test]" not in attributes or "macro_rules!" in source.read_text(), source
    assert "py" in without
