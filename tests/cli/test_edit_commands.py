"""The editing commands as a user meets them: from nothing to a run, and every flag and refusal on the way."""

import shlex
import shutil
from pathlib import Path

import pytest

import ssptool as library
from tests.editing.small_systems import DUAL_MASS, FMUS, errors, fmu, model, nested, snapshot
from tests.editing.test_terminals import INERTIA, SPRING, flange
from tests.systems.exact_dual_mass import DualMass

SESSION = """\
ssptool new dmo --stop-time 10
ssptool add dmo System1.fmu System2.fmu
ssptool connect dmo System1 System2
ssptool set dmo System1.m1=2 System2.x2_start=0.3
ssptool run dmo
"""

SCRIPT = """\
import ssptool

with ssptool.new("dmo", stop_time=10) as dmo:
    dmo.add("System1.fmu", "System2.fmu").connect("System1", "System2")
result = ssptool.simulate("dmo")
"""


@pytest.fixture
def ssptool(ssptool, tmp_path):
    """The command, in a folder that holds the two FMUs."""
    for name in ("System1.fmu", "System2.fmu"):
        shutil.copyfile(FMUS / name, tmp_path / name)
    return ssptool


@pytest.fixture
def dmo(ssptool, tmp_path) -> Path:
    """The two FMUs, connected."""
    with library.new("dmo", stop_time=10) as made:
        made.add("System1.fmu", "System2.fmu").connect("System1", "System2")
    return tmp_path / "dmo"


def test_five_commands_make_a_system_and_run_it(ssptool, tmp_path):
    """Iterated with interpolated inputs at 1 ms, the run is within 1e-6 of the exact solution."""
    for line in SESSION.splitlines():
        status, out, err = ssptool(*shlex.split(line)[1:])
        assert (status, err) == (0, ""), line
    assert "completed" in out
    assert errors(tmp_path / "dmo") == []
    result = library.simulate(tmp_path / "dmo")
    exact = DualMass(m1=2.0, start=(0.0, 0.0, 0.3, 0.0)).signals(result.trace.t)
    assert abs(result.trace["System1.x1"] - exact["x1"]).max() < 1e-6


def test_three_lines_of_python_do_the_same(ssptool, tmp_path):
    names: dict[str, object] = {}
    exec(SCRIPT, names)
    result = names["result"]
    exact = DualMass().signals(result.trace.t)
    assert result.ok
    assert abs(result.trace["System1.x1"] - exact["x1"]).max() < 1e-6


@pytest.mark.parametrize("name", ["made.ssp", "made.ssd", "made"])
def test_new_makes_every_form_and_refuses_to_overwrite(ssptool, tmp_path, name):
    status, out, _ = ssptool("new", name, "--ssp-version", "1.0", "--name", "Made")
    assert (status, out) == (0, f"made {name}, a system of SSP 1.0\n")
    assert library.flatten(tmp_path / name).name == "Made"
    status, _, err = ssptool("new", name)
    assert status == 2
    assert "exists" in err


def test_add_says_what_became_connectors(ssptool, dmo):
    status, out, _ = ssptool("add", dmo, "System1.fmu", "--name", "Third", "--parameters")
    assert status == 0
    assert out.startswith(
        "added Third to the system: FMI 2.0, resources/System1.fmu, connectors F (input), x1 (output)"
    )
    assert "m1 (parameter)" in out


def test_systems_and_connectors_are_added_too(ssptool, dmo):
    assert ssptool("add", dmo, "--system", "Sub")[0] == 0
    status, out, _ = ssptool("add", dmo, "--connector", "u", "--into", "Sub", "--kind", "input", "--unit", "N")
    assert (status, out) == (0, "added the connector u (input) to Sub\n")
    assert ssptool("add", dmo, "System1.fmu", "--into", "Sub")[0] == 0
    status, out, _ = ssptool("connect", dmo, "Sub.u", "Sub.System1.F")
    assert (status, out) == (0, "connected Sub.u → Sub.System1.F\n")
    assert ssptool("add", dmo)[0] == 2


def test_connect_matches_terminals(ssptool, tmp_path):
    fmu(tmp_path, "inertia1", INERTIA, flange("flange_b"))
    fmu(tmp_path, "spring1", SPRING, flange("flange_a"))
    with library.new("shaft") as made:
        made.add("inertia1.fmu", "spring1.fmu")
    status, out, _ = ssptool("connect", "shaft", "inertia1.flange_b", "spring1.flange_a")
    assert status == 0
    assert out.splitlines() == [
        "connected inertia1.phi → spring1.phi",
        "connected inertia1.w → spring1.w",
        "connected spring1.tau → inertia1.tau",
    ]


