"""The tool `tidy` finds what it looks for, and nothing else in the project."""

import pytest

from tools.tidy import checks, imports
from tools.tidy.rust import strip, without_tests

MANIFEST = """
[workspace.package]
version = "1.2.3"
[workspace.lints.rust]
unsafe_code = "forbid"
[workspace.lints.clippy]
disallowed_types = "deny"
"""


def found(check: str, files: dict[str, str]) -> list[str]:
    tree = checks.Tree({"Cargo.toml": MANIFEST, "CITATION.cff": "x\nversion: 1.2.3\n", **files})
    return [f"{finding.path}:{finding.line}" for finding in checks.findings(tree, {}) if finding.check == check]


def test_long_lines_but_not_where_they_may_be() -> None:
    long = "x " * 61
    rust = f'// fine\n// {long}\nlet a = "\n{long}\n";\n'
    assert found("width", {"a.rs": rust}) == ["a.rs:2"]
    assert found("width", {"a.md": f"{long}\n| {long} |\n[{long}](there)\n"}) == ["a.md:1"]
    assert found("width", {"a.toml": f"# {long}\na = '{long}'\n"}) == ["a.toml:1"]
    assert found("width", {"Makefile": f"{long}\n"}) == ["Makefile:1"]


def test_paths_of_machines_and_foreign_words() -> None:
    assert found("words", {"a.md": "see /ho" + "me/me/file and the sub-ag" + "ent\n"}) == ["a.md:1", "a.md:1"]
    assert found("words", {"a.md": "see docs/work/file, ~/work/file and target/home/x\n"}) == []


def test_macros_of_what_is_not_done() -> None:
    assert found("unfinished", {"a.rs": 'fn a() {\n    todo!()\n}\n// todo!\nlet s = "dbg!";\n'}) == ["a.rs:2"]


def test_long_files() -> None:
    assert found("length", {"a.rs": "x\n" * 700, "b.rs": "x\n" * 701}) == ["b.rs:701"]


def test_seats() -> None:
    def trait(methods: int, default: str) -> str:
        asked = "".join(f"    fn m{n}(&self) {{ let f = |x| {{ {default} }}; }}\n" for n in range(methods))
        tests = "#[cfg(test)]\nmod tests { trait T { fn a() { panic!() } } }"
        return f"/// A seat.\npub trait Seat {{\n{asked}}}\n{tests}"

    folders = {f"{folder}mod.rs": trait(12, "0") for folder in checks.SEATS}
    assert found("seats", folders) == []
    first = f"{checks.SEATS[0]}mod.rs"
    assert found("seats", {**folders, first: trait(13, "0")}) == [f"{first}:2"]
    assert found("seats", {**folders, first: trait(2, 'unreachable!("no")')}) == [f"{first}:2"]
    assert found("seats", {**folders, first: "struct NoTrait;"}) == [f"{checks.SEATS[0]}:1"]


def test_manifests() -> None:
    inherits = "[lints]\nworkspace = true\n"
    own = '[lints.clippy]\ndisallowed_types = "deny"\n'
    assert found("manifests", {"crates/a/Cargo.toml": inherits, "crates/table/Cargo.toml": own}) == []
    wrong = {"crates/a/Cargo.toml": own, "crates/table/Cargo.toml": inherits, "CITATION.cff": "x\nversion: 1.2.4\n"}
    assert found("manifests", wrong) == ["crates/a/Cargo.toml:1", "crates/table/Cargo.toml:1", "CITATION.cff:1"]


def test_tests_that_no_suite_names() -> None:
    suite = {"crates/a/tests/suite.rs": "mod b;\nmod c;\n", "crates/a/tests/b.rs": "", "crates/a/tests/c/d.rs": ""}
    assert found("suites", {**suite, "crates/e/tests/alone.rs": ""}) == []
    assert found("suites", {**suite, "crates/a/tests/d.rs": ""}) == ["crates/a/tests/d.rs:1"]


def test_who_writes_files() -> None:
    tests = "#[cfg(test)]\nmod tests { fn b() { fs::write(p); } }\n"
    rust = f"fn a() {{\n    std::fs::write(p, b);\n    File::open(p);\n}}\n{tests}"
    assert found("writers", {"crates/a/src/lib.rs": rust, "crates/a/src/tests.rs": rust}) == ["crates/a/src/lib.rs:2"]
    python = [
        'open(path, "w")',
        'path.open(mode="ab")',
        "os.open(path, flags)",
        "path.write_text(text)",
        "other.replace(path)",
        "frame.to_parquet(path)",
        "figure.savefig(path)",
        "open(path)",
        'path.open("rb")',
        "beside.write_text(text)",
        "figure.savefig(beside)",
        'text.replace("a", "b")',
        "frame.rename(columns=names)",
        "replace(spec, seed=1)",
    ]
    lines = found("writers", {"python/ufsim/a.py": "\n".join(python), "tools/a.py": python[0]})
    assert lines == [f"python/ufsim/a.py:{line}" for line in range(1, 8)]


