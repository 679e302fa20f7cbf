"""A study is the same after it was written as a table and read again."""

from dataclasses import replace

import pytest

from ssptool.studies.study_file import study_from, study_table
from tests.studies.conftest import OSCILLATOR

FACTORS = {
    "System2.k2": [5.0, 10.0],
    "m": {"variable": ["System1.m1", "System2.m2"], "low": 0.5, "high": 2.0, "count": 3, "scale": "log", "unit": "kg"},
    "zeta": {"free": True, "distribution": "normal", "mean": 0.1, "std": 0.01, "low": 0.0},
    "tau": {"free": True, "distribution": "lognormal", "median": 1.0, "spread": 0.5},
    "tri": {"free": True, "distribution": "triangular", "low": 0.0, "mode": 0.5, "high": 1.0},
    "System2.c2": "2 * zeta * value('System2.k2')",
    "h": {"setting": "step_size", "values": [0.01, 0.02], "nominal": 0.01},
    "system": {"variant": True, "values": ["FMI3"]},
    "file": {"fmu": "System1", "values": ["a.fmu", "b.fmu"]},
    "start_values": {"parameters": True, "values": ["a.ssv"]},
}
ALL = {
    "name": "everything",
    "system": str(OSCILLATOR),
    "factors": FACTORS,
    "results": {"peak": 'max("System1.x1")', "twice": "2 * peak"},
    "traces": {"signals": ["System1.*"], "output_step": 0.01},
    "settings": {"step_size": 0.01, "master": "jacobi", "substeps": {"System1": 2}, "threads": 2},
    "start_values": {"System1.c1": 0.2, "flag": True},
    "units": {"kN/m": {"kg": 1, "s": -2, "factor": 1000.0}},
    "effort": {"timeout": 3.0, "retries": 0, "memory": 512},
}


@pytest.mark.parametrize(
    "design",
    [
        {},
        {"kind": "one-at-a-time"},
        {"kind": "sobol", "runs": 8, "seed": 3},
        {"kind": "saltelli", "runs": 8, "seed": 3},
        {"kind": "morris", "trajectories": 8, "seed": 3, "levels": 6},
        {"kind": "latin-hypercube", "runs": 8, "seed": 3, "correlations": [["zeta", "tau", 0.5]]},
    ],
    ids=str,
)
def test_every_part_of_a_study_survives(design):
    study = study_from({**ALL, "design": design})
    again = study_from(study_table(study))
    assert again == replace(study, system=again.system)


def test_a_table_and_its_columns_survive():
    rows = [{"System2.k2": 5.0, "where": "a"}, {"System2.k2": 6.0, "where": "b"}]
    study = study_from({"system": str(OSCILLATOR), "design": {"kind": "table", "rows": rows}})
    again = study_from(study_table(study))
    assert again.factors == study.factors and dict(again.design.values) == dict(study.design.values)
