"""Tasks of engineers, each solved over MCP with at most four calls, whose end is a fact that is known otherwise."""

import math
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from mcp.shared.exceptions import MCPError
from scipy.linalg import expm

import ssptool
from ssptool.editing.editor import VERBS
from ssptool.sandbox import missing
from tests.cli.mcp_client import McpClient, run_name, serving

SYSTEMS = Path(__file__).parents[2] / "systems"
HEAVY = ["dual/resources/heavy_flange.ssv"]
MOST_CALLS = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies of example systems, one of which is broken in one place each."""
    folder = tmp_path_factory.mktemp("mcp") / "plants"
    names = {"dual": "dual_mass_oscillator", "oscillator": "one_dof_oscillator", "governor": "flyball_governor"}
    for name, source in names.items():
        shutil.copytree(SYSTEMS / source, folder / name)
    for name, before, after in (
        ("open", 'startElement="System2" startConnector="F"', 'startElement="Sytem2" startConnector="F"'),
        (
            "units",
            'name="x1" kind="input" description="Position of mass 1"><ssc:Real unit="m"/>',
            'name="x1" kind="input"><ssc:Real unit="N"/>',
        ),
        ("lost", "resources/System2.fmu", "resources/Sytem2.fmu"),
        (
            "cut",
            '      <ssd:Connection startElement="System2" startConnector="F" endElement="System1" endConnector="F"/>\n',
            "",
        ),
        ("kind", 'name="v1" kind="output"', 'name="v1" kind="input"'),
        ("edited", "", ""),
        ("renamed", "", ""),
    ):
        made = folder / name
        (made / "resources").mkdir(parents=True)
        text = (SYSTEMS / "dual_mass_oscillator/SystemStructure.ssd").read_text()
        assert before in text
        (made / "SystemStructure.ssd").write_text(text.replace(before, after) if before else text)
        for file in ("System1.fmu", "System2.fmu", "dual_mass_oscillator.ssv"):
            shutil.copy(SYSTEMS / "dual_mass_oscillator/resources" / file, made / "resources")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[McpClient]:
    sandbox = ["--no-sandbox"] if missing() else []
    with serving(folder, "--allow-edits", "--results", str(folder / "results"), *sandbox) as client:
        yield client


@pytest.fixture
def client(server: McpClient) -> Iterator[McpClient]:
    server.calls = 0
    yield server
    assert server.calls <= MOST_CALLS


def exact(time: float, **changes: float) -> np.ndarray:
    """x1, v1, x2, v2 of the dual-mass oscillator, by the matrix exponential."""
    p = {"m1": 1.0, "k1": 10.0, "c1": 0.2, "m2": 1.0, "k2": 10.0, "c2": 0.5, "k3": 20.0, "c3": 0.3, **changes}
    a = np.zeros((4, 4))
    a[0, 1] = a[2, 3] = 1.0
    a[1] = np.array([-p["k1"] - p["k2"], -p["c1"] - p["c2"], p["k2"], p["c2"]]) / p["m1"]
    a[3] = np.array([p["k2"], p["c2"], -p["k2"] - p["k3"], -p["c2"] - p["c3"]]) / p["m2"]
    return np.asarray(expm(a * time) @ [0.0, 0.0, 0.5, 0.0])


def test_which_systems_are_there(client):
    listed = client.call("info").splitlines()
    assert {"  dual", "  oscillator", "  governor"} <= set(listed)


def test_what_the_system_is_made_of(client):
    text = client.call("info", system="dual")
    assert "4 wires, 10 parameter and start values" in text
    assert "DualMassOscillatorFMI3  (FMI3.ssd, SSP 2.0)" in text


def test_which_parameters_a_component_has(client):
    text = client.call("info", system="dual", component="System2", variables=["m*"])
    assert [line.split()[0] for line in text.splitlines() if " kg " in line] == ["m2", "m_c"]


def test_why_the_run_starts_wrong(client):
    """The loop has the gain -m_c/m1 = -2: fixed-point iteration diverges, Newton's method finds F = 5/3 N."""
    wrong = client.refused("run", system="dual", parameters=HEAVY, settings={"init": "fixed-point", "stop_time": 0.01})
    assert "an algebraic loop was not solved" in wrong and "try settings.init newton" in wrong
    right = client.call("run", system="dual", parameters=HEAVY, settings={"init": "newton", "stop_time": 0.01})
    assert client.signal(run_name(right), "System1.F")["first"] == pytest.approx(5 / 3, rel=1e-9)


