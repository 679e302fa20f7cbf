"""Tables of other libraries: units in headers, times in other units, arrays; as inputs and as measurements."""

import h5py
import numpy as np
import pandas
import polars
import pytest
from pytest import approx

import ssptool
from ssptool.exceptions import BadData, WrongArgument
from ssptool.types import Table
from tests.engine.stimuli.pushed_mass import ramp
from tests.fmu.array_fmus import build, pack, state_space

TIMES = np.array([0.0, 0.25, 2.0])


def simulated(system, inputs, **settings):
    return ssptool.simulate(system, inputs=inputs, settings=ssptool.Settings(step_size=0.1, **settings)).unwrap()


def frames():
    forces = {"push [kN]": 3e-3 * TIMES}
    yield "seconds", pandas.DataFrame(forces, index=TIMES)
    yield "timedelta", pandas.DataFrame(forces, index=pandas.to_timedelta(TIMES, unit="s"))
    yield "index in ms", pandas.DataFrame(forces, index=pandas.Index(1e3 * TIMES, name="time [ms]"))
    yield "column in ms", pandas.DataFrame({"time [ms]": 1e3 * TIMES, **forces})
    yield "mapping", {"time [min]": TIMES / 60, **forces}
    yield "polars", polars.DataFrame({"time [ms]": 1e3 * TIMES, **forces})
    differences = polars.Series(1e6 * TIMES).cast(polars.Duration("us"))
    yield "polars, differences", polars.DataFrame({"time": differences, **forces})
    fields = np.array(list(zip(TIMES, 3 * TIMES, strict=True)), dtype=[("time", float), ("push", float)])
    yield "array with fields", fields


@pytest.mark.parametrize("table", [pytest.param(table, id=name) for name, table in frames()])
def test_a_ramp_in_a_table_is_that_of_its_units(pushed, table):
    trace = simulated(pushed, table)
    z, v = ramp(trace.t, 3.0)
    assert trace["push"] == approx(3 * trace.t)
    assert trace["Mass.z"] == approx(z, abs=1e-12)
    assert trace["Mass.v"] == approx(v, abs=1e-12)


@pytest.mark.parametrize("ending", ["csv", "parquet", "h5"])
def test_a_file_has_times_in_other_units_too(pushed, tmp_path, ending):
    file, times, forces = tmp_path / f"push.{ending}", [0.0, 2000.0], [0.0, 6e-3]
    frame = pandas.DataFrame({"time [ms]": times, "push [kN]": forces})
    match ending:
        case "csv":
            frame.to_csv(file, index=False)
        case "parquet":
            frame.to_parquet(file, index=False)
        case "h5":
            with h5py.File(file, "w") as content:
                content["time [ms]"], content["push [kN]"] = times, forces
    trace = simulated(pushed, file)
    assert trace["Mass.v"] == approx(ramp(trace.t, 3.0)[1], abs=1e-12)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (pandas.DataFrame({"push": TIMES}, index=pandas.to_datetime(TIMES, unit="s")), "expected numbers or diff"),
        (pandas.DataFrame({"time [parsec]": TIMES, "push": TIMES}), "parsec is not a unit of time"),
        (pandas.DataFrame({"push [kg]": TIMES}, index=TIMES), "kg"),
        ({"push": np.zeros((2, 2))}, "one value, not an array"),
        ({"push": Table(["soon"], [1.0])}, "times must be numbers of seconds"),
    ],
)
def test_a_table_that_cannot_be_is_refused_by_the_name_of_the_input(pushed, table, told):
    with pytest.raises(BadData, match=told):
        simulated(pushed, table)


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrays")
    build(folder)
    return pack(folder / "S.fmu", state_space(1, 2, 2), folder / "state_space.so")


WEIGHTS = np.array([2.5, -0.5])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"S.u": [1.5, 2.5]}, lambda t: np.tile([1.5, 2.5], (len(t), 1))),
        ({"u": lambda t: WEIGHTS * t}, lambda t: t[:, None] * WEIGHTS),
        (
            {"S.u": Table([0.0, 2.0], [[0.0, 1.0], [4.0, 0.0]])},
            lambda t: np.stack([2 * t, 1 - t / 2], axis=1),
        ),
        ({"time": [0.0, 2.0], "S.u": np.array([[0.0, 1.0], [4.0, 0.0]])}, lambda t: np.stack([2 * t, 1 - t / 2], 1)),
    ],
    ids=["constant", "function", "table", "columns"],
)
def test_an_array_input_takes_an_array_or_one_function(plant, given, expected):
    result = ssptool.simulate(plant, inputs=given, record="S.u*", stop_time=1.5, step_size=0.125, implementation="cs")
    assert result["S.u"].shape == (len(result.t), 2)
    assert result["S.u"] == approx(expected(result.t), abs=1e-12)


def test_an_array_of_another_shape_is_refused(plant):
    for given in ([1.0, 2.0, 3.0], lambda t: t):
        with pytest.raises(BadData, match=r"S\.u.*the input has the shape \(2,\)"):
            ssptool.simulate(plant, inputs={"S.u": given}, stop_time=1, step_size=0.125, implementation="cs").unwrap()


def test_a_frame_is_a_measurement_in_its_own_units(pushed, tmp_path):
    """m v' = F: with the mass that was fitted, the velocity in other units and at other times is met."""
    settings = {"step_size": 0.1, "stop_time": 1.0}
    (tmp_path / "push.csv").write_text("time,push\n0,2.5\n", encoding="utf-8")
    made = ssptool.simulate(pushed, inputs={"push": 2.5}, start_values={"Mass.m": 3.5}, **settings)
    index = pandas.to_timedelta(made.t[::2], unit="s")
    frame = pandas.DataFrame({"Mass.v [km/h]": 3.6 * made["Mass.v"][::2]}, index=index)
    study = {"system": str(pushed), "settings": settings, "inputs": str(tmp_path / "push.csv")}
    fit = ssptool.calibrate({**study, "factors": {"Mass.m": {"low": 1.0, "high": 8.0}}, "results": {}}, data=frame)
    assert fit["Mass.m"].value == approx(3.5, rel=1e-5)
    assert ssptool.compare(made.to_pandas(), made)
    assert ssptool.compare(made.to_polars(), made)
    with pytest.raises(WrongArgument, match="a frame with a column time"):
        ssptool.compare(polars.DataFrame({"Mass.v": [1.0]}), made)
    with pytest.raises(WrongArgument, match="numbers or truth values"):
        ssptool.compare(pandas.DataFrame({"Mass.v": ["a"]}, index=[0.0]), made)


def test_the_range_of_an_input_is_that_of_its_own_unit(pushed, tmp_path):
    """4 kN are 4000 N, beyond a range up to 100 N; 0.05 kN are inside of one that 50 would leave."""
    from ssptool.engine.stimuli.inputs import _converted
    from ssptool.engine.stimuli.stimuli import Target
    from ssptool.network.conversion import InvalidValue
    from ssptool.network.network import Conversion, Signal

    target = Target(Signal("", "push"), "Float64", "N", minimum=-40.0, maximum=100.0)
    assert _converted(target, target.parsed("-0.03"), Conversion(1000.0)) == -30.0
    assert _converted(target, target.typed(300.0), Conversion(1.8, -459.67)) == approx(80.33)
    with pytest.raises(InvalidValue, match="a number from -40 to 100"):
        _converted(target, target.typed(4.0), Conversion(1000.0))