def test_quoted_files() -> None:
    block = "<!-- as in examples/a.rs -->\n```rust\nfn a() {}\n```\n"
    assert found("quotations", {"d.md": f"x\n\n{block}", "examples/a.rs": "fn a() {}\n"}) == []
    assert found("quotations", {"d.md": f"x\n\n{block}", "examples/a.rs": "fn b() {}\n"}) == ["d.md:3"]
    assert found("quotations", {"d.md": "<!-- as in examples/a.rs -->\n"}) == ["d.md:1"]
    assert found("quotations", {"examples/a.rs": ""}) == ["examples/a.rs:1"]


def test_what_is_accepted_without_need_is_found() -> None:
    tree = checks.Tree({"Cargo.toml": MANIFEST, "CITATION.cff": "x\nversion: 1.2.3\n", "a.rs": "x" * 121})
    assert ("width", "a.rs") in [(finding.check, finding.path) for finding in checks.findings(tree, {})]
    accepted = {("width", "a.rs"): "reason", ("width", "b/"): "reason"}
    told = [(finding.check, finding.path) for finding in checks.findings(tree, accepted)]
    assert ("width", "a.rs") not in told and ("width", "b/") in told


RING = {
    "lib.rs": "mod a;\nmod b;\nmod c;\nmod d;\npub use a::A;\n",
    "a.rs": "use crate::b::B;\npub struct A;\n",
    "b.rs": "pub struct B;\nfn f() { super::c::g(); }\n",
    "c.rs": "use {crate::d::D as Other, std::mem};\n",
    "d.rs": "fn f(_: crate::A) {}\npub struct D;\n",
}


def test_a_circle_is_found_through_what_a_module_passes_on() -> None:
    edges = imports.imports(RING, "")
    assert edges == {"lib.rs": set(), "a.rs": {"b.rs"}, "b.rs": {"c.rs"}, "c.rs": {"d.rs"}, "d.rs": {"a.rs"}}
    (circle,) = imports.circles(RING, "")
    assert circle.files == ("a.rs", "b.rs", "c.rs", "d.rs")
    assert len(found("circles", {f"crates/x/src/{name}": text for name, text in RING.items()})) == 1


def test_folders_that_import_each_other_are_found() -> None:
    apart = {"lib.rs": "mod a;\nmod b;\n", "a/mod.rs": "mod x;\nmod y;\n", "b/mod.rs": "pub struct B;\n"}
    one_way = {**apart, "a/x.rs": "use crate::b::B;\n", "a/y.rs": "pub struct Y;\n"}
    assert imports.room_circles(one_way, "") == []
    (circle,) = imports.room_circles({**one_way, "b/mod.rs": "use crate::a::y::Y;\npub struct B;\n"}, "")
    assert circle.files == ("a", "b")


@pytest.mark.parametrize(
    "replaced",
    [
        {"d.rs": "pub struct D;\n"},
        {"d.rs": "#[cfg(test)]\nmod tests {\n    use crate::A;\n}\n"},
        {"d.rs": "// crate::A\npub struct D;\n"},
    ],
)
def test_no_circle_without_the_last_link(replaced: dict[str, str]) -> None:
    assert imports.circles({**RING, **replaced}, "") == []


def test_an_item_of_the_parent_leads_to_the_parent() -> None:
    sources = {"lib.rs": "mod m;\n", "m/mod.rs": "mod x;\npub trait T {}\n", "m/x.rs": "use super::T;\n"}
    assert imports.imports(sources, "")["m/x.rs"] == {"m/mod.rs"}


def test_paths_in_a_macro_belong_to_who_calls_it() -> None:
    macro = "macro_rules! all { ($go:ident) => { $go! { x::X } }; }\npub(crate) use all;\n"
    sources = {"lib.rs": "mod list;\nmod x;\nlist::all!(go);\n", "list.rs": macro, "x.rs": "pub struct X;\n"}
    assert imports.imports(sources, "") == {"lib.rs": {"list.rs", "x.rs"}, "list.rs": set(), "x.rs": set()}


def test_comments_literals_and_tests_are_no_code() -> None:
    code = "a /* x /* y */ z */ b \"c // d\" r#\"e\"f\"# 'g' '\\'' b'h' i<'j> // k\nl"
    assert strip(code) == "a  b \"\" \"\" ' ' ' ' ' ' i<'j> \nl"
    assert without_tests("a\n#[cfg(test)]\nmod t {\n{}\n}\nb").split() == ["a", "b"]
