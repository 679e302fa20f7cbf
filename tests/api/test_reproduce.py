"""`ssptool.reproduce`: runs made again from their manifests, and what is not as it was."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.engine.trace import Column
from ssptool.renderers import REPRODUCTION_RENDERERS
from ssptool.results.reproduction import first_difference
from ssptool.types import Trace

pytestmark = pytest.mark.one_in(3)

SYSTEMS = Path(__file__).parents[2] / "systems"
OSCILLATOR = SYSTEMS / "dual_mass_oscillator"
CHAIN = SYSTEMS / "mass_spring_damper"
SHORT = {"stop_time": 0.05}
SCENARIO = """
events:
  - {time: 0.02, model: first.mass, variable: F, action: override, value: 4.0}
"""


def files_of(folder):
    """Inputs, a scenario and a parameter set, by argument."""
    table, scenario, values = folder / "u.csv", folder / "s.yaml", folder / "v.ssv"
    table.write_text("time,first.mass.F [kN]\n0,0.001\n0.02,0.002\n1,0\n", encoding="utf-8")
    scenario.write_text(SCENARIO, encoding="utf-8")
    values.write_text(
        '<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues" version="1.0" '
        'name="v"><ssv:Parameters><ssv:Parameter name="System2.k2"><ssv:Real value="33"/></ssv:Parameter>'
        "</ssv:Parameters></ssv:ParameterSet>",
        encoding="utf-8",
    )
    return {"inputs": table, "scenario": scenario, "parameters": values}


CASES = {
    "nothing": (OSCILLATOR, {}),
    "start values": (OSCILLATOR, {"start_values": {"System2.k2": 80.1}}),
    "parameters": (OSCILLATOR, {"parameters": ...}),
    "variant": (OSCILLATOR, {"variant": "NoFlange"}),
    "a process for each": (OSCILLATOR, {"processes": "each"}),
    "settings": (OSCILLATOR, {"master": "jacobi", "step_size": "2ms", "substeps": {"System2": 3}, "convergence": {}}),
    "power bonds": (OSCILLATOR, {"adaptive": 1e-4, "power_bonds": [("System1.v1", "System2.F")]}),
    "choice of rows": (OSCILLATOR, {"record": ["*.x1", "System1.k1"], "output_step": 0.004}),
    "model exchange": (OSCILLATOR, {"implementation": "me"}),
    "inputs": (CHAIN, {"inputs": ...}),
    "interpolation": (CHAIN, {"inputs": ..., "interpolation": "hold"}),
    "constant": (CHAIN, {"inputs": {"first.mass.F": 2.0}}),
    "scenario": (CHAIN, {"scenario": ...}),
}

VALUES = (
    '<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues" version="1.0" '
    'name="v"><ssv:Parameters></ssv:Parameters></ssv:ParameterSet>'
)
AROUND = (
    '<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription" '
    'version="1.0" name="Plant"><ssd:System name="Plant"><ssd:ParameterBindings><ssd:ParameterBinding '
    'source="../around/values.ssv"/></ssd:ParameterBindings><ssd:Elements><ssd:Component name="A" source="M"/>'
    '<ssd:Component name="B" source="../around/M.fmu"/></ssd:Elements></ssd:System><ssd:DefaultExperiment/>'
    "</ssd:SystemStructureDescription>"
)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ending", ["csv", "mat", "parquet", "h5"])
def test_a_run_that_is_made_again_has_the_same_bits(tmp_path, case, ending, monkeypatch):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    system, arguments = CASES[case]
    files = files_of(tmp_path)
    monkeypatch.chdir(tmp_path)
    given = {name: files[name].name if value is ... else value for name, value in arguments.items()}
    output = tmp_path / f"r.{ending}"
    result = ssptool.simulate(system, output=output, **given, **SHORT)
    result.unwrap()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # files are found wherever it is done
    again = ssptool.reproduce(output)
    assert again.verdict == "same bits", REPRODUCTION_RENDERERS["text"](again)
    assert again.same
    assert (again.first, again.reasons, again.remarks) == (None, (), ())
    assert {one.state for one in again.inputs} == {"the same"}
    assert (again.rows, again.signals) == (result.rows, len(result.columns))


@pytest.fixture
def plant(tmp_path):
    """A copy of the oscillator, and results of it beside."""
    system = tmp_path / "plant"
    shutil.copytree(OSCILLATOR, system)
    ssptool.simulate(system, output=tmp_path / "r.csv", **SHORT).unwrap()
    return system


def change(system, old="10", new="11"):
    file = system / "resources" / "dual_mass_oscillator.ssv"
    text = file.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if '"System2.k2"' in line)
    file.write_text(text.replace(line, line.replace(f'"{old}"', f'"{new}"')), encoding="utf-8")


def test_a_changed_file_is_named_where_values_differ(plant, tmp_path):
    change(plant)
    again = ssptool.reproduce(tmp_path / "r.csv")
    assert again.verdict == "differs"
    assert not again.same
    assert again.first.time <= 0.001
    assert again.first.signal in ssptool.read_trace(tmp_path / "r.csv").signals
    assert again.first.deviation > 0
    assert again.reasons == ("1 input changed since the run: resources/dual_mass_oscillator.ssv",)
    text = REPRODUCTION_RENDERERS["text"](again)
    assert "differs first at t = " in text
    assert "resources/dual_mass_oscillator.ssv" in text


def test_a_file_that_changes_no_value_is_named_and_the_bits_are_the_same(plant, tmp_path):
    structure = plant / "SystemStructure.ssd"
    structure.write_text(structure.read_text(encoding="utf-8") + "<!-- other -->", encoding="utf-8")
    again = ssptool.reproduce(tmp_path / "r.csv")
    assert again.verdict == "same bits"
    assert again.reasons == ("1 input changed since the run: SystemStructure.ssd",)


def test_only_files_that_the_run_used_count(plant, tmp_path):
    for name in ("README.md", "FMI3.ssd", "resources/heavy_flange.ssv"):
        with (plant / name).open("a", encoding="utf-8") as file:
            file.write("<!-- edited -->")
    again = ssptool.reproduce(tmp_path / "r.csv")
    assert (again.verdict, again.reasons) == ("same bits", ())
    assert [one.name for one in again.inputs] == [
        *("SystemStructure.ssd", "resources/dual_mass_oscillator.ssv", "resources/System1.fmu", "resources/System2.fmu")
    ]


@pytest.mark.parametrize("changed", ["plant.ssd", "around/values.ssv", "M/modelDescription.xml", "around/M.fmu"])
def test_a_lone_ssd_an_unpacked_fmu_and_files_around_count(tmp_path, changed, monkeypatch):
    """Of `plant.ssd`, whose FMU is a folder beside it, and whose other FMU and values are in a folder beside."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "system"
    (tmp_path / "around").mkdir()
    with zipfile.ZipFile(CHAIN / "resources" / "Wall.fmu") as fmu:
        fmu.extractall(folder / "M")
    shutil.copy(CHAIN / "resources" / "Wall.fmu", tmp_path / "around" / "M.fmu")
    (tmp_path / "around" / "values.ssv").write_text(VALUES, encoding="utf-8")
    (folder / "plant.ssd").write_text(AROUND, encoding="utf-8")
    ssptool.simulate(folder / "plant.ssd", output=tmp_path / "r.csv", **SHORT).unwrap()
    assert ssptool.reproduce(tmp_path / "r.csv").reasons == ()
    around = changed.startswith("around")
    file = (tmp_path if around else folder) / changed
    if changed.endswith(".fmu"):
        with zipfile.ZipFile(file, "a") as fmu:
            fmu.writestr("resources/more.txt", "x")
    else:
        file.write_bytes(file.read_bytes() + b"<!-- edited -->")
    name = file if around else changed
    assert ssptool.reproduce(tmp_path / "r.csv").reasons == (f"1 input changed since the run: {name}",)


