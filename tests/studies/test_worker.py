"""Runs of a study are the runs of `ssptool.simulate`, whatever is kept from one to the next."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool.engine.assembly.instances import Pool
from ssptool.studies.checking import check_study
from ssptool.studies.definition import RunStatus, Samples, Task
from ssptool.studies.worker import StudyWorker
from tests.fmus import build as fmus
from tests.studies.conftest import OSCILLATOR

SIGNALS = ("System1.x1", "System1.a1", "System2.F")


def tasks_of(study):
    points = check_study(study).points
    return [Task(points.ids[k], k, points.at(k), witness=True) for k in range(len(points))]


@pytest.mark.parametrize("variant", [None, "FMI3", "NoFlange"])
def test_used_and_fresh_instances_give_the_same_bits(oscillating, variant):
    tables = {} if variant is None else {"variant": variant}
    study = oscillating(factors={"System2.k2": [5.0, 10.0], "System1.m1": [1.0, 3.0]}, **tables)
    tasks = tasks_of(study)
    with StudyWorker(study, SIGNALS) as used, StudyWorker(study, SIGNALS, reuse=False) as fresh:
        for task in [*tasks, *reversed(tasks)]:
            assert used.run(task).witness == fresh.run(task).witness != ""
        reused = sum(pool.reused for _, pool in used._open.values())
    # Of FMI 3.0 those that ask for their inputs belong to one kernel.
    assert reused == (0 if variant == "FMI3" else 2 * (2 * len(tasks) - 1))


def test_a_run_of_a_study_is_a_simulation_with_these_parameters(oscillating):
    study = oscillating(factors={"System2.k2": [5.0, 20.0]})
    with StudyWorker(study, SIGNALS) as workshop:
        for task in tasks_of(study):
            start_values = {"System2.k2": repr(task.point["System2.k2"])}
            expected = ssptool.simulate(OSCILLATOR, settings=study.settings, start_values=start_values).unwrap()
            found = workshop.run(replace(task, samples=Samples(SIGNALS, expected.t))).samples
            assert np.array_equal(found, np.column_stack([expected[signal] for signal in SIGNALS]))


HEAVY = str(OSCILLATOR / "resources" / "heavy_flange.ssv")
LIGHT = str(OSCILLATOR / "resources" / "dual_mass_oscillator.ssv")


@pytest.mark.parametrize(
    "factor",
    [
        {"setting": "step_size", "values": [0.01, 0.02]},
        {"parameters": True, "values": [LIGHT, HEAVY]},
        {"variant": True, "values": ["SystemStructure", "NoFlange"]},
        {"variable": ["System1.k1", "System2.k3"], "values": [10.0, 20.0]},
    ],
    ids=["setting", "parameters", "variant", "variables"],
)
def test_more_than_parameters_can_be_varied(oscillating, factor):
    study = oscillating(factors={"factor": factor}, start_values={} if "parameters" in factor else {"System2.m_c": 2.0})
    if factor.get("variant"):
        study = oscillating(factors={"factor": factor}, parameters=[])
    with StudyWorker(study, SIGNALS) as workshop:
        one, other = (workshop.run(task) for task in tasks_of(study))
    assert one.status is other.status is RunStatus.COMPLETED
    assert one.witness != other.witness or factor.get("variant")


def test_the_file_of_a_component_can_be_varied(misbehaving, tmp_path):
    """The FMI 3.0 file of the same model is integrated by the same method, and gives the same values but for rounding:
    its inputs are moved by the master, where the FMU of FMI 2.0 moves them itself.
    """
    plain = misbehaving([fmus.NOTHING])
    own = plain.system / "resources" / "Misbehaving.fmu"
    files = [str(fmus.build() / "fmi3" / "Misbehaving.fmu"), str(own)]
    study = misbehaving([fmus.NOTHING], factors={"fmu": {"fmu": "Bad", "values": files}})
    with StudyWorker(study, ("Bad.y",)) as workshop, StudyWorker(plain, ("Bad.y",)) as expected:
        wanted = expected.run(tasks_of(plain)[0]).results
        found = [workshop.run(task).results for task in tasks_of(study)]
    assert found[1] == wanted
    assert found[0] == approx(wanted, rel=1e-13)  # a rounding in each of 100 steps is 2e-14 at most


def test_values_are_converted_from_the_unit_of_the_factor_to_that_of_the_variable(oscillating):
    kilo = {"kN/m": {"kg": 1, "s": -2, "factor": 1000.0}}
    in_kilo = oscillating(
        units=kilo, factors={"k2": {"variable": "System2.k2", "unit": "kN/m", "values": [0.01, 0.02]}}
    )
    plain = oscillating(factors={"System2.k2": [10.0, 20.0]})
    with StudyWorker(in_kilo, SIGNALS) as a, StudyWorker(plain, SIGNALS) as b:
        for one, other in zip(tasks_of(in_kilo), tasks_of(plain), strict=True):
            assert a.run(one).witness == b.run(other).witness


def test_a_factor_can_be_computed_from_others(oscillating):
    study = oscillating(
        factors={
            "k2": {"variable": "System2.k2", "values": [5.0, 10.0]},
            "System2.c2": "zeta * sqrt(k2)",
            "zeta": {"free": True, "values": [0.1]},
        }
    )
    points = check_study(study).points
    assert points.columns["System2.c2"] == [0.1 * 5**0.5, 0.1 * 10**0.5]


def test_a_result_that_has_no_value_leaves_the_others(oscillating):
    study = oscillating(
        results={
            "late": 'crossing("System1.x1", 99)',
            "never": "1 / 0",
            "peak": 'max("System1.x1")',
            "share": "peak / value('System2.k2')",
        },
        factors={"System2.k2": [5.0]},
    )
    with StudyWorker(study, SIGNALS) as workshop:
        outcome = workshop.run(tasks_of(study)[0])
    assert outcome.status is RunStatus.COMPLETED
    assert outcome.results["late"] is None and outcome.results["never"] is None
    assert outcome.results["share"] == outcome.results["peak"] / 5
    assert "late" in outcome.message and "never" in outcome.message


def test_a_run_that_fails_does_not_change_the_next_one(misbehaving):
    study = misbehaving([fmus.NOTHING, fmus.NOT_A_NUMBER])
    good, bad = tasks_of(study)
    with StudyWorker(study, ("Bad.y",)) as workshop:
        before, failure, after = (workshop.run(task) for task in (good, bad, good))
    assert failure.status is RunStatus.FAILED and "Bad.y is nan" in failure.message
    assert before.witness == after.witness


def test_an_fmu_that_refuses_a_reset_is_instantiated_again(oscillating, monkeypatch):
    from ssptool.fmu.instance import FmiError, FmuInstance

    def refuse(self):
        raise FmiError(self.name, "fmi2Reset", 3, ())

    study = oscillating()
    tasks = tasks_of(study)
    with StudyWorker(study, SIGNALS) as workshop:
        expected = [workshop.run(task).witness for task in tasks]
        monkeypatch.setattr(FmuInstance, "reset", refuse)
        assert [workshop.run(task).witness for task in tasks] == expected


def test_closing_a_pool_twice_does_no_harm():
    pool = Pool()
    pool.close()
    pool.close()
