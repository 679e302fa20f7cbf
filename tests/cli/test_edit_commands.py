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
        made.place("System1", 10, 10).place("System2", 90, 10)
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
    status, out, _ = ssptool("new", name, "--ssp", "1.0", "--name", "Made")
    assert (status, out) == (0, f"created {name} (SSP 1.0)\n")
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
    ["place", "System1", "--at", "-10", "5.5", "--size", "40", "60"],
    ["align", "System1", "System2", "--to", "left"],
    ["annotate", "Valid up to 80 °C", "--at", "10", "-30"],
    ["route", "System1.x1", "System2.x1", "--via", "60,30", "--via", "60,10"],
    ["disconnect", "System1", "System2"],
    ["set", "System1.m1=2", "System1.k1=3"],
    ["set", "System1.m1=2", "--into", "values.ssv"],
    ["bind", FMUS / "heavy_flange.ssv"],
    ["bind", FMUS / "heavy_flange.ssv", "--inline"],
    ["replace", "System1", FMUS / "fmi3" / "System1.fmu"],
    ["connect", "System1.x1", "System2.x1", "--factor", "2", "--offset", "-1"],
    ["connect", "System1.x1", "System2.x1", "--no-unit-conversion"],
    ["set", "--stop-time", "20"],
    ["unset", "--stop-time"],
    ["dictionary", "add", "bus"],
    ["duplicate", "System1", "--as", "Spare"],
    ["paste", DUAL_MASS, "System1"],
    ["wrap", "System1", "--as", "Front"],
]


def test_a_line_is_led_between_elements_that_have_places(ssptool):
    """Else the drawing would pass over its points."""
    for line in SESSION.splitlines()[:3]:
        ssptool(*shlex.split(line)[1:])
    status, _, err = ssptool("route", "dmo", "System1.x1", "System2.x1", "--via", "60,30")
    assert status == 2
    assert "System1 and System2 get their places by the drawing; give them some with `ssptool place`" in err


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: " ".join(Path(str(word)).name for word in edit))
@pytest.mark.parametrize("form", ["folder", "zip"])
def test_diff_shows_what_the_command_would_write(ssptool, dmo, tmp_path, edit, form):
    path = dmo
    if form == "zip":
        with library.edit(dmo) as made:
            made.archive.save(path := tmp_path / "packed.ssp")
    verbs = 2 if edit[0] == "dictionary" else 1
    verb, arguments = edit[:verbs], edit[verbs:]
    before = snapshot(tmp_path)
    status, shown, err = ssptool(*verb, path, *arguments, "--diff")
    assert (status, err) == (0, "")
    assert shown.startswith("--- ")
    assert snapshot(tmp_path) == before
    status, out, err = ssptool(*verb, path, *arguments)
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


INVERSES = [
    (["set", "System1.m1=2"], ["unset", "System1.m1"]),
    (["bind", FMUS / "heavy_flange.ssv"], ["unbind", "heavy_flange.ssv", "--with-resource"]),
    (
        ["connect", "System1.x1", "System2.x1", "--factor", 2],
        ["connect", "System1.x1", "System2.x1", "--no-transformation"],
    ),
    (["dictionary", "add", "bus"], ["dictionary", "remove", "bus"]),
    (["add", "System1.fmu", "--name", "Third"], ["remove", "Third"]),
    (["set", "--stop-time", 20], ["set", "--stop-time", 10]),
    (["rename", "System1", "Mass"], ["rename", "Mass", "System1"]),
    (["duplicate", "System1"], ["remove", "System3"]),
    (["wrap", "System1", "--as", "Front"], ["unwrap", "Front"]),
    (["wrap", "System1", "System2", "--as", "All"], ["unwrap", "All"]),
]


@pytest.mark.parametrize(
    ("edit", "inverse"), INVERSES, ids=lambda edit: " ".join(Path(str(word)).name for word in edit)
)
def test_the_inverse_of_an_edit_gives_the_bytes_back(ssptool, dmo, edit, inverse):
    before = snapshot(dmo)
    for words in (edit, inverse):
        verbs = 2 if words[0] == "dictionary" else 1
        status, _, err = ssptool(*words[:verbs], dmo, *words[verbs:])
        assert (status, err) == (0, "")
        assert (snapshot(dmo) == before) is (words is inverse)