def test_which_loop_there_is_and_its_gain(client):
    assert "algebraic loop {System1.a1, System2.F}" in client.call("graph", system="dual")
    run = run_name(
        client.refused("run", system="dual", parameters=HEAVY, settings={"init": "fixed-point", "stop_time": 0.01})
    )
    (loop,) = client.facts("results", run=run, loops=True)["loops"]
    assert loop["torn"] == ["System1.a1"]
    norms = loop["residual_norms"]
    assert loop["loop_gain"] == pytest.approx(2.0)
    assert [after / before for before, after in pairwise(norms)] == pytest.approx([2.0] * 20)


def test_a_plan_tells_the_gain_of_a_loop_where_fmus_may_be_loaded(client):
    text = client.call("plan", system="dual", parameters=HEAVY, loop_gains=True)
    assert "System1.a1}  gain 2 (of 1 or more" in text.splitlines()[1]
    assert "Plan of DualMassOscillator" in text and len(text.encode()) <= 2_100
    assert "at the start: none" in client.call("plan", system="oscillator", loop_gains=True).splitlines()[0]


def test_which_unit_is_inconsistent(client):
    text = client.call("validate", system="units", page_bytes=4000)
    error = next(part for part in text.split("\n\n") if part.startswith("error"))
    assert "the connector is in 'N', the variable in 'm'" in error and "SystemStructure.ssd:24" in error


def test_which_reference_is_wrong(client):
    text = client.call("validate", system="open")
    assert "'Sytem2'" in text.split("\n\n")[0] and "SystemStructure.ssd:35" in text


def test_which_file_is_missing(client):
    assert "resources/Sytem2.fmu" in client.call("validate", system="lost")


def test_connect_these_two_and_run(client, folder):
    edits = [{"verb": "connect", "a": "System1.F", "b": "System2.F"}]
    text = client.call("edit", system="cut", edits=edits)
    line = '+      <ssd:Connection startElement="System2" startConnector="F" endElement="System1" endConnector="F"/>'
    assert line in text.splitlines() and text.startswith("dry run")
    assert 'startConnector="F"' not in (folder / "cut/SystemStructure.ssd").read_text()
    assert client.call("edit", system="cut", edits=edits, apply=True).startswith("saved")
    run = run_name(client.call("run", system="cut", settings={"stop_time": 0.01}))
    assert client.signal(run, "System1.F")["first"] == pytest.approx(5.0)
    whole = SYSTEMS / "dual_mass_oscillator/SystemStructure.ssd"
    assert (folder / "cut/SystemStructure.ssd").read_bytes() == whole.read_bytes()


def test_rename_a_component_and_show_the_diff(client, folder):
    before = (folder / "renamed/SystemStructure.ssd").read_bytes()
    text = client.call(
        "edit", system="renamed", edits=[{"verb": "rename", "old": "System1", "new": "Left"}], page_bytes=8000
    )
    assert text.count('+      <ssd:Connection startElement="Left"') == 3
    assert (folder / "renamed/SystemStructure.ssd").read_bytes() == before


def test_mend_a_connector_of_a_wrong_kind(client):
    assert "FMU-" in client.call("validate", system="kind")
    text = client.call("fix", system="kind", unsafe=True)
    assert text.startswith("dry run")
    assert '+          <ssd:Connector name="v1" kind="output"' in text


def test_set_a_value_and_see_it_in_force(client, folder):
    edits = [
        {"verb": "set", "name": "System1.m1", "value": 2000, "unit": "g"},
        {"verb": "set_experiment", "stop": "20ms"},
    ]
    assert client.call("edit", system="edited", edits=edits, apply=True).startswith("saved")
    assert client.call("explain", system="edited", names=["System1.m1"]).startswith("System1.m1 = 2 kg")
    run = run_name(client.call("run", system="edited"))
    found = client.facts("results", run=run, signals=["System1.a1"])
    assert (found["end"], found["signals"][0]["first"]) == (pytest.approx(0.02), pytest.approx(2.5))


