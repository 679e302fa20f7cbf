"""What made a result: overrides in the manifest, the summary, legends, comparisons and reports."""

import json
import shutil
from pathlib import Path

import pytest

import ssptool
from ssptool.engine.run.manifest import differences

SYSTEMS = Path(__file__).parents[2] / "systems"
OSCILLATOR = SYSTEMS / "dual_mass_oscillator"
ROTOR = SYSTEMS / "rotational_spring_mass_damper"
SHORT = {"stop_time": 0.01}
SSV = """<?xml version="1.0" encoding="UTF-8"?>
<ssv:ParameterSet version="1.0" name="stiff" xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues">
  <ssv:Parameters>
    <ssv:Parameter name="System2.k2"><ssv:Real value="33" unit="N/m"/></ssv:Parameter>
  </ssv:Parameters>
</ssv:ParameterSet>
"""


def overrides(path):
    return {(one["kind"], one["name"]): one for one in ssptool.read_manifest(path)["overrides"]}


def line_of(path, text):
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize("ending", ["csv", "mat"])
def test_the_manifest_has_each_start_value_with_the_value_before_and_its_line(tmp_path, ending):
    path = tmp_path / f"r.{ending}"
    result = ssptool.simulate(OSCILLATOR, start_values={"System2.k2": 80}, output=path, **SHORT)
    found = overrides(path)["start value", "System2.k2"]
    line = line_of(OSCILLATOR / "resources" / "dual_mass_oscillator.ssv", '"System2.k2"')
    assert (found["before"], found["after"], found["unit"], found["by"]) == (10.0, 80.0, "N/m", "--set")
    assert found["place"] == f"resources/dual_mass_oscillator.ssv:{line}"
    assert [str(one) for one in result.overrides] == [
        f"System2.k2 = 80 N/m (--set), instead of 10 N/m at resources/dual_mass_oscillator.ssv:{line}"
    ]


def test_a_run_without_arguments_overrides_nothing(tmp_path):
    result = ssptool.simulate(OSCILLATOR, output=tmp_path / "r.csv", **SHORT)
    assert result.overrides == ()
    assert ssptool.read_manifest(tmp_path / "r.csv")["overrides"] == []


def test_a_parameter_set_names_its_own_line_and_a_start_value_wins_over_it(tmp_path):
    path, output = tmp_path / "stiff.ssv", tmp_path / "r.csv"
    path.write_text(SSV, encoding="utf-8")
    ssptool.simulate(OSCILLATOR, parameters=path, output=output, **SHORT)
    found = overrides(output)["parameter set", "System2.k2"]
    assert (found["before"], found["after"]) == (10.0, 33.0)
    assert found["by"] == f"{path}:{line_of(path, 'System2.k2')}"
    ssptool.simulate(OSCILLATOR, parameters=path, start_values={"System2.k2": 5}, output=output, **SHORT)
    ((kind, _), found), *more = overrides(output).items()
    assert (kind, found["before"], found["after"], more) == ("start value", 10.0, 5.0, [])


def test_where_no_document_gives_a_value_it_replaces_the_start_value_of_the_fmu(tmp_path):
    output = tmp_path / "r.csv"
    ssptool.simulate(OSCILLATOR, start_values={"System1.F": 0.5}, output=output, **SHORT)
    found = overrides(output)["start value", "System1.F"]
    assert found["after"] == 0.5
    assert found["before"] == 0.0
    file, _, line = found["place"].rpartition(":")
    assert file
    assert int(line) > 0


def test_a_variant_an_input_and_a_scenario_are_overrides(tmp_path):
    output = tmp_path / "r.csv"
    ssptool.simulate(OSCILLATOR, variant="NoFlange", output=output, **SHORT)
    found = overrides(output)["variant", "variant"]
    assert (found["before"], found["after"]) == ("SystemStructure.ssd", "NoFlange.ssd")
    ssptool.simulate(OSCILLATOR, variant="SystemStructure", output=output, **SHORT)
    assert overrides(output) == {}


def test_what_is_set_during_a_simulation_is_kept_with_its_time():
    with ssptool.Simulation(OSCILLATOR, start_values={"System2.k2": 7}, **SHORT) as run:
        run.step()
        run.set("System2.k3", 30.0)
        first, second = run.overrides
        assert (first.kind, first.after) == ("start value", 7.0)
        assert (second.kind, second.name, second.after, second.time) == (
            "set during the run",
            "System2.k3",
            30.0,
            run.time,
        )
        assert second.before == 20.0


def test_comparison_report_and_legend_name_what_tells_two_runs_apart(tmp_path):
    stiff, soft = tmp_path / "stiff.csv", tmp_path / "soft.csv"
    for value, path in (80, stiff), (5, soft):
        ssptool.simulate(OSCILLATOR, start_values={"System2.k2": value}, output=path, **SHORT)
    comparison = ssptool.compare(stiff, soft)
    assert [tuple(one) for one in comparison.runs] == [("System2.k2", "80 N/m", "5 N/m")]
    text = ssptool.renderers.TRACE_COMPARISON_RENDERERS["text"](comparison)
    assert "runs with different System2.k2: 80 N/m, reference 5 N/m" in text.splitlines()
    assert json.loads(ssptool.renderers.TRACE_COMPARISON_RENDERERS["json"](comparison))["runs"][0]["trace"] == "80 N/m"
    for path, value in (stiff, "80 N/m"), (soft, "5 N/m"):
        page = ssptool.report(OSCILLATOR, path).html
        assert f"<td>System2.k2</td><td>{value}</td><td>--set</td><td>10 N/m</td>" in page
    runs = {curve.run for curve in ssptool.plot([stiff, soft]).curves}
    assert runs == {"stiff: System2.k2 = 80 N/m", "soft: System2.k2 = 5 N/m"}


