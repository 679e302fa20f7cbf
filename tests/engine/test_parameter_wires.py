"""Connections of parameters: of the system to those of components, and of what FMUs calculate to those of others."""

import re
import zipfile

import pytest
from typer.testing import CliRunner

import ssptool
from ssptool.cli.app import app
from ssptool.engine.failure import Unsupported
from ssptool.errors import WrongValue
from tests.engine.event_mode.systems import simulate, write_system

KINDS = ("input", "output", "parameter", "calculatedParameter", "structuralParameter")
PAIR = {"A": "fmi3/Ratio", "B": "fmi3/Ratio"}
K = '<ssd:Connector name="k" kind="parameter"><ssc:Real/></ssd:Connector>'
SET_K = '<ssv:Parameter name="k"><ssv:Real value="6"/></ssv:Parameter>'
SET_B = '<ssv:Parameter name="{}.b"><ssv:Real value="{}"/></ssv:Parameter>'


@pytest.fixture
def system(engine_models, tmp_path):
    fmus = engine_models.parent
    return lambda components, connections, parameters="", connectors="": write_system(
        tmp_path / "system", fmus, components, connections, parameters, KINDS, connectors
    )


def final(trace, name):
    return float(trace[name][-1])


def test_a_parameter_of_the_system_is_that_of_the_components_it_is_connected_to(system):
    """k = 6: y = 6/1 of A, and 6/4 of B."""
    folder = system(PAIR, [(".k", "A.a"), (".k", "B.a")], SET_K + SET_B.format("B", 4), K)
    trace = simulate(folder, 1.0, 0.5).unwrap()
    assert (final(trace, "A.y"), final(trace, "B.y")) == (6.0, 1.5)


def test_a_parameter_of_the_system_is_overridden_where_it_leads(system):
    folder = system(PAIR, [(".k", "A.a"), (".k", "B.a")], SET_K, K)
    trace = simulate(folder, 1.0, 0.5, {"k": "8"}).unwrap()
    assert (final(trace, "A.y"), final(trace, "B.y")) == (8.0, 8.0)


def test_without_a_value_for_the_system_components_keep_theirs(system):
    trace = simulate(system(PAIR, [(".k", "A.a")], SET_B.format("A", 2), K), 1.0, 0.5).unwrap()
    assert final(trace, "A.y") == 0.5


def test_a_parameter_of_the_system_may_be_a_constant_input(system):
    trace = simulate(system({"A": "fmi3/Ratio"}, [(".k", "A.u")], SET_K, K), 1.0, 0.5).unwrap()
    assert trace["A.u"].tolist() == [6.0] * 3 and trace["A.y"].tolist() == [7.0] * 3


def test_calculated_parameters_go_through_a_chain(system):
    """12/2 = 6 of A, 6/3 = 2 of B, 2/4 = 0.5 of C; declared against their order, with an input at the end."""
    components = {"D": "fmi3/Ratio", "C": "fmi3/Ratio", "B": "fmi3/Ratio", "A": "fmi3/Ratio"}
    given = '<ssv:Parameter name="A.a"><ssv:Real value="12"/></ssv:Parameter>'
    given += "".join(SET_B.format(name, value) for name, value in (("A", 2), ("B", 3), ("C", 4)))
    folder = system(components, [("B.q", "C.a"), ("A.q", "B.a"), ("C.q", "D.u")], given)
    trace = simulate(folder, 1.0, 0.5).unwrap()
    assert [final(trace, f"{name}.y") for name in "ABC"] == [6.0, 2.0, 0.5]
    assert trace["D.u"].tolist() == [0.5] * 3 and final(trace, "D.y") == 1.5


def test_parameters_that_are_calculated_from_each_other_without_end_are_reported(system):
    """a = q/2 … of each other: halved at each pass."""
    folder = system(PAIR, [("A.q", "B.a"), ("B.q", "A.a")], SET_B.format("A", 2) + SET_B.format("B", 2))
    result = simulate(folder, 1.0, 0.5)
    assert result.failure is not None and "calculated from each other do not settle" in result.failure.message
    assert "A.a" in result.failure.message


def test_the_plan_says_what_is_passed_on(system):
    folder = system(PAIR, [("A.q", "B.a")])
    outcome = CliRunner().invoke(app, ["plan", str(folder)])
    assert outcome.exit_code == 0 and "propagate A.q → B.a" in outcome.output


