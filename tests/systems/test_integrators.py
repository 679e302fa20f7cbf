"""Every integrator on the flyball governor as one stiff equation, against its own reference."""

import pytest

from ssptool.engine.method_names import IntegratorName
from tests.systems import flyball_governor as governor


@pytest.mark.parametrize("integrator", list(IntegratorName))
def test_every_integrator_gives_the_heights_of_the_slider(integrator):
    """Multistep formulas pass a tolerance on to the result with a factor of a few tens, one-step formulas with less."""
    trace = governor.run(tolerance=1e-6, integrator=integrator, stop_time=3.0).unwrap()
    assert governor.height_error(trace) < (5e-5 if integrator in ("bdf", "adams") else 2e-6)
    assert governor.published_error(trace) < (5e-5 if integrator in ("bdf", "adams") else 4e-6)


@pytest.mark.parametrize(("tolerance", "least", "most"), [(1e-6, 0.1, 0.5), (1e-8, 0.0, 0.01)])
def test_forces_of_stiff_couplers_show_the_error_of_cvode(tolerance, least, most):
    """Distance [N] of the default from the Rosenbrock method of an exported FMU, as docs/exported_fmu.md states it."""
    exact, exported, default = (
        governor.run(tolerance=at, integrator=name, stop_time=3.0).unwrap()["Coupler.F"]
        for at, name in ((1e-9, "rosenbrock"), (tolerance, "rosenbrock"), (tolerance, "bdf"))
    )
    assert 40 < max(abs(exact)) < 50
    assert least < max(abs(default - exact)) < most
    assert max(abs(exported - exact)) < max(abs(default - exact)) / 5


def test_stiff_couplers_bind_only_explicit_formulas():
    """The fastest eigenvalue is about −8121 1/s: explicit formulas are stable for steps of a few times its inverse,
    although the slider swings once per second.
    """
    explicit, implicit = (
        governor.run(tolerance=1e-6, integrator=name, stop_time=3.0).statistics.evaluations
        for name in ("dormand-prince", "rosenbrock")
    )
    assert explicit > 5 * implicit
