"""Calibration finds what data were made with, and its intervals hold the truth as often as they say."""

import dataclasses

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool.engine.trace import Column
from ssptool.errors import UnusableFile
from ssptool.studies.calibration import fit_trace, open_trials, read_fit
from ssptool.studies.study_file import study_from
from ssptool.types import Trace
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu
from tests.fmus import build as fmus
from tests.studies.conftest import OSCILLATOR

TRUTH = {"System1.c1": 0.2, "System2.k2": 12.0}
SETTINGS = {"step_size": 0.02, "stop_time": 6.0}
STUDY = {
    "system": str(OSCILLATOR),
    "settings": SETTINGS,
    "factors": {"System1.c1": {"low": 0.01, "high": 1.0}, "System2.k2": {"low": 2.0, "high": 40.0, "scale": "log"}},
    "results": {"peak": 'max("System1.x1")'},
}


@pytest.fixture(scope="module")
def exact():
    start_values = {name: repr(value) for name, value in TRUTH.items()}
    trace = ssptool.simulate(OSCILLATOR, settings=ssptool.Settings(**SETTINGS), start_values=start_values).unwrap()
    places = [trace.signals.index(name) for name in ("System1.x1", "System1.v1")]
    return Trace(trace.t[::5], trace.y[::5][:, places], tuple(trace.columns[place] for place in places))


def noisy(trace, seed, size=0.01):
    values = trace.y + np.random.default_rng(seed).normal(0, size, trace.y.shape)
    return Trace.of(trace.t, list(zip(trace.columns, values.T, strict=True)))


SCALES = {"System1.x1": 0.01, "System1.v1": 0.01}


def test_exact_data_give_the_exact_parameters(exact):
    """To what the iterations of the runs leave, 1e-8, times the condition of the problem."""
    fit = ssptool.calibrate(STUDY, data=exact)
    assert fit.converged
    for name, value in TRUTH.items():
        assert fit[name].value == approx(value, rel=1e-5)


@pytest.mark.slow
def test_the_truth_is_in_the_intervals_of_noisy_data(exact):
    fit = ssptool.calibrate(STUDY, data=noisy(exact, 1), scales=SCALES)
    for name, value in TRUTH.items():
        assert fit[name].low < value < fit[name].high
        assert fit[name].high - fit[name].low < 0.5 * value
    assert fit.residual_rms == approx(1.0, abs=0.15)  # of 122 samples: 1/√(2·120) = 0.065
    assert fit["System2.k2"].unit == "N/m" and "System2.k2" in str(fit)


@pytest.mark.slow
def test_intervals_hold_the_truth_in_95_of_100_cases(exact):
    """Of 50 seeds a binomial count with p = 0.95 is in 43 … 50 with a probability of 99.2 %.

    Data and fits are of the same, coarse and quick runs: how exact these are does not matter here.
    """
    quick = {
        **STUDY,
        "settings": {"step_size": 0.1, "stop_time": 6.0, "master": "gauss-seidel"},
        "factors": {
            "System1.c1": {"low": 0.01, "high": 1.0, "nominal": 0.25},
            "System2.k2": {"low": 2.0, "high": 40.0, "nominal": 13.0},
        },
    }
    study = study_from(quick)
    truth = ssptool.simulate(
        OSCILLATOR, settings=study.settings, start_values={name: repr(value) for name, value in TRUTH.items()}
    ).unwrap()
    places = [truth.signals.index(column.signal) for column in exact.columns]
    made = Trace(truth.t, truth.y[:, places], exact.columns)
    with open_trials(study, signals=made.signals) as trials:
        fits = [fit_trace(trials, noisy(made, seed), scales=SCALES) for seed in range(50)]
    for name, value in TRUTH.items():
        assert sum(fit[name].low < value < fit[name].high for fit in fits) in range(43, 51)


def test_targets_are_met():
    study = {**STUDY, "factors": {"System2.k2": {"low": 2.0, "high": 40.0, "nominal": 30.0}}}
    truth = ssptool.calibrate(study, targets={"peak": 0.25})
    found = truth["System2.k2"].value
    start_values = {"System2.k2": repr(found)}
    trace = ssptool.simulate(OSCILLATOR, settings=ssptool.Settings(**SETTINGS), start_values=start_values).unwrap()
    assert trace["System1.x1"].max() == approx(0.25, rel=1e-6)
    assert np.isnan(truth["System2.k2"].low)


def test_a_result_is_minimized():
    study = {**STUDY, "factors": {"System1.c1": {"low": 0.01, "high": 1.0}}}
    study["results"] = {"cost": "(value('System1.c1') - 0.3) ** 2"}
    assert ssptool.calibrate(study, minimize="cost")["System1.c1"].value == approx(0.3, abs=1e-4)