EDITS = [
    ["add", "System1.fmu", "--name", "Third"],
    ["remove", "System2"],
    ["rename", "System1", "Mass"],
    ["disconnect", "System1", "System2"],
    ["set", "System1.m1=2", "System1.k1=3"],
    ["set", "System1.m1=2", "--into", "values.ssv"],
    ["bind", FMUS / "heavy_flange.ssv"],
    ["bind", FMUS / "heavy_flange.ssv", "--inline"],
    ["replace", "System1", FMUS / "fmi3" / "System1.fmu"],
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: " ".join(Path(str(word)).name for word in edit))
@pytest.mark.parametrize("form", ["folder", "zip"])
def test_diff_shows_what_the_command_would_write(ssptool, dmo, tmp_path, edit, form):
    path = dmo
    if form == "zip":
        with library.edit(dmo) as made:
            made.archive.save(path := tmp_path / "packed.ssp")
    verb, *arguments = edit
    before = snapshot(tmp_path)
    status, shown, err = ssptool(verb, path, *arguments, "--diff")
    assert (status, err) == (0, "")
    assert shown.startswith("--- ")
    assert snapshot(tmp_path) == before
    status, out, err = ssptool(verb, path, *arguments)
    assert (status, err) == (0, "")
    assert out and not out.startswith("--- ")
    assert errors(path) == []
    assert snapshot(tmp_path) != before


def test_map_adds_an_entry(ssptool, dmo):
    assert ssptool("set", dmo, "System1.m1=2", "--into", "values.ssv")[0] == 0
    status, out, _ = ssptool("map", dmo, "System1.m1=System2.m2", "--factor", 3, "--of", "values.ssv")
    assert status == 0
    assert out.endswith("mapped System1.m1 to System2.m2 in the binding of resources/values.ssv to the system\n")
    found = {str(signal): each.value for signal, each in library.flatten(dmo).assignments.items()}
    assert found == {"System1.m1": 2.0, "System2.m2": 6.0}


def test_a_dry_run_lists_what_would_break(ssptool, dmo, tmp_path):
    new = fmu(tmp_path, "New", model('output x1 Real unit="m"; input F Real unit="m" start="0"'))
    before = snapshot(dmo)
    status, out, _ = ssptool("replace", dmo, "System1", new, "--dry-run")
    assert status == 1
    assert out.splitlines() == [
        "breaks: System1.F: the connector is in N, the variable in m",
        "breaks: System1.v1: no such variable (connection of System1.v1 and System2.v1)",
        "breaks: System1.a1: no such variable (connection of System1.a1 and System2.a1)",
        "3 of 3 consequences break something",
    ]
    assert ssptool("replace", dmo, "System1", "System1.fmu", "--dry-run")[1] == "nothing breaks or changes\n"
    status, _, err = ssptool("replace", dmo, "System1", new)
    assert status == 1
    assert "breaks 3 things" in err
    assert snapshot(dmo) == before


def test_a_variant_can_be_edited(ssptool, tmp_path):
    path = Path(shutil.copytree(DUAL_MASS, tmp_path / "variants"))
    status, _, _ = ssptool("disconnect", path, "System1", "System2", "--variant", "DualMassOscillatorFMI3")
    assert status == 0
    assert len(library.flatten(path).wires) == 4
    assert library.flatten(path, variant="FMI3.ssd").wires == ()


WRONG = [
    (["connect", "System1.x1", "System2.y"], "no connector of System2 named 'y'"),
    (["connect", "System1.x1", "System2.x1"], "connected already"),
    (["connect", "System1.x1", "System1.v1"], "only one can be the source"),
    (["disconnect", "System1.x1", "System2.v1"], "not connected"),
    (["add", "System3.fmu"], "System3.fmu does not exist"),
    (["add", "System1.fmu"], "already an element 'System1'"),
    (["add", "System1.fmu", "--into", "Sub"], "'Sub'"),
    (["remove", "System3"], "did you mean 'System"),
    (["rename", "System1", "System2"], "already an element"),
    (["set", "System1.m1"], "NAME=VALUE"),
    (["set", "System1.m1=heavy"], "expected a number"),
    (["set", "System1.m1=2", "--unit", "m"], "cannot be converted"),
    (["set", "System1.mm=2"], "did you mean 'System1.m1'"),
    (["bind", "missing.ssv"], "missing.ssv"),
    (["map", "a=b"], "has no binding"),
    (["map", "ab"], "SOURCE=TARGET"),
    (["replace", "System3", "System1.fmu"], "'System3'"),
]


@pytest.mark.parametrize(("edit", "hint"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_what_cannot_be_done_is_explained_and_changes_nothing(ssptool, dmo, edit, hint):
    before = snapshot(dmo)
    verb, *arguments = edit
    status, out, err = ssptool(verb, dmo, *arguments)
    assert status in (1, 2)
    assert hint in out + err
    assert "Traceback" not in out + err
    assert snapshot(dmo) == before


def test_an_edit_that_breaks_the_system_needs_force(ssptool, tmp_path):
    """The type of an output changes, and its connection cannot carry the new one."""
    path = nested(tmp_path / "s")
    new = fmu(tmp_path, "Text", model('output y String start="a"'))
    before = snapshot(path)
    status, out, err = ssptool("replace", path, "A", new)
    assert status == 1
    assert "new error" in err and "was not saved" in err
    status, out, err = ssptool("replace", path, "A", new, "--diff")
    assert (status, out[:4]) == (1, "--- ")
    assert snapshot(path) == before
    assert ssptool("replace", path, "A", new, "--force")[0] == 0
    assert errors(path) != []