def test_a_dictionary_is_made_filled_and_connected(ssptool, dmo):
    for line in (
        "disconnect dmo System1.v1 System2.v1",
        "dictionary add dmo bus",
        "dictionary signal dmo bus speed --unit m/s",
        "dictionary refer dmo bus Bus",
        "connect dmo System1.v1 Bus.speed",
        "connect dmo Bus.speed System2.v1",
    ):
        status, _, err = ssptool(*line.split())
        assert (status, err) == (0, ""), line
    assert errors(dmo) == []
    wires = {str(wire.destination): str(wire.source) for wire in library.flatten(dmo).wires}
    assert wires["System2.v1"] == "System1.v1"
    status, out, _ = ssptool("dictionary", "remove", dmo, "bus")
    assert (status, out) == (2, "")


def test_maps_are_taken_back_entry_by_entry_or_as_a_whole(ssptool, dmo):
    assert ssptool("set", dmo, "System1.m1=2", "--into", "values.ssv")[0] == 0
    before = snapshot(dmo)
    for inverse in (["System1.m1=System2.m2"], ["--all"]):
        assert ssptool("map", dmo, "System1.m1=System2.m2")[0] == 0
        assert ssptool("unmap", dmo, *inverse)[0] == 0
        assert snapshot(dmo) == before
    assert ssptool("unmap", dmo)[0] == 2
    assert ssptool("unmap", dmo, "--all", "a=b")[0] == 2


def test_a_nested_structure_is_edited_by_names_with_dots(ssptool, tmp_path):
    """`first` and `second` are made of one document."""
    path = Path(shutil.copytree(DUAL_MASS.with_name("mass_spring_damper"), tmp_path / "masses"))
    edit = ("disconnect", path, "first.mass", "first.spring_damper")
    status, _, err = ssptool(*edit)
    assert status == 2
    assert "resources/MassSpringDamper.ssd is the structure of first, second" in err
    assert "use --shared all" in err
    status, out, _ = ssptool(*edit, "--shared", "copy", "--diff")
    assert status == 0
    assert '+      <ssd:Component name="first"' in out
    status, out, _ = ssptool(*edit, "--shared", "copy")
    assert status == 0
    assert out.splitlines()[0] == "first has a copy of its own now, resources/MassSpringDamper_2.ssd"
    assert errors(path) == []
    status, out, _ = ssptool("set", path, "second.mass.m=3")
    assert out == "set second.mass.m = 3 kg in resources/overdamped.ssv, which Chain.ssd uses as well\n"


EXPLAINED = (
    "add",
    "copy",
    "duplicate",
    "move",
    "paste",
    "unwrap",
    "wrap",
    "align",
    "bind",
    "connect",
    "disconnect",
    "map",
    "place",
    "rename",
    "remove",
    "replace",
    "route",
    "set",
    "unbind",
    "unmap",
    "unset",
)


