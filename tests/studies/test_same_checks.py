"""Checks of runs of studies see what those of single runs see: errors inside FMUs, and jumps that are noticed late."""

import numpy as np
import pytest

import ssptool
from ssptool.engine.run.accuracy import Accuracy, AccuracyLimit, AccuracyMethod
from ssptool.studies.accuracy import check_words
from tests.accuracy.measured import EXACT, NOT_MORE_THAN, true_error, written
from tests.accuracy.parts import Part, write_part
from tests.accuracy.systems import SYSTEMS, late
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system

pytestmark = pytest.mark.one_in(3)


def checked(folder, system, results, tmp_path, **more):
    """The only row of a study of one run of a system, which is checked."""
    study = {"system": str(folder), "factors": {"free": {"free": True, "values": [1]}}, "results": results}
    (row,) = ssptool.study({**study, "settings": system, "accuracy": "check", **more}, tmp_path / "study").rows()
    return row


@pytest.mark.parametrize("name", [name for name in SYSTEMS if "coarse steps" in name or "late strike" in name])
def test_a_study_states_what_a_run_states(name, tmp_path):
    system = SYSTEMS[name]
    folder = written(system, tmp_path)
    settings = {"step_size": system.stop / 1000, **system.settings}
    run = ssptool.simulate(folder, accuracy="check", **settings)
    signals = system.exact(run.t)
    results = {f"r{place}": f'final("{signal}")' for place, signal in enumerate(signals)}
    row = checked(folder, settings, results, tmp_path)
    true = true_error(system, run)[0]
    if row["accuracy"] is None:
        assert system.blind and "inside" in row["accuracy_remark"]
        return
    assert true <= max(EXACT, NOT_MORE_THAN * row["accuracy"])
    assert row["accuracy"] <= NOT_MORE_THAN * max(true, run.accuracy.error)


@pytest.mark.parametrize("when", [1.9019, 1.86365])
def test_a_jump_of_a_signal_that_no_result_needs_is_seen(when, tmp_path):
    system = late(when)
    folder = written(system, tmp_path)
    row = checked(folder, {}, {"x": 'final("One.x")'}, tmp_path)
    run = ssptool.simulate(folder, record="One.x")
    assert true_error(system, run)[0] <= NOT_MORE_THAN * row["accuracy"]
    assert "Strike.force" in row["accuracy_remark"]


@pytest.mark.parametrize("completed", ["abort();", "return ERROR;"], ids=["crashes", "fails"])
def test_an_fmu_that_is_good_for_co_simulation_only_costs_a_study_nothing(completed, tmp_path):
    """y = 5 x + 1, x' = -2 x, driven by a clock: what half the step shows stands."""
    states = [Var("u", "input"), Var("x", "state", start=3.0), Var("der_x", "der", of="x", needs=["x", "u"])]
    variables = [*states, Var("y", "output", needs=["x"])]
    calc = "v->der_x = -2 * v->x + v->u; v->y = 5 * v->x + 1;"
    make_fmu(tmp_path / "A.fmu", variables, calc=calc, completed=f"{completed} return OK;")
    write_part(tmp_path / "Clock.fmu", Part(outputs={"y": "time"}, exchange=True))
    wires = [("Clock.y", "A.u")]
    system = write_system(tmp_path / "system", tmp_path, {"A": "A", "Clock": "Clock"}, wires)
    row = checked(system, {"step_size": 0.1, "implementation": "cs"}, {"y": 'final("A.y")'}, tmp_path)
    assert row["status"] == "completed" and row["accuracy"] > 1e-3
    assert "steps of 0.1, 0.05 and 0.025 s" in row["accuracy_remark"]


@pytest.mark.parametrize(
    ("accuracy", "advice"),
    [
        (Accuracy(0.02, "A.y", 1.5, 1.0, AccuracyMethod.HALVED, (0.2, 0.1, 0.05)), "`step_size = 0.02`"),
        (
            Accuracy(0.02, "A.y", 1.5, None, AccuracyMethod.MODEL_EXCHANGE, (0.2, 1e-9), limit=AccuracyLimit.INSIDE),
            '`implementation = "me"`',
        ),
    ],
)
def test_remedies_are_settings_of_the_study(accuracy, advice):
    assert "`--" in str(accuracy)
    assert advice in check_words(accuracy) and "`--" not in check_words(accuracy)


def test_remedies_help(tmp_path):
    """What the remark of a run names takes most of the error away."""
    system = SYSTEMS["one FMU of coarse steps, with model exchange, co-simulated"]
    folder, signal = written(system, tmp_path), next(iter(system.exact(np.zeros(1))))
    results = {"x": f'final("{signal}")'}
    before = checked(folder, dict(system.settings), results, tmp_path / "before")
    assert '`implementation = "me"`' in before["accuracy_remark"]
    after = checked(folder, {**system.settings, "implementation": "me"}, results, tmp_path / "after")
    assert after["accuracy"] < 1e-3 * before["accuracy"]