def test_a_missing_file_is_named_where_the_run_cannot_be_made(plant, tmp_path):
    (plant / "resources" / "System2.fmu").unlink()
    with pytest.raises(ssptool.exceptions.CannotReproduce, match=r"1 input not there: resources/System2\.fmu"):
        ssptool.reproduce(tmp_path / "r.csv")


def test_a_system_that_went_elsewhere_is_found_by_its_new_place(plant, tmp_path):
    plant.rename(tmp_path / "moved")
    with pytest.raises(ssptool.exceptions.CannotReproduce, match="--system"):
        ssptool.reproduce(tmp_path / "r.csv")
    assert ssptool.reproduce(tmp_path / "r.csv", system=tmp_path / "moved").verdict == "same bits"


def test_what_no_file_holds_is_refused_by_name(tmp_path):
    output = tmp_path / "r.csv"
    ssptool.simulate(CHAIN, inputs={"first.mass.F": lambda t: t}, output=output, **SHORT)
    with pytest.raises(ssptool.exceptions.CannotReproduce, match="inputs of the run came from a program"):
        ssptool.reproduce(output)


def test_results_without_a_manifest_are_refused(tmp_path):
    output = tmp_path / "r.csv"
    output.write_text("time,x\n0,1\n", encoding="utf-8")
    with pytest.raises(ssptool.exceptions.CannotReproduce, match="no manifest"):
        ssptool.reproduce(output)
    with pytest.raises(ssptool.exceptions.CannotReproduce, match="no such result file"):
        ssptool.reproduce(tmp_path / "none.csv")
    (tmp_path / "r.csv.json").write_text(json.dumps({"status": "completed", "columns": []}), encoding="utf-8")
    with pytest.raises(ssptool.exceptions.CannotReproduce, match="an earlier version wrote it"):
        ssptool.reproduce(output)


