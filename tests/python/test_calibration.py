"""Calibration: a device whose parameters are known, recorded by the simulator itself."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import ufsim
from conftest import Command
from ufsim import Calibration, ConfigError, OptionError
from ufsim.calibration.determined import fitted
from ufsim.calibration.loss import Loss
from ufsim.calibration.parameters import Parameter, asked
from ufsim.calibration.recording import Recorded, Recording
from ufsim.calibration.resampling import intervals, quantile, share_over
from ufsim.calibration.residuals import residuals
from ufsim.calibration.score import MEASURES, judged
from ufsim.results.columns import KINDS

HEADER = "time_ns,op,device,sector,bytes,flags,latency_ns,process\n"
TIMERS = {"power.auto_hibern8_idle_us": 1_000, "power.clkgate_delay_ms": 50}
TRUTH = {"power.hibern8_exit_us": 700, "power.clk_ungate_us": 9_000, "firmware.command_ns": 20_000}
# Nothing puts the device to sleep here, so its way back is never taken.
IDLE_KEY = "power.sleep_exit_us"
UNITS = 2_000


def requests(seed: int, count: int) -> list[tuple[int, str, int, int, str]]:
    """Bursts of reads and writes after pauses of all lengths: time, kind, sector, bytes, flags."""
    random = np.random.default_rng(seed)
    at, made = 0, []
    while len(made) < count:
        at += int(10 ** random.uniform(4.5, 8.7))
        for _ in range(int(random.integers(1, 6))):
            at += int(random.integers(1_000, 300_000))
            kind = "read" if random.random() < 0.5 else "write"
            size = int(random.choice([4096, 4096, 8192, 65536]))
            made.append((at, kind, 8 * int(random.integers(0, UNITS)), size, "sync" if random.random() < 0.5 else ""))
    return made


def written(path: Path, rows: list[tuple[int, str, int, int, str]], latencies: list[str]) -> Path:
    lines = [
        f"{at},{kind},x,{sector},{size},{flags},{latency},app"
        for (at, kind, sector, size, flags), latency in zip(rows, latencies, strict=True)
    ]
    path.write_text(HEADER + "\n".join(lines) + "\n")
    return path


def synthetic(folder: Path, name: str, seed: int, count: int = 600) -> Path:
    """A trace whose recorded latencies are those of profile `tiny` with TIMERS and TRUTH."""
    rows = requests(seed, count)
    silent = written(folder / f"{name}-silent.csv", rows, [""] * len(rows))
    ran = ufsim.run(silent, "ufs", profile="tiny", settings=TIMERS | TRUTH, log=True)
    assert ran.request_log is not None
    log = ran.request_log.arrays()
    latency = dict(zip(log["line"].tolist(), log["latency_ns"].tolist(), strict=True))
    return written(folder / f"{name}.csv", rows, [str(latency[line]) for line in sorted(latency)])


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("calibration")
    return [synthetic(folder, name, seed) for seed, name in enumerate(["one", "two"])]


FIT = {
    "power.hibern8_exit_us": (100, 4_000),
    "power.clk_ungate_us": (1_000, 40_000),
    "firmware.command_ns": (1_000, 200_000),
    IDLE_KEY: (1_000, 50_000),
}


@pytest.fixture(scope="module")
def calibration(traces: list[Path]) -> Calibration:
    return ufsim.calibrate(traces, fit=FIT, profile="tiny", settings=TIMERS, seeds=1, evaluations=400)


def test_the_parameters_of_a_known_device_are_found(calibration: Calibration) -> None:
    assert calibration.first_loss > 0.1
    for key, value in TRUTH.items():
        assert calibration.values[key] == pytest.approx(value, rel=0.02), key
    verdicts = calibration.fitted().set_index("key").verdict
    assert verdicts[list(TRUTH)].tolist() == ["determined"] * 3


def test_a_parameter_without_influence_is_named_and_left_as_it_was(calibration: Calibration) -> None:
    one = calibration.fitted().set_index("key").loc[IDLE_KEY]
    assert one.verdict == "not determined"
    assert (one.interval_low, one.interval_high) == (one.low, one.high)
    assert calibration.values[IDLE_KEY] == one.start == 10_000
    assert any(warning.startswith(f"{IDLE_KEY}: the data does not determine it") for warning in calibration.warnings)


def test_the_fitted_profile_is_one_and_gives_the_same_loss(
    calibration: Calibration, traces: list[Path], tmp_path: Path
) -> None:
    path = tmp_path / "fitted.toml"
    calibration.write(path)
    values = {one["key"]: one for one in ufsim.describe_profile(path)["values"]}
    for key in TRUTH:
        assert values[key]["value"] == calibration.values[key]
        assert values[key]["source"].startswith("fitted to one.csv, two.csv (scheme ufs, ")
    assert IDLE_KEY not in path.read_text()
    again = ufsim.calibrate(traces, profile=path, seeds=1)
    assert again.loss == calibration.loss and again.fit is None and again.parameters == []


def test_a_search_gives_the_same_whatever_goes_on_at_a_time_and_goes_on_where_it_was_stopped(
    traces: list[Path], tmp_path: Path
) -> None:
    fit = {"power.hibern8_exit_us": (100, 4_000)}
    shared = {"fit": fit, "profile": "tiny", "settings": TIMERS, "seeds": 1, "evaluations": 24}
    keep = tmp_path / "kept.jsonl"
    one = ufsim.calibrate(traces, jobs=1, keep=keep, **shared)
    lines = keep.read_text().splitlines()
    # Stopped in the middle of a line.
    keep.write_text("\n".join(lines[:20]) + '\n["')
    two = ufsim.calibrate(traces, jobs=2, keep=keep, **shared)
    assert one.to_json() == two.to_json()
    assert len(keep.read_text().splitlines()) < len(lines) + 5


def test_keys_bounds_and_a_file_of_bounds_ask_for_the_same(traces: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "bounds.toml"
    path.write_text("[power]\nhibern8_exit_us = [112, 1_800]\n")
    shared = {"profile": "tiny", "settings": TIMERS, "seeds": 1, "evaluations": 1}
    key = "power.hibern8_exit_us"
    one, two, three = (ufsim.calibrate(traces[0], fit=fit, **shared) for fit in (path, {key: (112, 1_800)}, [key]))
    assert one.to_json() == two.to_json() == three.to_json()
    assert one.fitted().start.tolist() == [450]


class Noise:
    """Stands for an objective: a device whose only parameter does nothing but draw other random numbers."""

    jobs = 1
    parameters = (Parameter("x.noise", "", 1, 400, 10, True),)

    def __init__(self) -> None:
        made = recording([1e5] * 200, gap_ns=1e9)
        self.recorded = [Recorded(None, made, "")]  # type: ignore[arg-type]
        self.losses = [Loss(made)]

    def run(self, place: int, values: tuple[int, ...], seed: int) -> np.ndarray:
        # Each run is longer or shorter as a whole: blocks of the recording do not show that it is noise.
        return self.recorded[place].recording.latency_ns * np.exp(np.random.default_rng([*values, seed]).normal())


def test_luck_with_one_seed_determines_nothing() -> None:
    noise = Noise()
    values = range(1, 401)
    luckiest = min(values, key=lambda value: noise.losses[0](noise.run(0, (value,), 1)))
    (one,) = fitted(noise, (luckiest,), 1, lambda _: None)  # type: ignore[arg-type]
    assert one.verdict == "not determined"
    assert one.value == 10, "the profile's own value"


def test_each_trace_is_predicted_by_a_fit_to_the_others(traces: list[Path]) -> None:
    fit = {"power.clk_ungate_us": (1_000, 40_000)}
    done = ufsim.calibrate(
        traces, fit=fit, profile="tiny", settings=TIMERS, seeds=1, evaluations=40, leave_one_out=True
    )
    assert [fold.left_out for fold in done.folds] == ["one.csv", "two.csv"]
    for fold in done.folds:
        # The others do not fit: the command takes less time here, and the link's exit.
        assert fold.values["power.clk_ungate_us"] == pytest.approx(TRUTH["power.clk_ungate_us"], rel=0.1)
        assert fold.left_out_loss > 0


def test_scores_judge_by_the_band_and_by_the_recordings_own_interval(traces: list[Path]) -> None:
    seen: list[tuple[int, int]] = []
    options = {"profile": "tiny", "settings": TIMERS | TRUTH, "progress": lambda *at: seen.append(at[:2])}
    many = ufsim.calibrate(traces[0], seeds=2, **options)
    assert seen == [(1, 3), (2, 3), (3, 3)], "a run for each seed, and the one that is shown"
    assert many.loss == 0.0 and len(many.score()) == 0, "neither kind has 1000 requests"
    part = many.recordings[0].only(many.recordings[0].is_kind("read"))
    p50, _, over = MEASURES
    for interval, value, verdict in [
        ((90.0, 110.0), 119.0, "hit"),
        ((90.0, 110.0), 121.0, "miss"),
        ((90.0, 130.0), 121.0, "hit by interval"),
    ]:
        assert judged(p50, part, "read", 100.0, interval, [value]).verdict == verdict
    assert judged(p50, part, "write", 100.0, (90.0, 110.0), [139.0, 139.0, 500.0]).verdict == "hit"
    assert judged(over, part, "read", 0.10, (0.1, 0.1), [0.149]).verdict == "hit"
    assert judged(over, part, "read", 0.10, (0.1, 0.1), [0.151]).verdict == "miss"


def recording(latencies: list[float], gap_ns: float, kind: str = "read") -> Recording:
    count = len(latencies)
    return Recording(
        name="made",
        path="made",
        arrival_ns=np.arange(count) * gap_ns,
        latency_ns=np.array(latencies, dtype=float),
        kind=np.full(count, KINDS.index(kind)),
        bytes=np.full(count, 4096),
        flags=np.zeros(count, dtype=np.int64),
        key=np.arange(count),
        without=0,
    )


def test_idleness_and_depth_are_those_of_the_recording() -> None:
    one = recording([50.0, 250.0, 250.0, 10.0], gap_ns=100.0)
    assert one.depth.tolist() == [0, 0, 1, 2]
    assert one.idle_ns[:2].tolist() == [np.inf, 50.0] and np.isnan(one.idle_ns[2:]).all()


def test_the_loss_is_the_mean_log_error_of_quantiles_whatever_the_order() -> None:
    one = recording([100.0] * 100 + [200.0] * 100, gap_ns=1e6)
    loss = Loss(one)
    assert loss(one.latency_ns) == 0.0
    assert loss(one.latency_ns * 2) == pytest.approx(np.log(2)) == loss(one.latency_ns / 2)
    assert loss.resampled(one.latency_ns * 2, [np.full(200, 3), np.arange(200) % 2]) == pytest.approx(np.log(2))
    # All but the first come after the same idleness, so their order does not count.
    assert loss(np.concatenate([one.latency_ns[:1], one.latency_ns[:0:-1]])) == 0.0


def test_intervals_come_from_whole_blocks() -> None:
    # Ten blocks of 10 s with ten requests each: nine of 1 ms, one of 9 ms.
    one = recording([1e6] * 90 + [9e6] * 10, gap_ns=1e9)
    assert one.blocks == 10
    known = intervals(one, one.latency_ns, {"p50": quantile(0.5), "over": share_over(8e6)}, seed=1, times=2000)
    assert known["p50"] == (1e6, 1e6)
    # The slow block is drawn a binomial number of times, n = 10 and p = 0.1: 0 has 35%, 2 or less 93%.
    assert known["over"] == pytest.approx((0.0, 0.2))


def test_residuals_have_both_sides_of_every_view(calibration: Calibration) -> None:
    frame = calibration.residuals()
    assert set(frame.view) == {"idle", "size", "depth", "flag"} and set(frame.kind) == {"read", "write"}
    everything = sum(len(one) for one in calibration.recordings)
    assert frame.query("view == 'depth'").requests.sum() == frame.query("view == 'flag'").requests.sum() == everything
    twice = residuals(calibration.recordings, [2 * one.latency_ns for one in calibration.recordings])
    assert all(row["log_error"] == pytest.approx(np.log(2)) for row in twice)
    woken = frame[frame.bin == "over 200 ms"].set_index("kind")
    assert woken.loc["read", "recorded_p50_ns"] > 9.7e6


@pytest.mark.parametrize(
    ("fit", "told"),
    [
        ({"power.hibern8_exit": None}, "no key of a profile; did you mean 'power.hibern8_exit_us'"),
        ({"power.hibern8_exit_us": (900, 100)}, "bounds 900..100; allowed: two whole numbers"),
        ({"power.hibern8_exit_us": (1, 10**9)}, "0..=1000000"),
        ({"gc.pace": None}, "is no number"),
        ({"power.autosuspend_delay_ms": None}, "needs bounds"),
        ({"power.clkgate_delay_ms": (10, 90)}, "fit and settings both name"),
    ],
)
def test_a_wrong_key_or_bound_is_named(traces: list[Path], fit: dict[str, tuple[int, int] | None], told: str) -> None:
    with pytest.raises(ConfigError, match=told.replace(".", r"\.")):
        ufsim.calibrate(traces, fit=fit, profile="tiny", settings=TIMERS)


def test_bounds_stand_in_a_file_as_values_do_in_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "bounds.toml"
    path.write_text("[power]\nhibern8_exit_us = [100, 2_000]\n[scheme.ufs]\nx = [1, 2]\n")
    bounds = {"power.hibern8_exit_us": (100, 2000), "scheme.ufs.x": (1, 2)}
    assert asked([str(path)]) == bounds
    assert asked([str(path), "a.b", "c.d=1_0..20"]) == bounds | {"a.b": None, "c.d": (10, 20)}
    with pytest.raises(ConfigError, match=r"names 'power\.hibern8_exit_us' twice"):
        asked([str(path), "power.hibern8_exit_us"])
    for text, told in [
        ("[a]\nb = [1, 2, 3]", "a.b is"),
        ("", "no bounds"),
        ("[a", "Expected"),
        ("[a]\nb = [1, 2.5]", "a.b"),
    ]:
        path.write_text(text)
        with pytest.raises(ConfigError, match=rf"bounds\.toml: .*{told}"):
            asked([str(path)])


def test_what_can_not_be_calibrated_is_refused(traces: list[Path], tmp_path: Path) -> None:
    silent = written(tmp_path / "silent.csv", requests(3, 5), [""] * len(requests(3, 5)))
    with pytest.raises(ConfigError, match="no request has a recorded latency"):
        ufsim.calibrate(silent, profile="tiny")
    with pytest.raises(OptionError, match="replay is 'closed'"):
        ufsim.calibrate(traces, profile="tiny", replay="closed")
    with pytest.raises(ConfigError, match="leave_one_out needs two traces"):
        ufsim.calibrate(traces[0], profile="tiny", leave_one_out=True)
    with pytest.raises(ConfigError, match="nothing was fitted"):
        ufsim.calibrate(traces[0], profile="tiny", seeds=1).to_toml()


def test_the_command_line_fits_prints_and_writes(ufsim: Command, traces: list[Path], tmp_path: Path) -> None:
    timers = [word for key, value in TIMERS.items() for word in ("--set", f"{key}={value}")]
    out, picture = tmp_path / "fitted.toml", tmp_path / "fitted.png"
    fit = ("--fit", "power.clk_ungate_us=1000..40000", "--evaluations", 30, "--seeds", 1)
    done = ufsim("calibrate", *traces, "--profile", "tiny", *timers, *fit, "--out", out, "--picture", picture)
    assert done.returncode == 0, done.stderr
    assert "Fitted parameters" in done.stdout and "power.clk_ungate_us" in done.stdout and "by idle time" in done.stdout
    assert max(map(len, done.stdout.splitlines()[:-2])) <= 80
    assert picture.read_bytes().startswith(b"\x89PNG") and '\nextends = "tiny"\n' in out.read_text()
    scored = ufsim("calibrate", *traces, "--profile", out, "--json", "--seeds", 1)
    document = json.loads(scored.stdout)["calibration"]
    assert document["parameters"] == [] and document["evaluations"] == 0
    assert {"scores", "residuals", "loss", "traces", "warnings"} <= document.keys()
    for arguments, told in [
        (("--fit", "power.clk_ungate_us=9..x"), "--fit is 'power.clk_ungate_us=9..x'"),
        (("--out", out), "--out needs --fit"),
        (("--fit", "power.clk_ungate_us", "--out", "x.json"), "name ends with .toml"),
    ]:
        refused = ufsim("calibrate", traces[0], "--profile", "tiny", *arguments)
        assert refused.returncode != 0 and told in refused.stderr and refused.stdout == ""


@pytest.mark.parametrize("name", ["p", "p.foo"])
def test_the_ending_of_the_picture_is_asked_for_before_anything_runs(
    ufsim: Command, traces: list[Path], tmp_path: Path, name: str
) -> None:
    failed = ufsim("calibrate", *traces, "--profile", "tiny", "--picture", tmp_path / name)
    endings = ".png, .pdf, .svg, .jpg, .jpeg"
    told = f"picture is '{tmp_path / name}'; allowed: a file whose name ends with {endings}"
    assert (failed.returncode, failed.stderr) == (1, f"ufsim: error: {told}\n")
    assert list(tmp_path.iterdir()) == []


def test_without_the_library_it_is_named(traces: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cma", None)
    with pytest.raises(ConfigError, match=r"ufsim\[calibrate\]"):
        ufsim.calibrate(traces, fit=FIT, profile="tiny", settings=TIMERS, seeds=1)
    assert ufsim.calibrate(traces, profile="tiny", settings=TIMERS, seeds=1).fit is None
