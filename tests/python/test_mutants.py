"""What `make mutants` compiles: sources in which each mutant stands behind a switch."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from mutant_switches import Change, blamed, of_sabotage, switched  # noqa: E402

SAMPLE = b"""
fn area(a: i64, b: i64) -> i64 {
    let mut sum = a * (b + 1);
    sum += -a;
    sum
}

fn both(a: bool, b: bool) -> bool {
    !a && b || a != b
}

#[derive(Default)]
struct Pair { left: i64, right: i64 }

fn arms(n: i64) -> i64 {
    let pair = Pair { left: n, ..Pair::default() };
    match pair.left {
        1 => 10,
        x if x < 5 => 20,
        _ => 30 + pair.right,
    }
}

fn chain(n: Option<i64>) -> bool {
    if let Some(n) = n && n > 3 { return true; }
    false
}
"""
# Genre, text in the sample, where in it the change begins, replacement.
CHANGES = [
    ("FnValue", "let mut sum", 0, "7"),
    ("BinaryOperator", "a * (", 2, "/"),
    ("BinaryOperator", "a * (", 2, "+"),
    ("BinaryOperator", "b + 1", 2, "-"),
    ("BinaryOperator", "+= -a", 0, "-="),
    ("UnaryOperator", "-a", 0, ""),
    ("UnaryOperator", "!a", 0, ""),
    ("BinaryOperator", "&& b |", 0, "||"),
    ("BinaryOperator", "|| a", 0, "&&"),
    ("BinaryOperator", "!= b", 0, "=="),
    ("MatchArm", "1 => 10", 0, ""),
    ("MatchArmGuard", "x < 5", 0, "true"),
    ("MatchArmGuard", "x < 5", 0, "false"),
    ("BinaryOperator", "< 5", 0, "=="),
    ("StructField", "left: n,", 0, ""),
    ("BinaryOperator", "&& n >", 0, "||"),
    ("BinaryOperator", "> 3 {", 0, ">="),
]
# What the program below prints, worked out by hand: without a mutant, and for each mutant above that has a switch.
ORIGINAL = "area 12; both 0110; arms 10 20 30; chain 01"
PRINTED = {
    0: ORIGINAL,
    1: ORIGINAL.replace("area 12", "area 7"),
    2: ORIGINAL.replace("area 12", "area -4"),
    3: ORIGINAL.replace("area 12", "area 3"),
    4: ORIGINAL.replace("area 12", "area 0"),
    5: ORIGINAL.replace("area 12", "area 24"),
    6: ORIGINAL.replace("area 12", "area 24"),
    7: ORIGINAL.replace("both 0110", "both 0111"),
    8: ORIGINAL.replace("both 0110", "both 1111"),
    9: ORIGINAL.replace("both 0110", "both 0100"),
    10: ORIGINAL.replace("both 0110", "both 1101"),
    11: ORIGINAL.replace("arms 10 20 30", "arms 20 20 30"),
    12: ORIGINAL.replace("arms 10 20 30", "arms 10 20 20"),
    13: ORIGINAL.replace("arms 10 20 30", "arms 10 30 30"),
    14: ORIGINAL.replace("arms 10 20 30", "arms 10 30 20"),
    15: ORIGINAL.replace("arms 10 20 30", "arms 20 20 20"),
    17: ORIGINAL.replace("chain 01", "chain 11"),
}
# The && of a let chain: with ||, it would be no program.
UNVIABLE = {16}
PROGRAM = b"""
fn mutant(number: u32) -> bool {
    std::env::args().nth(1).unwrap() == number.to_string()
}

fn main() {
    let bits = |values: &[bool]| values.iter().map(|&value| if value { '1' } else { '0' }).collect::<String>();
    let both = [both(false, false), both(false, true), both(true, false), both(true, true)];
    print!("area {}; both {}; arms {} {} {}; ", area(6, 2), bits(&both), arms(1), arms(4), arms(5));
    println!("chain {}", bits(&[chain(Some(3)), chain(Some(4))]));
}
"""


def changes() -> list[Change]:
    return [
        Change(number, genre, SAMPLE.index(text.encode()) + at, replacement)
        for number, (genre, text, at, replacement) in enumerate(CHANGES, 1)
    ]


def test_each_switch_makes_its_mutant_and_no_other(tmp_path: Path) -> None:
    text, impossible, unviable = switched(SAMPLE, changes())
    assert (impossible, unviable) == (set(), UNVIABLE)
    assert set(PRINTED) == set(range(len(CHANGES) + 1)) - UNVIABLE
    (tmp_path / "sample.rs").write_bytes(text + PROGRAM)
    subprocess.run(["rustc", "--edition", "2024", "--cap-lints", "allow", "sample.rs"], cwd=tmp_path, check=True)
    printed = {
        number: subprocess.run([tmp_path / "sample", str(number)], stdout=subprocess.PIPE, text=True, check=True).stdout
        for number in PRINTED
    }
    assert {number: line.strip() for number, line in printed.items()} == PRINTED


def test_what_does_not_change_stays_as_it_is() -> None:
    assert switched(SAMPLE, []) == (SAMPLE, set(), set())


@pytest.mark.parametrize(
    ("text", "numbers", "alone"),
    [
        ("a__ / b__", {2}, True),
        ("a__ * b__", {2, 3}, False),
        ("a__ + b__ } })", {4}, False),
        ("#[derive", set(), False),
    ],
)
def test_an_error_is_blamed_on_what_was_written_there(text: str, numbers: set[int], alone: bool) -> None:
    written, _, _ = switched(SAMPLE, changes())
    assert blamed(written, written.index(text.encode())) == (numbers, alone)


PLANTED = b"""
/// Sabotage for tests.
fn wrong(a: u32) -> bool { a + 1 > 2 }

/// What a device does. It knows nothing of sabotage.
fn right(&self, a: u32) -> bool {
    if self.sabotaged(Sabotage::One) && a - 3 > 0 {
        return a * 4 == 0;
    }
    let late = a < 5 && self.sabotaged(Sabotage::Two);
    let kept = match self.sabotaged(Sabotage::Three) {
        true => a / 7 == 0,
        false => a ^ 8 == 0,
    };
    match self.sabotage {
        Some(Sabotage::Four) => a & 9 == 0,
        _ if !sabotaged => late || a % 6 == 0,
        _ => !late,
    }
}
"""


def test_what_only_a_planted_defect_reaches_is_told() -> None:
    places = {
        "+ 1": True,
        "&& a": True,
        "- 3": True,
        "* 4": True,
        "&& self": True,
        "< 5": True,
        "|| a": False,
        "% 6": False,
        "/ 7": True,
        "^ 8": False,
        "& 9": True,
        "!sabotaged": True,
        "!late": False,
    }
    genre = {"!": "UnaryOperator"}
    mutants = [(PLANTED.index(text.encode()), genre.get(text[0], "BinaryOperator")) for text in places]
    assert of_sabotage(PLANTED, mutants) == list(places.values())
