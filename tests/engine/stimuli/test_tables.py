"""Components that are tables (`text/csv`): a mass under the force of a table, and closed forms of its motion."""

import shutil
import zipfile

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool.documents.archive import Archive
from ssptool.errors import WrongValue
from ssptool.rules.used_files import system_files, used_entries
from tests.engine.stimuli.pushed_mass import MASS, ramp, step, write_pushed_mass

RAMP = "time,F,gear,word\n0,0,1,a\n0.35,1.05,2,b\n1,3,3,c\n"  # F = 3 t
SLOPE = 3.0
CONNECTORS = (
    '<ssd:Connector name="F" kind="output"><ssc:Real unit="N"/></ssd:Connector>'
    '<ssd:Connector name="gear" kind="output"><ssc:Integer/></ssd:Connector>'
    '<ssd:Connector name="word" kind="output"><ssc:String/></ssd:Connector>'
)


@pytest.fixture
def tabled(models, tmp_path):
    """Write the system with a table of this content beside the mass."""

    def write(text=RAMP, type=' type="text/csv"', transformation="", connectors=CONNECTORS, stop=1.0):
        shutil.rmtree(tmp_path / "tabled", ignore_errors=True)
        folder = write_pushed_mass(tmp_path / "tabled", models, outer=False, stop=stop)
        (folder / "resources" / "force.csv").write_text(text)
        component = (
            f'<ssd:Component name="Push"{type} source="resources/force.csv"><ssd:Connectors>{connectors}'
            "</ssd:Connectors></ssd:Component></ssd:Elements><ssd:Connections>"
            '<ssd:Connection startElement="Push" startConnector="F" endElement="Mass" endConnector="F">'
            f"{transformation}</ssd:Connection></ssd:Connections>"
        )
        path = folder / "SystemStructure.ssd"
        path.write_text(path.read_text().replace("</ssd:Elements>", component))
        return folder

    return write


@pytest.mark.parametrize("implementation", ["cs", "me"])
def test_a_mass_under_a_table_moves_as_the_closed_form(tabled, implementation):
    settings = {"step_size": 0.1, "implementation": implementation, "tolerance": 1e-9}
    result = ssptool.simulate(tabled(), **settings).unwrap()
    z, v = ramp(result.t, SLOPE)
    assert result["Push.F"] == approx(SLOPE * result.t, abs=1e-15)
    assert result["Mass.v"] == approx(v, abs=1e-8)
    if implementation == "me":
        assert result["Mass.z"] == approx(z, abs=1e-8)


def test_the_position_converges_with_the_second_order_of_the_fmu(tabled):
    path, errors = tabled(), []
    for h in (0.1, 0.05):
        result = ssptool.simulate(path, step_size=h).unwrap()
        errors.append(abs(result["Mass.z"][-1] - ramp(1.0, SLOPE)[0]))
    assert errors[1] <= errors[0] / 3.5 or errors[0] < 1e-9


def test_between_rows_all_but_real_numbers_is_held(tabled):
    result = ssptool.simulate(tabled(), step_size=0.05).unwrap()
    jumps = np.flatnonzero(np.diff(result.t) == 0)
    assert result.t[jumps] == approx([0.35, 1.0])
    gear, word = (list(result[name]) for name in ("Push.gear", "Push.word"))
    assert gear == [1] * (jumps[0] + 1) + [2] * (jumps[1] - jumps[0]) + [3]
    assert word == [{1: "a", 2: "b", 3: "c"}[one] for one in gear]


@pytest.mark.parametrize("type", ["", ' type="application/table"', ' type="text/csv; header=present"'])
def test_older_files_and_files_without_a_type_run_as_well(tabled, type):
    assert ssptool.simulate(tabled(type=type), step_size=0.1).unwrap()["Mass.v"][-1] == approx(SLOPE / 2 / MASS)


def test_units_and_transformations_of_the_connection_apply(tabled):
    """The table gives t in N, written in kN; the connection triples it."""
    path = tabled(
        "time,F [kN],gear,word\n0,0,1,a\n1,0.001,1,a\n", transformation='<ssc:LinearTransformation factor="3"/>'
    )
    result = ssptool.simulate(path, step_size=0.1).unwrap()
    assert result["Push.F"] == approx(result.t / 1000)
    assert result["Mass.F"] == approx(3 * result.t)
    assert result["Mass.v"] == approx(ramp(result.t, 3.0)[1])


def test_two_rows_at_one_time_are_a_jump(tabled):
    path = tabled("time,F,gear,word\n0,0,1,a\n0.43,0,1,a\n0.43,2,1,a\n1,2,1,a\n")
    result = ssptool.simulate(path, step_size=0.1).unwrap()
    z, v = step(result.t, 0.43, 2.0)
    assert result["Mass.v"] == approx(v, abs=1e-12)
    assert result["Mass.z"] == approx(z, abs=1e-8)


def test_outside_of_its_rows_a_table_keeps_the_nearest_values_and_the_run_says_so(tabled):
    result = ssptool.simulate(tabled("time,F,gear,word\n0.2,1,1,a\n0.4,3,2,b\n"), step_size=0.1)
    assert result["Push.F"][0] == 1.0 and result["Push.F"][-1] == 3.0
    (note,) = [note for note in result.notes if note.startswith("Push:")]
    assert "rows from 0.2 s to 0.4 s" in note and "until 0.2 s" in note and "from 0.4 s on" in note
    inside = ssptool.simulate(tabled(RAMP), step_size=0.1)
    assert not [note for note in inside.notes if note.startswith("Push:")]