def test_a_run_that_its_limit_of_time_ended_is_refused(tmp_path):
    output = tmp_path / "r.csv"
    late = ssptool.simulate(OSCILLATOR, output=output, timeout=0.8, step_size=1e-6)
    assert late.status == "the time allowed was used up"
    with pytest.raises(ssptool.exceptions.CannotReproduce, match="ended early"):
        ssptool.reproduce(output)


@pytest.mark.parametrize(("factor", "verdict"), [(1 + 1e-9, "inside the tolerance"), (1.01, "differs")])
def test_the_first_time_and_signal_and_by_how_much(plant, tmp_path, factor, verdict):
    """One value of a result is changed, at t = 0.04 s."""
    output = tmp_path / "r.csv"
    header, *rows = output.read_text(encoding="utf-8").splitlines()
    place = header.split(",").index("System1.v1 [m/s]")
    cells = rows[40].split(",")
    before, cells[place] = float(cells[place]), repr(float(cells[place]) * factor)
    rows[40] = ",".join(cells)
    output.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    again = ssptool.reproduce(output)
    assert again.verdict == verdict
    assert (again.first.time, again.first.signal, again.first.unit) == (float(cells[0]), "System1.v1", "m/s")
    assert again.first.deviation == pytest.approx(abs(before) * (factor - 1), rel=1e-6)
    exact = ssptool.reproduce(output, tolerance=ssptool.types.Tolerance(relative=0.02))
    assert exact.verdict == "inside the tolerance"


def test_another_result_can_be_the_one_to_compare_with(plant, tmp_path):
    ssptool.simulate(plant, output=tmp_path / "b.mat", start_values={"System2.k2": 80}, **SHORT).unwrap()
    again = ssptool.reproduce(tmp_path / "r.csv", against=tmp_path / "b.mat")
    assert again.verdict == "differs"
    assert "System2.k2: 10 N/m, in the other result 80 N/m" in again.reasons


def test_a_run_that_failed_fails_again(tmp_path):
    output = tmp_path / "r.csv"
    ssptool.simulate(OSCILLATOR, output=output, start_values={"System1.m1": 0}, **SHORT)
    assert ssptool.reproduce(output).verdict == "same bits"
    shutil.copytree(OSCILLATOR, tmp_path / "plant")
    other = tmp_path / "s.csv"
    settings = {"acceleration": "none", "step_size": 0.1, "stop_time": 0.5}
    failed = ssptool.simulate(OSCILLATOR, output=other, start_values={"System2.k2": 1e5}, **settings)
    assert not failed.ok
    assert ssptool.reproduce(other, isolated=True).verdict == "same bits"


