"""Results as mappings and tables, arrays by their name, and simulations and editors with the same names."""

import builtins
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.engine.trace import Column
from ssptool.errors import MissingPackage

SYSTEM = Path(__file__).parents[2] / "systems/dual_mass_oscillator"
SHORT = {"stop_time": 0.1, "step_size": 0.05, "master": "jacobi"}
UNITS = {"System1.x1": "m", "System2.F": "N"}


@pytest.fixture(scope="module")
def result():
    return ssptool.simulate(SYSTEM, record=list(UNITS), **SHORT)


def test_a_result_is_a_mapping(result):
    assert len(result) == 2
    assert list(result) == list(result.keys()) == list(UNITS)
    assert "System2.F" in result and "System2.x2" not in result
    assert result.get("System2.x2") is None
    assert [values.tolist() for values in result.values()] == [result[name].tolist() for name in UNITS]
    assert dict(result.items()).keys() == UNITS.keys()
    assert result.units == UNITS
    assert result == result and result != pickle.loads(pickle.dumps(result))


def test_the_truth_of_a_result_is_that_of_its_end(result):
    assert result
    assert not ssptool.simulate(SYSTEM, timeout=1e-9, **SHORT)


def test_a_result_says_how_it_was_made_with_a_file_and_without(result, tmp_path):
    kept = ssptool.simulate(SYSTEM, start_values={"System1.m1": 2.5}, output=tmp_path / "r.csv", **SHORT)
    assert kept.manifest == ssptool.read_manifest(tmp_path / "r.csv")
    assert kept.manifest["overrides"][0]["after"] == 2.5
    assert result.manifest["interval"] == {"start": 0.0, "stop": 0.1, "step": 0.05}
    assert {one["name"] for one in result.manifest["inputs"]} >= {"SystemStructure.ssd"}


def test_the_plot_of_a_result_is_that_of_its_signals(result, tmp_path):
    result.plot(tmp_path / "p.svg")
    assert "System2.F" in (tmp_path / "p.svg").read_text(encoding="utf-8")


def test_a_result_in_the_tables_of_other_libraries(result):
    assert list(result.to_numpy()) == ["time", *UNITS]
    assert list(result.to_pandas().columns) == list(UNITS)
    assert result.to_xarray()["System2.F"].attrs["units"] == "N"
    frame = result.to_polars()
    assert frame.columns == ["time", *UNITS]
    assert frame["System2.F"].to_list() == result["System2.F"].tolist()


def test_a_frame_of_polars_has_the_types():
    columns = [
        (Column("A.b", type="Boolean"), [True, False]),
        (Column("A.i", type="Int32"), [-3, 4]),
        (Column("A.e", type="Enumeration"), [2, 1]),
        (Column("A.s", type="String"), ["a", ""]),
        (Column("A.r", type="Binary"), [b"\x00\xff", b""]),
        (Column("A.f", type="Float32"), [0.5, -0.25]),
    ]
    frame = ssptool.types.Trace.of([0.0, 1.5], columns).to_polars()
    assert {name: frame[name].to_list() for name in frame.columns} == {
        "time": [0.0, 1.5],
        **{column.signal: values for column, values in columns},
    }


@pytest.mark.parametrize("package", ["pandas", "polars", "xarray"])
def test_a_library_that_is_missing_is_named(result, package, monkeypatch):
    there = builtins.__import__

    def absent(name, *arguments, **named):
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return there(name, *arguments, **named)

    monkeypatch.setattr("ssptool.errors.import_module", absent)
    with pytest.raises(MissingPackage, match=f"to_{package} needs {package}.*pip install {package}"):
        getattr(result, f"to_{package}")()


def test_an_array_is_found_by_its_name_with_its_shape():
    names = ["B.y[1,1]", "B.y[1,2]", "B.y[1,3]", "B.y[2,1]", "B.y[2,2]", "B.y[2,3]", "B.v[2]", "B.v[1]", "B.w[2]"]
    values = np.arange(4 * len(names)).reshape(4, len(names)) + 0.5
    trace = ssptool.types.Trace.of(np.arange(4.0), [(Column(name), values[:, k]) for k, name in enumerate(names)])
    assert trace["B.y"].shape == (4, 2, 3)
    assert np.array_equal(trace["B.y"][:, 1, 0], trace["B.y[2,1]"])
    assert np.array_equal(trace["y"], trace["B.y"])
    assert np.array_equal(trace["B.v"], np.stack([trace["B.v[1]"], trace["B.v[2]"]], axis=1))
    assert "B.y" in trace and "B.w" not in trace
    with pytest.raises(KeyError, match=r"B\.w\[2\]"):
        trace["B.w"]


def test_a_simulation_is_read_and_set_by_names():
    with ssptool.Simulation(SYSTEM, **SHORT) as run:
        assert "System1.x1" in run and "System2.k3" in run and "System1.x9" not in run and 3 not in run
        assert run.time == 0.0
        run["System2.k3"] = 12.5
        assert run["System2.k3"] == run.get("System2.k3") == 12.5
        run["SYSTEM2.k3"] = 12.25
        assert run["system2.K3"] == run.get("System2.k3") == 12.25
        with pytest.raises(KeyError, match=r"System1\.x1"):
            run["System1.x9"]
    assert "System1.x1" in run and "System2.k3" not in run


def test_several_values_are_set_at_once(tmp_path):
    shutil.copytree(SYSTEM, tmp_path / "plant")
    with ssptool.edit(tmp_path / "plant") as system:
        assert system.set({"System1.m1": 2.5, ("System2", "k3"): 12.5}) is system
    found = {str(one.signal): one.value for one in ssptool.explain(tmp_path / "plant", "System1.m1", "System2.k3")}
    assert found == {"System1.m1": 2.5, "System2.k3": 12.5}
    with ssptool.edit(tmp_path / "plant", save=False) as system:
        with pytest.raises(ssptool.exceptions.WrongArgument, match="value must be omitted for a mapping"):
            system.set({"System1.m1": 2.5}, 3.0)
        with pytest.raises(ssptool.exceptions.WrongArgument, match="value must be"):
            system.set("System1.m1")


def test_the_results_of_a_study_are_a_mapping(tmp_path):
    factors, results = {"System2.k2": {"values": [5.0, 10.0]}}, {"peak": 'max("System1.x1")'}
    study = {"system": str(SYSTEM), "settings": SHORT, "factors": factors, "results": results}
    found = ssptool.study(study, tmp_path / "springs.study")
    assert found["System2.k2"].tolist() == [5.0, 10.0]
    assert {"number", "System2.k2", "peak", "status"} <= set(found) and len(found) == len(list(found.items()))
    assert found.to_polars()["peak"].to_list() == found["peak"].tolist() == [row["peak"] for row in found.rows()]
    assert found.to_xarray()["peak"].values.tolist() == found.to_numpy()["peak"].tolist()
    assert found.to_xarray()["System2.k2"].attrs == {"units": "N/m"}
    with pytest.raises(KeyError, match=r"column 'peek' is not in the results; did you mean peak"):
        found["peek"]


def test_a_study_warns_of_results_without_a_value(tmp_path):
    factors = {"System1.m1": {"values": [1.0, 50.0]}}
    results = {"up": 'crossing("System1.v1", 0.05)'}
    found = ssptool.study(
        {"system": str(SYSTEM), "settings": SHORT, "factors": factors, "results": results}, tmp_path / "s"
    )
    assert np.isnan(found["up"]).tolist() == [False, True]
    assert found.warnings == (f"run 1: {found['message'][1]}",) and "up" in found.warnings[0]