@pytest.mark.parametrize("verb", EXPLAINED)
def test_a_page_of_help_has_an_example(ssptool, verb):
    status, out, _ = ssptool(verb, "--help")
    assert status == 0
    assert f"Examples: ssptool {verb} " in " ".join(out.split())


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
    (["connect", "System1.x1", "System2.y"], "System2 has no connector 'y'"),
    (["connect", "System1.x1", "System2.x1"], "connected already"),
    (["connect", "System1.x1", "System1.v1"], "only one can be the source"),
    (["disconnect", "System1.x1", "System2.v1"], "not connected"),
    (["add", "System3.fmu"], "System3.fmu does not exist"),
    (["add", "System1.fmu", "--name", "System1"], "already an element 'System1'"),
    (["add", "System1.fmu", "--into", "Sub"], "'Sub'"),
    (["remove", "System3"], "did you mean System"),
    (["rename", "System1", "System2"], "already an element"),
    (["place", "System3", "--at", "1", "2"], "did you mean System"),
    (["place", "System1", "--at", "1", "2", "--size", "0", "5"], "a size above 0"),
    (["align", "System1", "System2", "--to", "lef"], "left, right, top"),
    (["align", "System1", "--to", "left"], "two elements"),
    (["route", "System1.x1", "System2.v1", "--via", "1,2"], "not connected"),
    (["route", "System1", "System2", "--via", "1,2"], "name the two connectors"),
    (["route", "System1.x1", "System2.x1", "--via", "1;2"], "two numbers such as"),
    (["align", "System1", "System2", "--to", "across"], "three elements"),
    (["set", "System1.m1"], "NAME=VALUE"),
    (["set", "System1.m1=heavy"], "expected a number"),
    (["set", "System1.m1=2", "--unit", "m"], "cannot be converted"),
    (["set", "System1.mm=2"], "did you mean System1.m1"),
    (["bind", "missing.ssv"], "missing.ssv"),
    (["map", "a=b"], "has no binding"),
    (["map", "ab"], "SOURCE=TARGET"),
    (["connect", "System1.x1", "System2.x1", "--map", "1"], "FROM=TO"),
    (["connect", "System1.x1", "System2.x1", "--map", "1=2", "--map", "1=3"], "mapped twice"),
    (["connect", "System1.x1", "System2.x1", "--map", "1=2"], "tables are for"),
    (["connect", "System1.x1", "System2.x1", "--no-transformation"], "has no transformation"),
    (["connect", "System1", "System2", "--factor", "2"], "name two connectors"),
    (["set"], "give values to set"),
    (["set", "--stop-time", "-1"], "greater than the start time 0"),
    (["unset"], "give names"),
    (["unset", "System1.m1"], "nothing to unset; its value is 1 kg, the start value in the FMU"),
    (["unset", "System1.mm"], "did you mean System1.m1"),
    (["unset", "--start-time", "--force", "System1.x2"], "did you mean"),
    (["unbind", "v.ssv"], "it has none at all"),
    (["unbind", "v.ssv", "--number", "0"], "--number"),
    (["unmap", "a=b"], "has no binding"),
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


def test_a_table_of_parameters_is_written_changed_and_read_back(ssptool, dmo, tmp_path):
    status, out, err = ssptool("parameters", "dmo", "-o", "t.csv")
    assert (status, err) == (0, "")
    table = tmp_path / "t.csv"
    before = snapshot(dmo)
    status, out, err = ssptool("set", "dmo", "--from", "t.csv")
    assert (status, err, snapshot(dmo)) == (0, "", before)
    unchanged = table.read_text()
    table.write_text(unchanged.replace("System1.m1,Float64,kg,1,", "System1.m1,Float64,g,2500,"))
    status, out, err = ssptool("set", "dmo", "--from", "t.csv", "--diff")
    assert out.startswith("System1.m1: 1 kg → 2500 g  (t.csv:") and "\n+" in out
    assert snapshot(dmo) == before
    assert ssptool("set", "dmo", "--from", "t.csv")[0] == 0
    assert library.parameters(dmo)["System1.m1"].value == 2.5
    table.write_text(unchanged.replace("System1.m1,Float64,kg,1,", "System1.m1,Float64,kg,-1,"))
    assert ssptool("set", "dmo", "--from", "t.csv", "--unit", "g")[0] == 2


def test_the_printed_table_of_parameters_fits_a_terminal(ssptool, dmo):
    status, out, err = ssptool("parameters", "dmo")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert [line.split()[0] for line in out.splitlines()[1:]] == list(library.parameters(dmo))


@pytest.mark.parametrize(
    "edit", [["set", "m1=2"], ["set", "A.m1=2"], ["unset", "m1"], ["rename", "x1", "y"], ["remove", "x1"]]
)
def test_an_fmu_is_not_edited(ssptool, tmp_path, edit):
    shutil.copy(DUAL_MASS / "resources" / "System1.fmu", tmp_path / "A.fmu")
    command, *words = edit
    status, _, err = ssptool(command, "A.fmu", *words)
    assert (status, "`ssptool convert A.fmu A.ssp`" in err) == (2, True)