def test_which_parameter_overrides_which(client):
    text = client.call("explain", system="dual", names=["System1.m1"], start_values={"System1.m1": 3})
    assert text.startswith("System1.m1 = 3 kg")
    assert "instead of\n    1 kg" in text and "resources/dual_mass_oscillator.ssv:7" in text


def test_where_a_signal_goes(client):
    text = client.call("explain", system="dual", names=["System1.a1"])
    assert "goes to\n    System2.a1 = System1.a1   SystemStructure.ssd:34" in text


def test_which_master_is_chosen_and_why(client):
    text = client.call("plan", system="dual")
    assert "iterated  (System1, System2 are mutually coupled" in text


def test_what_is_the_final_value(client):
    """z = z0 cos(w0 t) of the undamped oscillator."""
    run = run_name(client.call("run", system="oscillator", settings={"stop_time": 0.05, "step_size": 1e-4}))
    z = client.signal(run, "Mass.z")
    assert z["final"] == pytest.approx(0.0016 * math.cos(math.sqrt(69.48 / 0.03575) * 0.05), abs=1e-8)
    assert (z["max"], z["max_at"]) == (pytest.approx(0.0016, rel=1e-4), 0.0)


def test_values_at_times(client):
    settings = {"stop_time": 0.5, "implementation": "me", "tolerance": 1e-10}
    run = run_name(client.call("run", system="dual", settings=settings))
    found = client.facts("results", run=run, signals=["System1.x1", "System1.v1"], at=[0.25, 0.5])
    assert found["columns"] == ["time [s]", "System1.x1", "System1.v1"]
    for time, *values in found["values"]:
        assert values == pytest.approx(exact(time)[:2].tolist(), abs=1e-7)


def test_the_course_of_a_signal_in_few_points(client):
    run = run_name(client.call("run", system="oscillator", settings={"stop_time": 0.02, "step_size": 1e-4}))
    values = np.array(client.facts("results", run=run, signals=["Mass.z"], points=11)["values"])
    assert values[:, 0] == pytest.approx(np.linspace(0.0, 0.02, 11))
    assert values[:, 1] == pytest.approx(0.0016 * np.cos(math.sqrt(69.48 / 0.03575) * values[:, 0]), abs=1e-7)


def test_what_is_conserved(client):
    """No torque acts on the shaft of the governor: its angular momentum stays."""
    settings = {"stop_time": 0.1, "tolerance": 1e-8}
    run = run_name(client.call("run", system="governor", settings=settings, record=["Spindle.h", "Slider.s"]))
    h, s = client.facts("results", run=run)["signals"]
    assert h["max"] - h["min"] <= 1e-9 * abs(h["max"])
    assert s["max"] > 0.5


def test_in_what_two_runs_differ(client):
    """With twice the mass the acceleration at the start is half: it differs by 2.5 m/s2 then."""
    settings = {"stop_time": 0.01}
    light = run_name(client.call("run", system="dual", settings=settings))
    heavy = run_name(client.call("run", system="dual", settings=settings, start_values={"System1.m1": 2}))
    found = client.facts("compare", run=heavy, reference=light, signals=["System1.a1"])
    assert not found["agrees"]
    assert found["signals"][0]["first_outside"] == 0.0
    assert found["signals"][0]["deviation"] == pytest.approx(2.5, rel=1e-2)
    assert any("System1.m1" in str(one) for one in found["runs"])


def test_results_written_where_they_may_be(client, folder):
    text = client.call("run", system="dual", settings={"stop_time": 0.01}, output="light.csv", record=["System1.x1"])
    assert (folder / "results/light.csv").is_file()
    found = client.facts("compare", run="results/light.csv", reference=run_name(text), relative=0.0)
    assert found["agrees"] and len(found["signals"]) == 1


def test_what_a_rule_demands(client):
    code = client.call("validate", system="units").split()[1]
    assert code in client.call("rule", code=code)


def test_results_cannot_be_written_elsewhere(client, folder):
    for output in ("../dual/a.csv", "../../a.csv", "/tmp/a.csv"):
        assert "lies outside" in client.refused("run", system="dual", output=output)
    assert not (folder / "dual/a.csv").exists()