def test_new_results_can_be_kept_but_not_over_the_old_ones(plant, tmp_path):
    ssptool.reproduce(tmp_path / "r.csv", output=tmp_path / "new.csv")
    assert (tmp_path / "new.csv").read_bytes() == (tmp_path / "r.csv").read_bytes()
    with pytest.raises(ssptool.exceptions.WrongArgument, match="another file"):
        ssptool.reproduce(tmp_path / "r.csv", output=tmp_path / "r.csv")


def test_a_reproduction_can_be_reproduced(plant, tmp_path):
    """The manifest of the new run is as good as the first one."""
    ssptool.reproduce(tmp_path / "r.csv", output=tmp_path / "new.csv")
    assert ssptool.reproduce(tmp_path / "new.csv").verdict == "same bits"


@pytest.fixture
def study(plant, tmp_path):
    for module in ("pyarrow", "simpleeval", "distributed"):
        pytest.importorskip(module)
    table = {
        "system": str(plant),
        "settings": {"stop_time": 0.05, "step_size": 0.005},
        "factors": {"System2.k2": [5.0, 10.0], "System2.c2": [0.1, 0.2]},
        "results": {"peak": 'max("System1.x1")'},
        "traces": {"signals": ["*.x1"]},
    }
    ssptool.study(table, tmp_path / "k.study", workers=1)
    return tmp_path / "k.study"


@pytest.mark.parametrize("isolated", [False, True])
def test_a_run_of_a_study_is_made_again(study, plant, isolated):
    for number in 0, 3:
        again = ssptool.reproduce(f"{study}#{number}", isolated=isolated)
        assert again.verdict == "same bits", REPRODUCTION_RENDERERS["text"](again)
        assert (again.results, again.rows, again.signals) == (1, 11, 2)
    with pytest.raises(ssptool.exceptions.CannotReproduce, match="no run 4"):
        ssptool.reproduce(f"{study}#4")


def test_the_trace_of_a_run_of_a_study_names_the_values_of_its_factors(study, tmp_path):
    results = ssptool.studies.study_results(study)
    runs = results.table()["run"].to_pylist()
    found = [{one["name"]: one for one in results.manifest(run)["overrides"]} for run in runs]
    points = {(one["System2.k2"]["after"], one["System2.c2"]["after"]) for one in found}
    assert points == {(5.0, 0.1), (5.0, 0.2), (10.0, 0.1), (10.0, 0.2)}
    one = found[0]["System2.k2"]
    assert (one["before"], one["unit"], one["by"]) == (10.0, "N/m", "factor System2.k2")
    assert one["place"].startswith("resources/dual_mass_oscillator.ssv:")
    results.write_trace(0, tmp_path / "run.csv")
    assert ssptool.read_manifest(tmp_path / "run.csv") == results.manifest(runs[0])
    with pytest.raises(ssptool.exceptions.CannotReproduce, match=r"FOLDER\.study#NUMBER"):
        ssptool.reproduce(tmp_path / "run.csv")


def test_a_changed_file_is_named_for_a_run_of_a_study(study, plant):
    file = plant / "resources" / "dual_mass_oscillator.ssv"
    text = file.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if '"System2.k3"' in line)
    file.write_text(text.replace(line, line.replace('value="', 'value="1')), encoding="utf-8")
    again = ssptool.reproduce(f"{study}#1")
    assert again.verdict == "differs"
    assert any("dual_mass_oscillator.ssv" in reason for reason in again.reasons)
    assert any(remark.startswith("result peak: ") for remark in again.remarks)