@pytest.mark.parametrize("ending", ["csv", "parquet", "mat"])
def test_a_run_of_the_command_passes_parameters_on(system, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"run.{ending}"
    folder = system(PAIR, [(".k", "A.a"), ("A.q", "B.a")], SET_K + SET_B.format("A", 3) + SET_B.format("B", 4), K)
    arguments = ["run", str(folder), "--stop-time", "1", "--step-size", "0.5", "--output", str(path)]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 0, outcome.output
    trace = ssptool.read_trace(path)
    assert (final(trace, "A.y"), final(trace, "B.y")) == (2.0, 0.5)


def test_what_is_calculated_is_not_told_of_as_a_signal(system):
    out = '<ssd:Connector name="q" kind="calculatedParameter"><ssc:Real/></ssd:Connector>'
    result = simulate(system({"A": "fmi3/Ratio"}, [("A.q", ".q")], connectors=out), 1.0, 0.5)
    assert result.ok and "not recorded, because they are not signals: q" in result.notes


def test_a_parameter_is_no_source_for_a_connection(system):
    with pytest.raises((Unsupported, ssptool.exceptions.InvalidSystem)):
        simulate(system(PAIR, [("A.a", "B.a")]), 1.0, 0.5)


# -- during a run ----------------------------------------------------------------------------------------------


@pytest.fixture
def tunable(system):
    """A chain A.q → B.a, B.q → C.a, C.q → D.u of quotients q = a/b whose parts can be changed during a run, but for
    those of `fixed` components.
    """

    def chain(fixed=(), connections=(("A.q", "B.a"), ("B.q", "C.a"), ("C.q", "D.u"))):
        folder = system(dict.fromkeys("ABCD", "fmi3/Ratio"), connections)
        document = folder / "SystemStructure.ssd"
        text = document.read_text()
        for component in "ABCD":
            variability = "fixed" if component in fixed else "tunable"
            _rewrite(folder / "resources/fmi3-Ratio.fmu", folder / "resources" / f"{component}.fmu", variability)
            text = re.sub(rf'(name="{component}" source="resources/)[^"]*', rf"\g<1>{component}.fmu", text)
        document.write_text(text)
        return folder

    return chain


def _rewrite(source, target, variability):
    """A copy of the FMU whose parameters, and what follows from them, have this variability."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename == "modelDescription.xml":
                content = re.sub(rb'variability="(fixed|tunable)"', f'variability="{variability}"'.encode(), content)
            new.writestr(entry, content)


def test_what_follows_from_a_parameter_that_is_set_is_passed_on(tunable):
    """A.a = 12 and all else 1: 12 everywhere; with A.b = 4 then 3 everywhere; with B.b = 3 then 1 from B on."""
    with ssptool.Simulation(tunable(), settings=ssptool.Settings(stop_time=1.0, step_size=0.25)) as run:
        for name, value, found in (("A.a", 12.0, (12, 12, 12)), ("A.b", 4.0, (3, 3, 3)), ("B.b", 3.0, (3, 1, 1))):
            run.set(name, value)
            assert tuple(run.get(f"{one}.y") for one in "ABC") == found
            run.step()
            assert tuple(run.get(f"{one}.q") for one in "ABC") == found
            assert (run.get("D.u"), run.get("D.y")) == (found[-1], 1 + found[-1])


def override(name, value, time=0.5):
    return ssptool.types.Scenario((ssptool.types.Event(time, name, "override", value),))


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
def test_what_follows_from_an_action_of_a_scenario_is_passed_on(tunable, master):
    settings = ssptool.Settings(stop_time=1.0, step_size=0.25, master=master)
    trace = ssptool.simulate(tunable(), scenario=override("A.a", 12.0), settings=settings).unwrap()
    assert trace.t.tolist() == [0.0, 0.25, 0.5, 0.5, 0.75, 1.0]
    for name in ("A.y", "B.y", "C.y", "D.u"):
        assert trace[name].tolist() == [1.0] * 3 + [12.0] * 3
    assert trace["D.y"].tolist() == [2.0] * 3 + [13.0] * 3


def test_a_parameter_on_which_a_fixed_one_depends_cannot_change(tunable):
    folder = tunable(fixed="C")
    with ssptool.Simulation(folder, settings=ssptool.Settings(stop_time=1.0, step_size=0.5)) as run:
        with pytest.raises(WrongValue, match=r"B\.q may depend .* fixed parameter C\.a, which cannot change"):
            run.set("A.a", 2.0)
        with pytest.raises(WrongValue, match=r"its value comes from A\.q over a connection"):
            run.set("B.a", 2.0)
        run.set("D.a", 5.0)
        assert run.get("D.y") == 6.0
    with pytest.raises(Unsupported, match=r"change of A\.a during a run: B\.q may depend .* fixed parameter C\.a"):
        ssptool.plan(folder, scenario=override("A.a", 2.0))


def test_parameters_that_follow_from_each_other_without_end_end_the_run(tunable):
    """With A.b = 2 each pass halves A.a, which came to rest at 1 before."""
    folder = tunable(connections=[("A.q", "B.a"), ("B.q", "A.a")])
    result = ssptool.simulate(
        folder, scenario=override("A.b", 2.0), settings=ssptool.Settings(stop_time=1.0, step_size=0.25)
    )
    assert result.status == "events without end" and result.failure.time == 0.5
    assert "calculated from each other do not settle" in result.failure.message