def test_edits_that_may_be_saved_cannot_be_saved_elsewhere(client, folder):
    """Through a link in the place of a folder, and through the name of a parameter set to be made."""
    outside = folder.parent / "outside"
    shutil.copytree(folder / "renamed/resources", outside)
    trap = folder / "trap"
    trap.mkdir()
    shutil.copy(folder / "renamed/SystemStructure.ssd", trap)
    (trap / "resources").symlink_to(outside)
    before = sorted(outside.iterdir())
    add = {"verb": "add", "fmus": ["oscillator/resources/Mass.fmu"]}
    into = {"verb": "set", "name": "System1.m1", "value": 2, "into": "../../outside/new.ssv"}
    assert "trap" in client.refused("edit", system="trap", edits=[add], apply=True)
    client.refused("edit", system="renamed", edits=[into], apply=True)
    assert sorted(outside.iterdir()) == before and not (folder.parent / "new.ssv").exists()


def test_a_system_is_made_of_two_fmus_run_and_shown(server, folder):
    """A whole job: from FMUs to a curve, which has the value of the system that others have made."""
    fmus = [f"dual/resources/System{number}.fmu" for number in (1, 2)]
    ends = [("System1", name, "System2") for name in ("x1", "v1", "a1")] + [("System2", "F", "System1")]
    edits = [{"verb": "connect", "a": f"{a}.{name}", "b": f"{b}.{name}"} for a, name, b in ends]
    job = {"system": "made.ssp", "fmus": fmus, "edits": edits, "stop_time": 1.0}
    shown = server.call("new", **job, page_bytes=100_000)
    assert "dry run" in shown
    assert not (folder / "made.ssp").exists()
    assert "saved" in server.call("new", **job, apply=True, page_bytes=100_000)
    assert "exists" in server.refused("new", **job, apply=True)
    told, diagram = server.picture("draw", system="made.ssp")
    assert "2 elements" in told
    made = run_name(server.call("run", system="made.ssp", settings={"stop_time": 1.0, "step_size": 0.01}))
    with ssptool.edit(folder / "made.ssp", save=False) as editor:
        assert len(editor.system.connections) == len(ends)
    _, curve = server.picture("plot", runs=[made], signals=["System1.x1"])
    for picture in (diagram, curve):
        assert picture.startswith(b"\x89PNG")
        assert len(picture) > 2000
    assert "error" in server.refused("plot", runs=["run99"])


def test_three_fmus_become_a_system_a_run_a_study_and_a_report(server, folder):
    """A whole job, whose numbers are those of the damped oscillator: m s'' + d s' + c s = 0."""
    (folder / "parts").mkdir()
    names = {"wall": "Wall", "mass": "SlidingMass", "spring": "FlangedSpringDamper"}
    for name in names.values():
        shutil.copy(SYSTEMS / "mass_spring_damper/resources" / f"{name}.fmu", folder / "parts")
    ends = [("mass.s", "spring.s_a"), ("mass.v", "spring.v_a"), ("wall.s", "spring.s_b"), ("wall.v", "spring.v_b")]
    values = {"mass.m": ("2000", "g"), "mass.s0": ("0.3", "m"), "spring.c": ("18", "N/m"), "spring.d": ("1.2", "N.s/m")}
    edits = [
        *({"verb": "rename", "old": fmu, "new": name} for name, fmu in names.items()),
        *({"verb": "connect", "a": a, "b": b} for a, b in [*ends, ("spring.f_a", "mass.f")]),
        *({"verb": "set", "name": name, "value": value, "unit": unit} for name, (value, unit) in values.items()),
    ]
    fmus = [f"parts/{name}.fmu" for name in names.values()]
    server.call("new", system="job.ssp", fmus=fmus, edits=edits, stop_time=1.5, apply=True, page_bytes=100_000)
    run = run_name(server.call("run", system="job.ssp"))
    assert server.signal(run, "mass.s")["final"] == pytest.approx(damped(2.0, 1.2, 18.0, 0.3, 1.5), abs=1e-5)
    masses = {"low": 1.0, "high": 4.0, "count": 3}
    told = server.call(
        "study",
        system="job.ssp",
        factors={"mass.m": masses, "spring.d": [0.4, 1.2]},
        results={"end": 'final("mass.s")'},
        page_bytes=4000,
    )
    assert "6 of 6 runs completed" in told
    study = run_name(told)
    table = server.facts("results", run=study)
    assert table["columns"] == ["number", "mass.m", "spring.d", "end", "status"]
    assert table["units"] == [None, "kg", "N.s/m", "m", None]
    assert {row[1] for row in table["values"]} == {1.0, 2.5, 4.0}
    for _, mass, damping, end, status in table["values"]:
        assert (end, status) == (pytest.approx(damped(mass, damping, 18.0, 0.3, 1.5), abs=1e-5), "completed")
    for name in (run, study):
        assert f"results/{name}.html" in server.call("report", run=name, output=f"{name}.html")
        assert "mass" in (folder / f"results/{name}.html").read_text()
    assert "results/job.fmu" in server.call("export", system="job.ssp", output="job.fmu", expose=["mass.s"])
    exported = ssptool.simulate(folder / "results/job.fmu", stop_time=1.5, step_size=0.01)
    assert exported.trace["job.mass.s"][-1] == pytest.approx(damped(2.0, 1.2, 18.0, 0.3, 1.5), abs=1e-3)


