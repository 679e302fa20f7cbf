"""Integrators that cannot go on, and the one that then does."""

import pytest

from ssptool import Settings
from ssptool.engine.failure import Ending
from ssptool.engine.ode import solvers
from ssptool.engine.run.make_plan import make_plan
from tests.engine.dual_mass import Folder, network
from tests.engine.ode.systems import check_same, integrate, make_mixture, saved_and_resumed, share_in_mixture

DECAY = {"stop_time": 2.0, "tolerance": 1e-7}


@pytest.fixture
def no_cvode(monkeypatch):
    """The default is Rodas5P, as in exported FMUs."""

    def missing():
        raise ImportError("none")

    monkeypatch.setattr(solvers, "_cvode", missing)


@pytest.fixture(params=(2, 3), ids=lambda version: f"fmi{version}")
def mixture(request, tmp_path):
    return make_mixture(tmp_path, version=request.param)


def noted(result):
    return [note for note in result.notes if "Dormand-Prince 5(4) replaces it" in note]


def test_where_bdf_gets_no_jacobian_another_one_goes_on(mixture):
    asked = integrate(mixture, {"M": "Mixture"}, integrator="bdf", **DECAY)
    assert asked.status is Ending.INTEGRATION
    result = integrate(mixture, {"M": "Mixture"}, **DECAY)
    (note,) = noted(result)
    assert note.startswith("CVODE (BDF) cannot go on from t = 0 s")
    assert result.unwrap()["M.y"] == pytest.approx(share_in_mixture(result.trace.t), abs=1e-6)


@pytest.mark.usefixtures("no_cvode")
def test_it_goes_on_without_cvode_too(mixture):
    trace = integrate(mixture, {"M": "Mixture"}, **DECAY).unwrap()
    assert trace["M.y"] == pytest.approx(share_in_mixture(trace.t), abs=1e-6)


def test_a_simulation_that_goes_on_after_it_has_the_bits_of_the_one_that_was_saved(tmp_path):
    net = network({"M": "Mixture.fmu"}, (), folder=make_mixture(tmp_path, version=3))
    planned = make_plan(net, Settings(implementation="me", step_size=0.1, **DECAY))
    expected, resumed = saved_and_resumed(planned, Folder(tmp_path), tmp_path / "state", 7)
    check_same(expected, resumed)
