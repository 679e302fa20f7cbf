"""Linear models as FMUs: valid, equal to the model, and with the responses of scipy in this and another importer."""

import zipfile

import numpy as np
import pytest
from fmpy import read_model_description, simulate_fmu
from fmpy.validation import validate_fmu
from scipy.linalg import expm
from scipy.signal import dlsim

import ssptool
from tests.analysis.systems import drive
from tests.analysis.test_identified_models import H, plant
from tests.analysis.test_linear_models import OSCILLATOR


@pytest.fixture
def fmu(tmp_path):
    model = ssptool.linearize(OSCILLATOR, open="System1.F", measure=["System2.F", "System1.F"], at=0.5)
    model.save(tmp_path / "Linear.fmu")
    return model, tmp_path / "Linear.fmu"


def test_a_linear_fmu_is_valid_and_has_the_same_linear_model(fmu):
    model, path = fmu
    assert ssptool.validate(path).ok and not validate_fmu(str(path))
    again = ssptool.linearize(path, start_values={"System1.x1": model.states[0].value})
    for name in "ABCD":
        assert np.array_equal(getattr(again, name), getattr(model, name))
    assert again.slopes.tolist() == model.slopes.tolist()
    assert [(one.name, one.unit, one.value) for one in again.states] == [
        (one.name, one.unit, one.value) for one in model.states
    ]
    assert [one.name for one in again.outputs] == ["System2.F", "System1.F_output"]
    assert [one.value for one in again.outputs] == [one.value for one in model.outputs]


def exact(model, t):
    """(p,) Outputs after a time with the inputs of the point."""
    n = len(model.A)
    whole = np.zeros((n + 1, n + 1))
    whole[:n, :n], whole[:n, n] = model.A, model.slopes
    return [one.value for one in model.outputs] + model.C @ expm(whole * t)[:n, n]


def test_its_run_is_the_matrix_exponential(fmu):
    model, path = fmu
    result = ssptool.simulate(path, stop_time=2.0, step_size=0.5, tolerance=1e-10)
    for t, row in zip(result.t, result.trace.y, strict=True):
        found = dict(zip([column.signal for column in result.columns], row, strict=True))
        assert found["System2.F"] == pytest.approx(exact(model, t)[0], rel=1e-7, abs=1e-7)
    other = simulate_fmu(str(path), stop_time=2.0, output_interval=0.5, relative_tolerance=1e-10, output=["System2.F"])
    assert other["System2.F"][-1] == pytest.approx(exact(model, 2.0)[0], rel=1e-6)


def test_a_discrete_model_is_an_fmu_of_co_simulation_with_its_step(tmp_path):
    model = ssptool.linearize(plant(tmp_path), step_size=H)
    model.save(tmp_path / "Discrete.fmu")
    assert ssptool.validate(tmp_path / "Discrete.fmu").ok and not validate_fmu(str(tmp_path / "Discrete.fmu"))
    courses = {"time": np.array([0.0, 10 * H]), "P.u": np.array([0.4, 0.4 + 10])}
    (tmp_path / "u.csv").write_text(
        "time,P.u\n" + "".join(f"{t!r},{u!r}\n" for t, u in zip(*map(np.ndarray.tolist, courses.values()), strict=True))
    )
    result = ssptool.simulate(
        tmp_path / "Discrete.fmu", inputs=tmp_path / "u.csv", approximation="hold", stop_time=10 * H, step_size=H
    )
    u = np.arange(11.0)
    _, y, _ = dlsim((model.A, model.B, model.C, model.D, H), u)
    assert result["P.y"] == pytest.approx(model.outputs[0].value + y[:, 0], abs=1e-12)


def test_a_discrete_fmu_takes_multiples_of_its_step_alone(tmp_path):
    model = ssptool.linearize(plant(tmp_path), step_size=H)
    model.save(tmp_path / "Discrete.fmu")
    options = {"stop_time": 1, "start_values": {"P.u": 2.4}}
    every, second = (ssptool.simulate(tmp_path / "Discrete.fmu", step_size=h, **options) for h in (H, 2 * H))
    assert np.array_equal(every["P.y"][::2], second["P.y"]) and every["P.y"][-1] != every["P.y"][0]
    other = ssptool.simulate(tmp_path / "Discrete.fmu", stop_time=1, step_size=H / 2)
    assert not other.ok and f"multiple of {H!r} s" in str(other.failure)


def test_its_numbers_are_found_in_any_folder(tmp_path):
    model = ssptool.linearize(drive(tmp_path))
    model.save(tmp_path / "Linear.fmu")
    folder = tmp_path / "a b%20ü #"
    with zipfile.ZipFile(tmp_path / "Linear.fmu") as packed:
        packed.extractall(folder)
    description = read_model_description(str(tmp_path / "Linear.fmu"))
    assert description.guid != "linear"
    found = simulate_fmu(str(folder), stop_time=0.01, output=["R.w"], model_description=description)
    assert found["R.w"][0] == 3.0