def test_a_parameter_on_its_bound_has_no_interval(exact):
    study = {
        **STUDY,
        "settings": {"step_size": 0.1, "stop_time": 6.0, "master": "gauss-seidel"},
        "factors": {"System2.k2": {"low": 13.0, "high": 40.0}},
        "start_values": {"System1.c1": 0.2},
    }
    fit = ssptool.calibrate(study, data=exact)
    assert fit["System2.k2"].value == approx(13.0, rel=1e-3)
    assert np.isnan(fit["System2.k2"].low) and "bound" in fit.notes[0]


def test_a_run_that_crashes_costs_its_point_and_not_the_calibration(misbehaving):
    """From 0.2 the first step for u³ = 0.3³ is to 0.332, to where the FMU crashes."""
    crash = f"{float(fmus.WRITE_TO_NULL)} if u > 0.32 else {float(fmus.NOTHING)}"
    study = misbehaving(
        [],
        factors={"u": {"free": True, "low": 0.0, "high": 1.0, "nominal": 0.2}, "Bad.what": crash},
        results={"cube": "u ** 3"},
        effort={"retries": 0},
    )
    fit = ssptool.calibrate(study, targets={"cube": 0.3**3})
    assert fit.converged and fit["u"].value == approx(0.3, rel=1e-6)
    assert "whose points were avoided" in fit.notes[0] and "SIGSEGV" in fit.notes[0]


def test_a_calibration_whose_first_run_crashes_says_so(misbehaving):
    factors = {"u": {"free": True, "low": 0.0, "high": 1.0}, "Bad.what": f"u * 0 + {float(fmus.WRITE_TO_NULL)}"}
    study = misbehaving([], factors=factors, results={"cube": "u ** 3"}, effort={"retries": 0})
    with pytest.raises(ssptool.exceptions.CalibrationFailed, match=r"the first run failed: .*SIGSEGV"):
        ssptool.calibrate(study, targets={"cube": 0.5})


def test_a_study_file_says_what_is_fitted_to_what(exact, tmp_path):
    table = np.column_stack([exact.t, exact.y])
    header = "time,System1.x1,System1.v1"
    np.savetxt(tmp_path / "data.csv", table, delimiter=",", header=header, comments="", fmt="%.17g")
    path = tmp_path / "fit.toml"
    path.write_text(
        f'system = "{OSCILLATOR}"\n[settings]\nstep_size = 0.02\nstop_time = 6.0\n[factors]\n'
        '"System2.k2" = {low = 2.0, high = 40.0}\n[start_values]\n"System1.c1" = 0.2\n'
        '[calibration]\ndata = "data.csv"\n',
        encoding="utf-8",
    )
    assert ssptool.calibrate(path)["System2.k2"].value == approx(12.0, rel=1e-5)
    path.write_text(path.read_text().replace("data.csv", "no.csv"), encoding="utf-8")
    with pytest.raises(ssptool.exceptions.BadData, match=r"fit\.toml:10: calibration\.data: .*does not exist"):
        ssptool.calibrate(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"factors": {"System1.c1": [0.1, 0.2]}}, "only a range"),
        ({"factors": {}}, "nothing to find"),
        ({"settings": {"step_size": 0.02, "stop_time": 2.0}}, "measured from 0 s to 6 s, and the run"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(exact, change, words):
    with pytest.raises((ssptool.exceptions.BadData, ssptool.exceptions.CalibrationFailed), match=words):
        ssptool.calibrate({**STUDY, **change}, data=exact)


def test_signals_that_the_system_does_not_have_come_with_near_ones(exact):
    columns = (dataclasses.replace(exact.columns[0], signal="System1.x11"), exact.columns[1])
    with pytest.raises(ssptool.exceptions.BadData, match=r"did you mean System1\.x1"):
        ssptool.calibrate(STUDY, data=dataclasses.replace(exact, columns=columns))
    with pytest.raises(ssptool.exceptions.BadData, match="no result is called"):
        ssptool.calibrate(STUDY, targets={"peek": 1.0})


def test_a_measured_row_that_was_cut_off_is_named_in_a_note_and_a_whole_one_without_line_end_is_not(exact, tmp_path):
    lines = [",".join(("time", *exact.signals))]
    lines += [",".join(map(repr, (t, *values))) for t, values in zip(exact.t.tolist(), exact.y.tolist(), strict=True)]
    path, study = tmp_path / "measured.csv", {**STUDY, "factors": {"System1.c1": {"low": 0.01, "high": 1.0}}}
    path.write_text("\n".join([*lines[:-1], "5.95,"]))
    cut = ssptool.calibrate(study, data=path)
    assert any(f"measured.csv:{len(lines)}: " in note for note in cut.notes)
    path.write_text("\n".join(lines))
    assert not any("measured.csv" in note for note in ssptool.calibrate(study, data=path).notes)


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"estimates": [{"odd": 1}]}', '{"estimates": 3}', "null"])
def test_a_damaged_fit_in_a_folder_is_named(tmp_path, content):
    (tmp_path / "calibration.json").write_text(content)
    with pytest.raises(UnusableFile, match=r"calibration\.json is damaged"):
        read_fit(tmp_path)


