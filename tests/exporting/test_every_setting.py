"""Exported systems step as `simulate` does with every setting of the iterated master, and with substeps."""

import pytest

import ssptool
from tests.exporting.fmus import SYSTEMS, assert_same_bits, exported, in_fmpy, initialize, instance
from tests.exporting.test_saved_states import run as outputs_after

OSCILLATOR = SYSTEMS / "dual_mass_oscillator"
OUTPUTS = ["System1.x1", "System2.F"]
SETTINGS = {
    "absolute": {"convergence": {"absolute": 1e-7}},
    "several measures": {"convergence": {"absolute": 1e-6, "relative": 1e-7, "residual-relative": 1e-4}},
    "residual-relative": {"convergence": {"residual-relative": 1e-3}},
    "three iterations": {"iterations": 3},
    "three iterations, accelerated": {"iterations": 3, "acceleration": "aitken"},
    "one iteration": {"iterations": 1},
    "no extrapolated guess": {"prediction_order": 0},
    "Anderson": {"acceleration": "anderson"},
    "constant": {"relaxation": 0.8},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_iterated_steps(name, fmi, tmp_path):
    options = {"master": "iterated", "stop_time": 0.5, "step_size": 0.01, **SETTINGS[name]}
    run = ssptool.simulate(OSCILLATOR, **options).unwrap()
    assert_same_bits(in_fmpy(exported(OSCILLATOR, tmp_path, fmi=fmi, **options), 0.01), run)


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
@pytest.mark.parametrize("approximation", ["hold", "interpolate"])
def test_substeps(master, approximation, fmi, tmp_path):
    if (master, approximation) == ("jacobi", "interpolate"):
        approximation = "extrapolate"
    options = {"master": master, "approximation": approximation, "stop_time": 0.5, "step_size": 0.01}
    once = ssptool.simulate(OSCILLATOR, **options).unwrap()
    options["substeps"] = {"System1": 4, "System2": 3}
    run = ssptool.simulate(OSCILLATOR, **options).unwrap()
    assert run["System1.x1"][-1] != once["System1.x1"][-1]
    assert_same_bits(in_fmpy(exported(OSCILLATOR, tmp_path, fmi=fmi, **options), 0.01), run)


@pytest.mark.parametrize("options", [SETTINGS["three iterations"], {"substeps": {"System1": 2}}], ids=str)
def test_what_follows_a_state_follows_it_again(options, fmi, tmp_path):
    fmu = exported(OSCILLATOR, tmp_path, fmi=fmi, master="iterated", step_size=0.01, expose=["*"], **options)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        outputs_after(slave, 0.0, 10, 0.015, OUTPUTS)
        state = slave.getFMUState()
        first = outputs_after(slave, 0.15, 10, 0.015, OUTPUTS)
        slave.setFMUState(state)
        assert outputs_after(slave, 0.15, 10, 0.015, OUTPUTS) == first
        slave.freeFMUState(state)