def test_packed_in_a_package_and_inside_another_it_is_the_same(tabled, tmp_path):
    folder = tabled()
    ssptool.pack(folder, tmp_path / "one.ssp")
    with zipfile.ZipFile(tmp_path / "one.ssp") as package:
        assert "resources/force.csv" in package.namelist()
    outer = tmp_path / "outer"
    (outer / "resources").mkdir(parents=True)
    shutil.copy(tmp_path / "one.ssp", outer / "resources")
    (outer / "SystemStructure.ssd").write_text(
        (folder / "SystemStructure.ssd").read_text().partition("<ssd:System ")[0]
        + '<ssd:System name="outer"><ssd:Elements><ssd:Component name="Sub" type="application/x-ssp-package" '
        'source="resources/one.ssp"/></ssd:Elements></ssd:System><ssd:DefaultExperiment startTime="0" stopTime="1"/>'
        "</ssd:SystemStructureDescription>"
    )
    here, packed, inner = (
        ssptool.simulate(path, step_size=0.1).unwrap() for path in (folder, tmp_path / "one.ssp", outer)
    )
    assert (packed["Mass.v"] == here["Mass.v"]).all()
    assert (inner["Sub.Mass.v"] == here["Mass.v"]).all()
    assert (inner["Sub.Push.F"] == here["Push.F"]).all()


def test_steps_can_be_done_one_by_one_and_repeated(tabled, tmp_path):
    with ssptool.Simulation(tabled(), step_size=0.1) as simulation:
        simulation.step(3)
        assert simulation.get("Push.F") == approx(0.9)
        assert simulation.get("Mass.v") == approx(ramp(0.3, SLOPE)[1])
        with pytest.raises(WrongValue, match="it is driven"):
            simulation.set("Push.F", 1.0)


def test_a_scenario_acts_on_a_table_and_other_inputs_replace_one(tabled):
    path = tabled()
    scenario = ssptool.types.Scenario((ssptool.types.Event(0.5, "Push.F", "override", 0.0),))
    stopped = ssptool.simulate(path, step_size=0.1, scenario=scenario).unwrap()
    assert stopped["Mass.v"][-1] == approx(ramp(0.5, SLOPE)[1])
    replaced = ssptool.simulate(path, step_size=0.1, inputs={"Push.F": 2.0}).unwrap()
    assert replaced["Mass.v"] == approx(replaced.t * 2.0 / MASS)
    assert replaced["Push.gear"][-1] == 3


def test_outputs_are_recorded_like_those_of_other_components(tabled):
    result = ssptool.simulate(tabled(), step_size=0.1, record="Push.*").unwrap()
    assert [str(column.signal) for column in result.columns] == ["Push.F", "Push.gear", "Push.word"]


def test_what_is_wrong_is_told_by_line_and_can_be_left_out(tabled):
    path = tabled(RAMP.replace("2,b", "2.5,b"))
    (error,) = ssptool.validate(path).errors
    assert (error.code, error.position.file, error.position.line) == ("TABLE-104", "resources/force.csv", 3)
    with pytest.raises(ssptool.exceptions.InvalidSystem):
        ssptool.simulate(path)
    result = ssptool.simulate(path, step_size=0.1, accept="TABLE-104").unwrap()
    assert result["Mass.v"][-1] == approx(SLOPE / 2 / MASS)
    assert "Push.gear" not in [str(column.signal) for column in result.columns]


def test_info_graph_explain_and_plan_say_that_it_is_a_table(tabled):
    path = tabled()
    entry = next(one for one in ssptool.info(path).components if one.name == "Push")
    assert (entry.source, entry.outputs, entry.model) == ("resources/force.csv", 3, "table, 3 rows from 0 s to 1 s")
    assert [one.name for one in ssptool.info(path, component="Push").variables] == ["Push.F", "Push.gear", "Push.word"]
    (explained,) = ssptool.explain(path, "Push.F")
    assert (explained.origin, explained.kind) == ("table", "output")
    assert ssptool.plan(path).notes == ssptool.plan(path, step_size=0.1).notes
    assert "Push" in ssptool.graph(path).network.tables
    assert [wire.destination.component for wire in ssptool.graph(path).network.wires] == ["Mass"]


def test_a_study_of_a_lone_structure_takes_its_table_along(tabled, tmp_path):
    """The impulse of the table is 1.5 N·s, and v = 1.5/m at the end."""
    folder = tabled()
    (tmp_path / "masses.toml").write_text(
        f'system = "{folder / "SystemStructure.ssd"}"\n[settings]\nstep_size = 0.1\n[factors]\n"Mass.m" = [1.0, 3.0]\n'
        "[results]\nspeed = 'final(\"Mass.v\")'\n"
    )
    study = ssptool.studies.read_study(tmp_path / "masses.toml")
    with Archive.open(study.system) as archive:
        used = used_entries(archive, study.system, None)
        assert "resources/force.csv" in used & dict(system_files(archive, study.system, used)).keys()
    done = ssptool.study(study, tmp_path / "out", workers=1)
    assert [row["speed"] for row in done.rows()] == approx([1.5, 0.5])
