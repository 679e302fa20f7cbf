"""Studies of FMUs that bring sources and no library: compiled with consent, before the first run."""

import pytest
from pytest import approx

import ssptool as api
from tests.fmu.source_fmus import RESOURCES, system1


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A spring-mass system released at x1 = x0 with k1 varied, as a table; and its FMU without a library."""
    monkeypatch.setenv("SSPTOOL_CACHE", str(tmp_path / "cache"))
    path = system1(tmp_path / "System1.fmu", 2)
    return {
        "system": str(path),
        "name": "springs",
        "settings": {"stop_time": 1.0},
        "factors": {"x0": {"variable": "System1.x1_start", "values": [0.5, 1.0, 2.0]}},
        "results": {"end": 'final("System1.x1")'},
    }


def test_a_study_compiles_with_consent_that_is_no_part_of_what_it_is(tmp_path, table):
    """Refused without it, with how to give it; and given later, the same study goes on."""
    refused = api.study(table, tmp_path / "s", workers=1)
    assert not refused.status.ok
    assert all("--compile" in row["message"] for row in refused.rows())
    told = []
    asked = {"workers": 1, "retry_failed": True, "announce": lambda forecast: told.extend(forecast.notes)}
    resumed = api.studies.resume_study(tmp_path / "s", compile=True, **asked)
    assert resumed.status.ok
    assert any("was compiled from its sources" in note for note in told)
    ends = [row["end"] for row in resumed.rows()]
    built = api.simulate(RESOURCES / "System1.fmu", stop_time=1.0, start_values={"System1.x1_start": 0.5})
    assert ends == approx([factor * built["System1.x1"][-1] for factor in (1, 2, 4)], rel=1e-6)  # it is linear