DECAY = {"T.a": 0.7, "T.b": 1.9}
TIMES = np.linspace(0.0, 4.0, 41)


def decay(folder, **more):
    """x' = b - a x from 3, y = 2 x + 0.7."""
    variables = (
        Var("a", "parameter", start=1.2),
        Var("b", "parameter", start=1.0),
        Var("x", "state", start=3.0),
        Var("dx", "der", of="x", needs=["x"]),
        Var("y", "output", needs=["x"]),
    )
    make_fmu(folder / "Decay.fmu", variables, calc="v->dx = v->b - v->a * v->x; v->y = 2 * v->x + 0.7;", **more)
    return write_system(folder / "decay", folder, {"T": "Decay"})


def decayed(noise=0.0):
    a, b = DECAY.values()
    x = 3 * np.exp(-a * TIMES) + b / a * (1 - np.exp(-a * TIMES))
    y = 2 * x + 0.7 + np.random.default_rng(3).normal(0, 1, len(TIMES)) * noise
    return Trace.of(TIMES, [(Column("T.y"), y)])


def of_decay(system, **more):
    factors = {"T.a": {"low": 0.1, "high": 5.0, "scale": "log"}, "T.b": {"low": 0.0, "high": 4.0}}
    return {
        "system": str(system),
        "settings": {"step_size": 0.01, "stop_time": 4.0},
        "factors": factors,
        "results": {"last": 'final("T.y")', "twice": "2 * last"},
        "accuracy": "off",
        **more,
    }


def test_derivatives_along_the_trajectory_need_a_tenth_of_the_runs(tmp_path):
    """The run is itself exact to 1e-6: 41 samples of a closed form give its parameters to this."""
    fit = ssptool.calibrate(of_decay(decay(tmp_path)), data=decayed())
    assert fit.runs <= 4 and "variational equations" in fit.notes[-1]
    for name, value in DECAY.items():
        assert fit[name].value == approx(value, rel=1e-6)


def test_the_solution_is_that_of_differences_of_runs(tmp_path):
    """Of noisy data, whose residuals do not vanish. A master is a setting of co-simulation, without an ODE."""
    settings = {"step_size": 0.01, "stop_time": 4.0, "implementation": "cs"}
    system, data = decay(tmp_path), decayed(0.05)
    fits = [
        ssptool.calibrate(of_decay(system, settings={**settings, **more}), data=data)
        for more in ({}, {"master": "jacobi"})
    ]
    assert "variational" in fits[0].notes[-1] and "differences of runs" in fits[1].notes[-1]
    assert 4 * fits[0].runs <= fits[1].runs
    for name in DECAY:
        assert fits[0][name].value == approx(fits[1][name].value, rel=1e-6)
        assert fits[0][name].high == approx(fits[1][name].high, rel=1e-4)


def test_differences_instead_of_derivatives_have_a_reason_about_the_fmu(tmp_path):
    """A reason for users: the component, and no class of an error."""
    fit = ssptool.calibrate(of_decay(decay(tmp_path, me=None)), data=decayed())
    assert fit.notes[-1].endswith(", because T has no FMU that offers model exchange")
    for name, value in DECAY.items():
        assert fit[name].value == approx(value, rel=1e-6)


def test_targets_and_bounds_with_derivatives(tmp_path):
    """b = a x of a last value that is met by a alone, and a target beyond the upper bound of b."""
    study = of_decay(decay(tmp_path), start_values={"T.a": 0.7})
    study["factors"] = {"T.b": {"low": 0.0, "high": 4.0}}
    gain = 2 / 0.7 * (1 - np.exp(-2.8))
    fit = ssptool.calibrate(study, targets={"twice": 2 * (6 * np.exp(-2.8) + 1.5 * gain + 0.7)})
    assert fit["T.b"].value == approx(1.5, rel=1e-6) and "variational" in fit.notes[-1]
    assert ssptool.calibrate(study, targets={"twice": 50.0})["T.b"].value == approx(4.0)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"me": None, "step": "calc(v); v->x += h * v->dx; return OK;"}, "model exchange"),
        ({"version": 3, "event": "e->has_next = v->time < 1; e->next = v->time + 1; return OK;"}, "events"),
    ],
)
def test_without_derivatives_runs_are_compared(tmp_path, more, reason):
    fit = ssptool.calibrate(of_decay(decay(tmp_path, **more)), data=decayed())
    assert reason in fit.notes[-1] and fit["T.a"].value == approx(DECAY["T.a"], rel=0.02)
