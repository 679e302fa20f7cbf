"""Models that step by a scheme of their own: the scheme's formulas, and what such FMUs do not offer."""

import numpy as np
import pytest
from fmpy import read_model_description
from fmpy.fmi1 import FMICallException
from pytest import approx

VERSIONS = pytest.mark.parametrize("version", (2, 3))
M, Z0 = 0.03575, 0.0016


@VERSIONS
@pytest.mark.parametrize("name", ("NewmarkMass", "SymplecticMass"))
def test_only_co_simulation_with_held_inputs_is_offered(fmus, name, version):
    description = read_model_description(fmus[name, version])
    assert description.modelExchange is None
    assert not (description.coSimulation.canInterpolateInputs or description.coSimulation.providesIntermediateUpdate)


@pytest.mark.parametrize("name", ("NewmarkMass", "SymplecticMass"))
def test_input_derivatives_are_refused(make, name):
    instance = make(name, 2).start()
    with pytest.raises(FMICallException):
        instance.set_derivatives("F", 1.0)
    assert "inputs are held" in instance.log[-1]


@VERSIONS
def test_newmark_weighs_the_accelerations_of_two_steps_by_beta_and_gamma(make, version):
    """z+ = z + h v + h² ((1/2 − beta) a + beta a+), v+ = v + h ((1 − gamma) a + gamma a+), to round-off."""
    h, before, after, beta, gamma, v = 1e-3, -2.0, 3.0, 0.2, 0.6, 0.5
    mass = make("NewmarkMass", version).start(v=v, a=before, beta=beta, gamma=gamma, F=M * after)
    mass.step(0.0, h)
    z = Z0 + h * v + h * h * ((0.5 - beta) * before + beta * after)
    assert mass.get("z", "v", "a") == approx([z, v + h * ((1 - gamma) * before + gamma * after), after], rel=1e-14)


@VERSIONS
def test_the_velocity_of_the_leapfrog_is_known_at_points_though_it_lives_between_them(make, version):
    """Under a constant force z = z0 + a t²/2 and v = a t, which the scheme gives exactly, at steps of any size."""
    a, t = 2.0, 0.0
    mass = make("SymplecticMass", version).start(F=M * a)
    for h in (1e-3, 2e-3, 5e-4):
        mass.step(t, h)
        t += h
        assert mass.value("v") == approx(a * t, rel=1e-14)
        if h == 1e-3:
            assert mass.value("z") == approx(Z0 + a * t**2 / 2, rel=1e-14)


@VERSIONS
def test_the_acceleration_of_the_last_step_is_part_of_the_saved_state(make, version):
    mass = make("NewmarkMass", version).start(F=1.0)
    mass.step(0.0, 1e-3)
    state, results = mass.save(), []
    for _ in range(2):
        mass.restore(state)
        mass.set(F=5.0)
        mass.step(1e-3, 1e-3)
        results.append(mass.get("z", "v", "a"))
    mass.free(state)
    assert np.array_equal(*results)


@VERSIONS
def test_a_step_without_a_finite_result_is_discarded_and_leaves_the_state(make, version):
    mass = make("NewmarkMass", version).start()
    mass.step(0.0, 1e-3)
    before = mass.get("z", "v")
    mass.set(F=1e308, m=1e-10)
    with pytest.raises(FMICallException) as caught:
        mass.step(1e-3, 1e-3)
    assert caught.value.status == 2
    assert np.array_equal(mass.get("z", "v"), before)
