"""The commands as a user meets them: what they print, what they write, how they exit."""

import csv
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from lxml import etree

from ssptool.errors import counted

pytestmark = pytest.mark.one_in(3)

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"


@pytest.fixture
def broken(tmp_path) -> Path:
    """A copy of the system with an unknown connector in its first connection."""
    copy = Path(shutil.copytree(SYSTEM, tmp_path / "broken"))
    structure = copy / "SystemStructure.ssd"
    text = structure.read_text(encoding="utf-8")
    structure.write_text(text.replace('startConnector="x1"', 'startConnector="y1"', 1), encoding="utf-8")
    return copy


def test_run_writes_results_with_time_first_and_full_names(ssptool, tmp_path):
    status, out, _ = ssptool("run", SYSTEM, "--stop-time", 0.01, "--output", tmp_path / "r.csv", "--verbose")
    assert status == 0
    with (tmp_path / "r.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    units = {"F": "N", "x1": "m", "v1": "m/s", "a1": "m/s2"}
    names = {f"System{number}.{name} [{unit}]" for number in (1, 2) for name, unit in units.items()}
    assert rows[0][0] == "time"
    assert set(rows[0][1:]) == names
    assert len(rows) == 12
    for word in ("initialization", "algebraic loop", "newton", "residual", "steps", "real time", "r.csv"):
        assert word in out.lower()


def test_run_without_flags_names_the_results_after_the_system(ssptool, tmp_path):
    status, out, _ = ssptool("run", SYSTEM)
    assert status == 0
    assert (tmp_path / "dual_mass_oscillator.csv").exists()
    assert "dual_mass_oscillator.csv" in out


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_run_draws_a_plot(ssptool, tmp_path, ending):
    plot = tmp_path / f"plot.{ending}"
    status, _, _ = ssptool("run", SYSTEM, "--stop-time", 0.1, "--plot", plot)
    assert status == 0
    start = plot.read_bytes()[:8]
    assert start == b"\x89PNG\r\n\x1a\n" if ending == "png" else b"<?xml" in start


def test_a_run_without_rows_is_explained_although_there_is_nothing_to_draw(ssptool, tmp_path):
    """Without its mass, the acceleration of System1 is infinite at the start."""
    status, out, err = ssptool("run", SYSTEM, "--set", "System1.m1=0", "--plot", tmp_path / "p.png")
    assert (status, "an algebraic loop was not solved" in out, "plot" in out) == (1, True, False)
    assert f"{tmp_path / 'p.png'} was not drawn: there is nothing to draw: the results have no rows" in err
    assert (
        ssptool("plot", "dual_mass_oscillator.csv")[2] == "error: there is nothing to draw: the results have no rows\n"
    )


def test_run_refuses_a_picture_format_that_it_cannot_write_before_running(ssptool, tmp_path):
    status, _, err = ssptool("run", SYSTEM, "--plot", "plot.bmp")
    assert (status, list(tmp_path.glob("*.csv"))) == (2, [])
    assert ".png" in err


FLAGS = [
    ["--master", "jacobi", "--approximation", "hold"],
    ["--master", "jacobi", "--approximation", "extrapolate", "--input-order", 2],
    ["--master", "gauss-seidel", "--step-size", 1e-4],
    *(["--master", "iterated", "--acceleration", name] for name in ("none", "constant", "aitken", "anderson")),
    ["--master", "iterated", "--tolerance", 1e-10, "--input-order", 2],
    ["--init", "newton"],
    ["--init", "fixed-point"],
    ["--set", "System1.m1=2", "--set", "System2.c3=0"],
    ["--parameters", SYSTEM / "resources" / "heavy_flange.ssv"],
    ["--variant", "DualMassOscillatorFMI3"],
    ["--variant", "Mixed.ssd"],
]


@pytest.mark.parametrize("flags", FLAGS, ids=lambda flags: " ".join(Path(str(flag)).name for flag in flags))
def test_run_takes_every_flag(ssptool, flags):
    status, out, err = ssptool("run", SYSTEM, "--stop-time", 0.05, *flags)
    assert (status, err) == (0, "")
    assert "completed" in out


WRONG_USE = [
    (["--step-size", -1], "step"),
    (["--stop-time", -1], "stop"),
    (["--set", "System1.m1"], "NAME=VALUE"),
    (["--set", "System1.m1=heavy"], "heavy"),
    (["--set", "System1.mm1=2"], "System1.m1"),
    (["--parameters", "missing.ssv"], "missing.ssv"),
    (["--variant", "Nothing"], "DualMassOscillator"),
    (["--master", "jacobi", "--approximation", "interpolate"], "iterated"),
    (["--master", "no-such"], "jacobi"),
    (["--output", "no/such/folder/r.csv"], "no/such/folder"),
]


@pytest.mark.parametrize(("flags", "hint"), WRONG_USE, ids=lambda value: value if isinstance(value, str) else None)
def test_wrong_use_is_explained(ssptool, flags, hint):
    status, out, err = ssptool("run", SYSTEM, *flags)
    assert status in (1, 2)
    assert hint in out + err
    assert "Traceback" not in out + err
    assert "internal error" not in err


@pytest.mark.parametrize("command", ["validate", "graph", "plan", "run", "info"])
def test_a_missing_file_is_wrong_usage(ssptool, command):
    status, _, err = ssptool(command, "nowhere.ssp")
    assert status == 2
    assert "nowhere.ssp" in err


@pytest.mark.parametrize("command", ["graph", "plan", "run"])
def test_a_system_with_errors_is_refused_with_the_report(ssptool, broken, command, tmp_path):
    status, out, err = ssptool(command, broken)
    assert status == 1
    assert "SSD-CONN-002" in out + err
    assert "SystemStructure.ssd:" in out + err
    assert list(tmp_path.glob("*.csv")) == []


def test_run_refuses_a_system_with_errors_before_loading_any_binary(ssptool, broken, monkeypatch):
    monkeypatch.setattr("ctypes.CDLL.__init__", lambda *_: pytest.fail("a binary was loaded"))
    assert ssptool("run", broken)[0] == 1


def test_validate_finds_nothing_above_info_in_the_example(ssptool):
    status, out, _ = ssptool("validate", SYSTEM, "--format", "json")
    severities = [finding["severity"] for finding in json.loads(out)["diagnostics"]]
    assert status == 0
    assert not {"error", "warning"} & set(severities)


def test_validate_reports_in_text_and_json(ssptool, broken):
    status, text, _ = ssptool("validate", broken)
    assert status == 1
    assert "SSD-CONN-002" in text
    assert "SystemStructure.ssd:" in text
    status, out, _ = ssptool("validate", broken, "--format", "json")
    finding = next(one for one in json.loads(out)["diagnostics"] if one["code"] == "SSD-CONN-002")
    assert status == 1
    assert 'startConnector="y1"' in (broken / "SystemStructure.ssd").read_text().splitlines()[finding["line"] - 1]


def test_graph_text_shows_cycle_loop_and_order(ssptool):
    status, out, _ = ssptool("graph", SYSTEM)
    assert status == 0
    for part in (
        "System1 ⇄ System2",
        "algebraic loop {System1.a1, System2.F}",
        "System2.F depends on System2.a1",
        "System1.a1 depends on System1.F",
        "System1.x1 → System2.x1",
        "Evaluation order",
    ):
        assert part in out


def test_graph_json_dot_and_svg_are_well_formed(ssptool):
    content = json.loads(ssptool("graph", SYSTEM, "--format", "json")[1])
    assert content["cycles"][0]["algebraicLoops"][0]["outputs"] == ["System1.a1", "System2.F"]
    dot = ssptool("graph", SYSTEM, "--format", "dot")[1]
    assert dot.startswith("digraph")
    assert dot.count("{") == dot.count("}")
    svg = etree.fromstring(ssptool("graph", SYSTEM, "--format", "svg")[1].encode())
    texts = {node.text for node in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"System1", "System2", "a1", "F"} <= texts


@pytest.mark.parametrize("form", ["text", "json", "dot", "svg"])
def test_a_graph_is_written_as_it_is_printed(ssptool, tmp_path, form):
    printed = ssptool("graph", SYSTEM, "--format", form)[1]
    assert ssptool("graph", SYSTEM, "--format", form, "--output", "graph") == (0, "graph: graph\n", "")
    assert (tmp_path / "graph").read_text("utf-8") == printed


def test_graph_without_loop_says_why(ssptool):
    out = ssptool("graph", SYSTEM, "--variant", "DualMassOscillatorNoFlange")[1]
    assert "no algebraic loop" in out
    assert "System2.F does not depend on System2.a1" in out


def test_plan_names_choices_and_calls(ssptool):
    status, out, _ = ssptool("plan", SYSTEM)
    assert status == 0
    for part in (
        "master",
        "default experiment",
        "System1.fmu",
        "m1 = 1.0",
        "enter initialization mode",
        "solve the algebraic loop",
        "macro steps",
    ):
        assert part in out


def test_info_of_a_component_lists_the_variables_of_its_fmu(ssptool):
    status, out, _ = ssptool("info", SYSTEM, "System2")
    assert status == 0 and "System1" not in out
    lines = {line.split()[0]: line.split() for line in out.splitlines()[4:]}
    assert lines["x2"][1:] == ["local", "continuous", "Float64", "m", "position", "of", "mass", "2"]
    assert lines["k3"][1:6] == ["parameter", "tunable", "Float64", "N/m", "20"]
    found = json.loads(ssptool("info", SYSTEM, "--variables", "*.k?", "--format", "json")[1])["variables"]
    assert [(one["name"], one["value"], one["unit"]) for one in found] == [
        ("System1.k1", 10.0, "N/m"),
        ("System2.k2", 10.0, "N/m"),
        ("System2.k3", 20.0, "N/m"),
    ]


def test_info_names_the_folder_in_which_a_lone_file_is(ssptool, tmp_path):
    (tmp_path / "X").mkdir()
    for place in (tmp_path, tmp_path / "X"):
        shutil.copyfile(SYSTEM / "NoFlange.ssd", place / "model.ssd")
    for given, told in (("X/model.ssd", "model.ssd in X"), ("model.ssd", "model.ssd")):
        assert ssptool("info", given)[1].splitlines()[0] == f"DualMassOscillatorNoFlange  ({told}, SSP 1.0)"
    assert f"(SystemStructure.ssd in {SYSTEM}, SSP" in ssptool("info", SYSTEM)[1]


def test_info_of_what_is_not_there_names_what_is(ssptool):
    status, _, err = ssptool("info", SYSTEM, "System3")
    assert status == 2 and "no component 'System3'; did you mean System" in err
    status, _, err = ssptool("info", SYSTEM, "--variables", "K3")
    assert status == 2 and "System2.k3" in err


def test_info_of_one_fmu_lists_its_variables(ssptool):
    status, out, _ = ssptool("info", SYSTEM / "resources" / "System2.fmu")
    assert status == 0 and "der(x2)" in out
    _, out, _ = ssptool("info", SYSTEM / "resources" / "System2.fmu", "--variables", "x?")
    assert [line.split()[0] for line in out.splitlines()[4:]] == ["variable", "x1", "x2"]


def test_info_shows_the_first_of_many_variables(ssptool, tmp_path):
    """All with a pattern that all of them match, and in JSON."""
    variables = "".join(
        f'<ScalarVariable name="p{n}" valueReference="{n}" causality="parameter" variability="fixed">'
        '<Real start="0"/></ScalarVariable>'
        for n in range(100)
    )
    with zipfile.ZipFile(tmp_path / "many.fmu", "w") as fmu:
        fmu.writestr(
            "modelDescription.xml",
            '<fmiModelDescription fmiVersion="2.0" modelName="many" guid="g"><CoSimulation modelIdentifier="many"/>'
            f"<ModelVariables>{variables}</ModelVariables><ModelStructure/></fmiModelDescription>",
        )
    _, out, _ = ssptool("info", "many.fmu")
    assert "  p39 " in out and "  p40 " not in out
    assert out.splitlines()[-1] == "  … and 60 more (--variables PATTERN; '*' lists all)"
    _, out, _ = ssptool("info", "many.fmu", "--variables", "*")
    assert "  p99 " in out and "more" not in out
    assert len(json.loads(ssptool("info", "many.fmu", "--format", "json")[1])["variables"]) == 100


def test_info_lists_components_and_variants(ssptool):
    status, out, _ = ssptool("info", SYSTEM)
    assert status == 0
    for part in ("System1", "FMI 2.0", "CoSimulation", "DualMassOscillatorFMI3", "0 s … 10 s"):
        assert part in out
    assert json.loads(ssptool("info", SYSTEM, "--format", "json")[1])["wires"] == 4


def test_the_installed_command_runs():
    command = Path(sys.executable).parent / "ssptool"
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ssptool ")


def test_numbers_agree_with_their_nouns(ssptool, tmp_path):
    """No "1 inputs" in what is said of one thing, nor "2 input"."""
    fmu = SYSTEM / "resources" / "System1.fmu"
    steps = ("--stop-time", "1e-3", "--step-size", "1e-3", "--record", "System1.x1")
    said = (
        ssptool("info", fmu)[1]
        + ssptool("plan", fmu, *steps[:4])[1]
        + ssptool("run", fmu, *steps)[1]
        + ssptool("run", fmu, *steps, "-v")[1]
    )
    assert "1 input," in said and "in 1 step," in said and "1 signal)" in said
    things = "inputs|outputs|parameters|components|wires|steps|signals|files|iterations"
    assert not re.search(rf"\b1 ({things})\b", said)
    assert [counted(number, "file") for number in (0, 1, 2)] == ["0 files", "1 file", "2 files"]
    assert [counted(number, "entry", "entries") for number in (1, 2)] == ["1 entry", "2 entries"]


def test_a_run_that_records_nothing_says_so_and_its_advice_records(ssptool, tmp_path):
    """Components without connectors, as some tools write them."""
    (tmp_path / "bare" / "resources").mkdir(parents=True)
    shutil.copy(SYSTEM / "resources/System1.fmu", tmp_path / "bare/resources")
    (tmp_path / "bare/SystemStructure.ssd").write_text(
        '<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"'
        ' version="1.0" name="bare"><ssd:System name="bare"><ssd:Elements><ssd:Component name="A"'
        ' source="resources/System1.fmu"/></ssd:Elements></ssd:System></ssd:SystemStructureDescription>'
    )
    run = ["run", "bare", "--stop-time", 0.1, "--step-size", 0.01, "-o", "r.csv"]
    status, out, _ = ssptool(*run)
    assert status == 0
    assert out.count("no signal is recorded: no component has connectors for outputs (--record 'NAME.*'") == 1
    status, out, _ = ssptool(*run, "--record", "A.*")
    assert status == 0
    assert "no signal is recorded" not in out
    assert (tmp_path / "r.csv").read_text().startswith("time,A.")


def test_the_earlier_name_of_an_option_works_and_a_note_names_the_new_one(ssptool):
    """`draw --connections` was `--wires`."""
    assert "--wires" not in ssptool("draw", "--help")[1]
    assert ssptool("draw", SYSTEM, "--connections", "all", "--output", "new.svg")[::2] == (0, "")
    status, _, err = ssptool("draw", SYSTEM, "--wires", "all", "--output", "old.svg")
    assert (status, err) == (0, "note: --wires is called --connections now\n")