def test_a_run_that_overrides_nothing_has_the_value_that_the_other_one_replaced():
    runs = [ssptool.simulate(OSCILLATOR, start_values=values, **SHORT) for values in ({}, {"System2.k2": 80})]
    names = [curve.run for curve in ssptool.plot(runs, signals="System1.x1").curves]
    assert names == ["DualMassOscillator 1: System2.k2 = 10 N/m", "DualMassOscillator 2: System2.k2 = 80 N/m"]
    assert [tuple(one) for one in ssptool.compare(*runs).runs] == [("System2.k2", "10 N/m", "80 N/m")]


def test_settings_that_differ_tell_runs_apart_and_equal_ones_do_not():
    runs = [ssptool.simulate(OSCILLATOR, step_size=size, master="jacobi", **SHORT) for size in (1e-3, 5e-4)]
    assert [tuple(one) for one in ssptool.compare(*runs).runs] == [("step size", "0.001", "0.0005")]


def test_arguments_are_in_the_manifest_and_those_that_no_file_holds_are_named(tmp_path):
    output = tmp_path / "r.csv"
    ssptool.simulate(OSCILLATOR, output=output, record="*.x1", every=2, start_values={"System2.k2": 80}, **SHORT)
    manifest = ssptool.read_manifest(output)
    arguments = manifest["arguments"]
    assert arguments["system"] == str(OSCILLATOR)
    assert (arguments["record"], arguments["every"]) == (["*.x1"], 2)
    assert arguments["start_values"] == {"System2.k2": "80"}
    assert manifest["unstated"] == []


@pytest.mark.parametrize("name", ["r.csv", "r.mat", "resources/r.csv", "resources/r.parquet"])
def test_results_in_the_folder_of_a_system_are_no_part_of_it(tmp_path, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    system = tmp_path / "system"
    shutil.copytree(OSCILLATOR, system)
    for _ in range(2):
        ssptool.simulate(system, output=system / name, **SHORT).unwrap()
    names = [one["name"] for one in ssptool.read_manifest(system / name)["inputs"]]
    assert "SystemStructure.ssd" in names
    assert not [one for one in names if Path(one).name.startswith("r.")]


def test_a_log_beside_the_system_structure_can_be_written_again(tmp_path):
    system = tmp_path / "system"
    shutil.copytree(OSCILLATOR, system)
    for _ in range(2):
        ssptool.simulate(system, log_coupling=system / "steps.csv", output=system / "r.csv", **SHORT).unwrap()


def test_a_run_without_a_row_leaves_earlier_results_as_they_were(tmp_path):
    """A mass of zero: the acceleration at the start is not finite."""
    for ending in ("csv", "mat"):
        output = tmp_path / f"r.{ending}"
        for isolated in (False, True):
            ssptool.simulate(OSCILLATOR, output=output, **SHORT).unwrap()
            before = {path: path.read_bytes() for path in tmp_path.iterdir()}
            wrong = {"start_values": {"System1.m1": 0}, "isolated": isolated}
            failed = ssptool.simulate(OSCILLATOR, output=output, **wrong, **SHORT)
            assert not failed.ok
            assert failed.rows == 0
            assert failed.output is None
            assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
            assert any("keeps the results of an earlier run" in note for note in failed.notes)
            output.unlink()
        ssptool.simulate(OSCILLATOR, output=output, **wrong, **SHORT)
        first = ssptool.read_manifest(output)["failure"]
        ssptool.simulate(OSCILLATOR, output=output, master="jacobi", **wrong, **SHORT)
        assert first is not None
        assert ssptool.read_manifest(output)["settings"]["master"] == "jacobi"


def test_a_run_that_replaces_results_of_another_setting_says_so(tmp_path):
    output = tmp_path / "r.csv"
    for _ in range(2):
        same = ssptool.simulate(OSCILLATOR, output=output, **SHORT)
        assert not any("replaced" in note for note in same.notes)
    stiff = ssptool.simulate(OSCILLATOR, output=output, start_values={"System2.k2": 80}, **SHORT)
    note = f"overwrote {output}: results of a run with System2.k2 = 10 N/m (now 80 N/m)"
    assert note in stiff.notes
    assert note in ssptool.read_manifest(output)["notes"]
    other = ssptool.simulate(ROTOR, output=output, **SHORT)
    assert any("results of another system, DualMassOscillator" in note for note in other.notes)
    copy = shutil.copytree(ROTOR, tmp_path / "copy")  # of the same name, as an exported FMU is
    assert any(str(ROTOR) in note for note in ssptool.simulate(copy, output=output, **SHORT).notes)


def test_findings_are_sorted_errors_first(tmp_path):
    system = tmp_path / "system"
    shutil.copytree(OSCILLATOR, system)
    (system / "a.txt").write_text("")
    ssd = system / "SystemStructure.ssd"
    ssd.write_text(ssd.read_text(encoding="utf-8").replace("resources/System2.fmu", "resources/none.fmu"))
    severities = [str(one.severity) for one in ssptool.validate(system).diagnostics]
    assert severities[0] == "error"
    assert len(set(severities)) > 1
    assert severities == sorted(severities, key=["error", "warning", "info"].index)


def test_results_of_earlier_versions_are_told_apart_by_settings_only():
    """Their manifests have no overrides."""
    earlier = {"settings": {"master": "jacobi"}}
    now = {
        "settings": {"master": "auto"},
        "overrides": [{"name": "a", "before": 1, "after": 2, "unit": "", "time": None}],
    }
    assert differences([earlier, now]) == [{"master": "jacobi"}, {"master": "default"}]
    assert differences([now, {**earlier, "overrides": []}])[1] == {"a": "1", "master": "jacobi"}