def damped(m: float, d: float, c: float, s0: float, t: float) -> float:
    """Position of a damped oscillator that starts at rest."""
    decay, frequency = d / (2 * m), math.sqrt(c / m - (d / (2 * m)) ** 2)
    return s0 * math.exp(-decay * t) * (math.cos(frequency * t) + decay / frequency * math.sin(frequency * t))


def test_a_study_file_of_the_folder_is_run_and_its_folder_read(client, folder):
    (folder / "sweep.toml").write_text(
        'system = "oscillator"\n[settings]\nstop_time = 0.02\n[factors]\n"Mass.m" = [0.03575, 0.143]\n'
        "[results]\nend = 'final(\"Mass.z\")'\n"
    )
    told = client.call("study", file="sweep.toml", output="kept")
    assert "2 of 2 runs completed" in told
    assert (folder / "results/kept/study.json").is_file()
    table = client.facts("results", run="results/kept")
    expected = [0.0016 * math.cos(math.sqrt(69.48 / mass) * 0.02) for mass in (0.03575, 0.143)]
    assert [row[2] for row in table["values"]] == pytest.approx(expected, abs=1e-6)
    assert "leave out" in client.refused("study", file="sweep.toml", factors={"Mass.m": [1]})


def test_resources_are_systems_runs_rules_and_help(server):
    run = run_name(server.call("run", system="oscillator", settings={"stop_time": 0.01}))
    listed = server.resources()
    assert {"ssptool://systems/dual", f"ssptool://runs/{run}", "ssptool://docs/run"} <= listed.keys()
    assert "4 wires" in server.read("ssptool://systems/dual")
    assert "completed" in server.read(f"ssptool://runs/{run}")
    assert "SSD-CONN-003" in server.read("ssptool://rules/SSD-CONN-003")
    assert "--step-size" in server.read("ssptool://docs/run")
    assert "ssptool study resume" in server.read("ssptool://docs/study")
    for wrong in (
        "ssptool://systems/../outside",
        "ssptool://runs/run99",
        "ssptool://docs/nothing",
        "file:///etc/passwd",
    ):
        with pytest.raises(MCPError, match=r"outside|no resource"):
            server.read(wrong)


def test_prompts_have_arguments_and_begin_jobs(server):
    assert [one.name for one in server.prompts()["build"].arguments or []] == ["fmus", "system"]
    assert "plant.ssp" in server.prompt("build", fmus="A.fmu, B.fmu", system="plant.ssp")
    with pytest.raises(MCPError, match="needs run"):
        server.prompt("explain_difference", reference="run1")


def test_edits_have_a_schema_with_one_alternative_for_each_verb(server):
    schema = server.tools()["edit"].input_schema
    verbs = [one["properties"]["verb"]["const"] for one in schema["properties"]["edits"]["items"]["oneOf"]]
    assert sorted(verbs) == sorted(VERBS)
    checker = Draft202012Validator(schema)
    good: list[dict[str, object]] = [
        {"verb": "connect", "a": "A.y", "b": ["B", "u"]},
        {"verb": "add", "fmus": ["A.fmu"], "name": "A"},
        {"verb": "set", "name": "A.k", "value": 2.5, "unit": "kN"},
    ]
    checker.validate({"edits": good})
    for wrong in ({"verb": "conect", "a": "A", "b": "B"}, {"verb": "connect", "a": "A.y"}, {**good[0], "c": 1}):
        assert not checker.is_valid({"edits": [wrong]})