def test_only_files_that_runs_of_a_study_use_count(study, plant):
    """Also of a folder of an earlier version, which lists all files of the system."""
    definition = json.loads((study / "study.json").read_text(encoding="utf-8"))
    inside = {name.partition("/")[2] for name in definition["files"] if name.startswith("system/")}
    assert inside == {
        *("SystemStructure.ssd", "resources/dual_mass_oscillator.ssv", "resources/System1.fmu", "resources/System2.fmu")
    }
    definition["files"]["system/README.md"] = "0" * 64
    (study / "study.json").write_text(json.dumps(definition), encoding="utf-8")
    for name in ("README.md", "FMI3.ssd"):
        with (plant / name).open("a", encoding="utf-8") as file:
            file.write("<!-- edited -->")
    again = ssptool.reproduce(f"{study}#1")
    assert (again.verdict, again.reasons) == ("same bits", ())


def trace(times, **signals):
    return Trace.of(times, [(Column(name, "m"), values) for name, values in signals.items()])


def test_the_first_difference_is_by_bits():
    one = trace([0.0, 1.0, 2.0], a=[0.0, 1.0, 2.0], b=[np.nan, 1.0, 2.0])
    assert first_difference(one, trace([0.0, 1.0, 2.0], a=[0.0, 1.0, 2.0], b=[np.nan, 1.0, 2.0])) is None
    other = trace([0.0, 1.0, 2.0], a=[0.0, 1.0, 2.5], b=[np.nan, 1.25, 2.0])
    assert first_difference(one, other) == (1.0, "b", 0.25, "m")
    assert first_difference(one, trace([0.0, 1.0, 2.0], a=[-0.0, 1.0, 2.0], b=[np.nan, 1.0, 2.0])).time == 0.0
    assert first_difference(one, trace([0.0, 1.0], a=[0.0, 1.0], b=[np.nan, 1.0])) == (2.0, "time", None, None)
    assert first_difference(trace([0.0, 1.0], a=[0.0, 1.0]), trace([0.0, 1.5], a=[0.0, 1.0])).signal == "time"


@pytest.mark.parametrize(
    ("then", "left_open"),
    [({"implementation": "cs"}, {"implementation": "auto"}), ({"integrator": "adams"}, {"integrator": None})],
)
def test_a_default_of_an_earlier_version_is_what_it_was(then, left_open, tmp_path):
    """As if the run had made these choices by default."""
    fmu, result = (
        Path(__file__).parents[2] / "systems" / "dual_mass_oscillator" / "resources" / "System1.fmu",
        tmp_path / "result.csv",
    )
    values = {"System1.x1_start": 0.5}
    ssptool.simulate(fmu, stop_time=2.0, start_values=values, output=result, accuracy="off", **then)
    file = result.with_suffix(".csv.json")
    manifest = json.loads(file.read_text())
    manifest["settings"] |= left_open
    for choice in manifest["choices"]:
        choice["reason"] = "default"
    file.write_text(json.dumps(manifest))
    assert ssptool.reproduce(result).verdict == "same bits"
    assert ssptool.simulate(fmu, stop_time=2.0, start_values=values)["System1.x1"].tobytes() != (
        ssptool.read_trace(result)["System1.x1"].tobytes()
    )


def test_a_master_that_was_the_default_of_an_earlier_version_is_what_it_was(tmp_path):
    """The mass saves its state and holds its inputs: it was stepped side by side with the spring."""
    system, result = tmp_path / "one_dof_oscillator", tmp_path / "result.csv"
    shutil.copytree(Path(__file__).parents[2] / "systems" / "one_dof_oscillator", system)
    of = {"variant": "Newmark.ssd", "stop_time": 0.2, "accuracy": "off"}
    ssptool.simulate(system, output=result, master="jacobi", **of)
    file = result.with_suffix(".csv.json")
    manifest = json.loads(file.read_text())
    manifest["settings"]["master"] = "auto"
    for choice in manifest["choices"]:
        choice["reason"] = "default"
    file.write_text(json.dumps(manifest))
    assert ssptool.reproduce(result).verdict == "same bits"
    assert ssptool.simulate(system, **of)["Mass.z"][-1] != ssptool.read_trace(result)["Mass.z"][-1]
