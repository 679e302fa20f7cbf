"""Scenarios: files, and what they do to systems whose solutions are known."""

import json

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import ssptool
from ssptool.engine.stimuli.json_nodes import compose_json
from ssptool.engine.stimuli.scenario_file import read_scenario
from tests.engine.dual_mass import Folder
from tests.engine.running import run
from tests.engine.stimuli.pushed_mass import MASS, step
from tests.engine.systems import state_implementation

SETTINGS = ssptool.Settings(step_size=0.1)
MASTERS = [{"master": master} for master in ("jacobi", "gauss-seidel", "iterated")]
WAYS = [*MASTERS, {"adaptive": 1e-4}, {"implementation": "me", "tolerance": 1e-9}]


def scenario(*events, end=None):
    found = (ssptool.types.Event(time, name, what, *value) for time, name, what, *value in events)
    return ssptool.types.Scenario(tuple(found), end)


def simulated(system, acting, start_values=None, **settings):
    settings = ssptool.Settings(**{"step_size": 0.1, **settings})
    return ssptool.simulate(system, scenario=acting, settings=settings, start_values=start_values or {}).unwrap()


def at(trace, signal, t, side=-1):
    """The value at a time, after (-1) or before (0) what happens then."""
    return trace[signal][np.flatnonzero(np.isclose(trace.t, t, rtol=0, atol=1e-9))[side]]


# -- files ---------------------------------------------------------------------------------------------------

FILE = """\
description: pushed twice
defaults:
  model: Mass
  action: override
events:
  - time: 0.2
    variable: F
    value: 4e0
  - {time: 0.35, variable: F, action: bias, value: -1}
  - {time: 0.5, variable: F, action: reset}
end: 0.9
"""


def test_a_file_of_libcosim_is_read_with_its_defaults(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(FILE)
    found = read_scenario(path)
    assert [(e.time, e.variable, e.action, e.value, e.line) for e in found.events] == [
        (0.2, "Mass.F", "override", 4.0, 6),
        (0.35, "Mass.F", "bias", -1, 9),
        (0.5, "Mass.F", "reset", None, 10),
    ]
    assert found.end == 0.9


JSON = """{
\t"description": "a \\"quoted\\" \\ud83d\\ude00 text\\t\\/",
\t"defaults":\t{"model": "Mass", "action": "bias"},
\t"events": [
\t\t{"time": 2e-1, "variable": "F", "value": -1.5E+1},
\t\t{"time": 1, "model": "", "variable": "%s", "action": "override", "value": true}
\t],
\t"end": 9
}
"""


def test_json_may_have_tabs_and_pairs_of_surrogates(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(JSON % ("\\ud83d\\ude00" + "x" * 2000))
    first, second = read_scenario(path).events
    assert (first.time, first.variable, first.action, first.value, first.line) == (0.2, "Mass.F", "bias", -15.0, 5)
    assert (second.time, second.variable, second.value, second.line) == (1.0, "\U0001f600" + "x" * 2000, True, 6)
    assert read_scenario(path).end == 9.0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    ),
    st.sampled_from([None, 1, "\t"]),
)
def test_nodes_of_json_have_the_content_and_the_places_of_the_text(content, indent):
    text = json.dumps(content, indent=indent)
    root = compose_json(text)
    assert _content(root) == content
    assert text[root.start_mark.index : root.end_mark.index] == text
    for node in _all(root):
        line, column = node.start_mark.line, node.start_mark.column
        written = text[node.start_mark.index : node.end_mark.index]
        assert text.split("\n")[line][column:].startswith(written.split("\n")[0])
        assert json.loads(written) == _content(node)


def _all(node):
    yield node
    for value in node.value if isinstance(node, yaml.CollectionNode) else ():
        for one in value if isinstance(value, tuple) else (value,):
            yield from _all(one)


def _content(node):
    if isinstance(node, yaml.MappingNode):
        return {key.value: _content(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return list(map(_content, node.value))
    return node.value if node.style else json.loads(node.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n\t"events": [\n\t\t{"time": 1, "variable" "u"}\n\t]\n}', "s.json:3: it is not valid JSON: column 26"),
        ('{\n\t"events": [', "s.json:2: it is not valid JSON"),
        ('{\n\t"events": [{"time": NaN}]\n}', "s.json:2: it is not valid JSON: column 22: JSON has no NaN"),
        ('{"events": ' + "[" * 3000, "s.json:1: it is not valid JSON"),
        ('{\n\t"events": [\n\t\t{"time": "soon"}]}', "s.json:3: variable: it is missing"),
        ('{\n\t"events": [{"time": ' + "9" * 5000 + ', "variable": "u", "action": "reset"}]}', "s.json:2: time: "),
    ],
)
def test_json_that_cannot_be_used_says_where_and_why(tmp_path, text, message):
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(ssptool.exceptions.BadData) as caught:
        read_scenario(path)
    assert message in str(caught.value)


def test_json_is_read_as_well(tmp_path):
    path = tmp_path / "s.json"
    path.write_text('{"events": [{"time": 1, "model": "A", "variable": "u", "action": "override", "value": true}]}')
    (event,) = read_scenario(path).events
    assert (event.variable, event.value) == ("A.u", True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "s.yaml:1: it is empty"),
        ("- 1", "s.yaml:1: a scenario must be a mapping"),
        ("events: 3", "s.yaml:1: events: a list is expected"),
        ("description: x", "s.yaml:1: events: there are none"),
        ("events: [", "s.yaml:1: it is not YAML"),
        ("[" * 3000, "s.yaml:1: it is nested deeper than the limit of 100 levels"),
        ("events: []\nloop: true", "s.yaml:2: loop: a scenario has no such key; not supported"),
        ("events:\n- {time: 1, variable: u, action: set, value: 1}", "s.yaml:2: action: found 'set', expected one of"),
        ("events:\n- {time: 1, action: reset}", "s.yaml:2: variable: it is missing"),
        ("events:\n- {variable: u, action: reset}", "s.yaml:2: time: it is missing"),
        ("events:\n- {time: soon, variable: u, action: reset}", "s.yaml:2: time: found 'soon'"),
        ("events:\n- {time: -1, variable: u, action: reset}", "s.yaml:2: time: found -1"),
        ("events:\n- {time: .nan, variable: u, action: reset}", "s.yaml:2: time: found nan"),
        ("events:\n- {time: 1, variable: u, action: bias}", "s.yaml:2: value: it is missing; bias needs one"),
        ("events:\n- {time: 1, variable: u, action: bias, value: [1]}", "s.yaml:2: value: a number, true, false or a"),
        ("events:\n- {time: 1, time: 2, variable: u, action: reset}", "s.yaml:2: time: it is there twice"),
        ("events:\n- {time: 3, variable: u, action: reset}\nend: 2", "s.yaml:3: end: it is at 2 s, before the last"),
        ("events:\n- !!python/object:os.system {}", "s.yaml:2: time: it is missing"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_why(tmp_path, text, message):
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(ssptool.exceptions.BadData) as caught:
        read_scenario(path)
    assert message in str(caught.value)


def test_all_that_a_system_cannot_do_is_told_with_file_and_line(pushed2, tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(
        "events:\n"
        "- {time: 1, model: Mass, variable: F, action: override, value: fast}\n"
        "- {time: 1, model: Mass, variable: x, action: override, value: 1}\n"
        "- {time: 1, model: Mass, variable: v, action: override, value: 1}\n"
        "- {time: 1, model: Mass, variable: der(v), action: override, value: 1}\n"
    )
    with pytest.raises(ssptool.exceptions.BadData) as caught:
        ssptool.simulate(pushed2, scenario=path)
    assert [(finding.line, finding.column) for finding in caught.value.findings] == [
        (2, "Mass.F"),
        (3, "Mass.x"),
        (4, "Mass.v"),
        (5, "Mass.der(v)"),
    ]
    found, unknown, unseen, computed = (finding.message for finding in caught.value.findings)
    assert found == "found 'fast', expected a number"
    assert unknown.startswith("the system has no such variable")
    assert unseen == "nothing is connected to this output, so nothing would change"
    assert "continuous local" in computed


# -- inputs that nothing drives ------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", WAYS, ids=str)
@pytest.mark.parametrize("name", ["push", "Mass.F"])
def test_an_override_takes_effect_when_it_happens_and_ends_when_it_is_reset(pushed, name, settings):
    """Connected or not, an input between communication points: the mass gets the momentum 4 N · 0.3 s."""
    acting = scenario((0.35, name, "override", 4.0), (0.65, name, "reset"))
    trace = simulated(pushed, acting, **settings)
    v = step(trace.t, 0.35, 4.0)[1] - step(trace.t, 0.65, 4.0)[1]
    assert trace["Mass.v"] == approx(v, abs=1e-7 if "implementation" in settings else 1e-12)
    assert (at(trace, "Mass.F", 0.35, 0), at(trace, "Mass.F", 0.35), at(trace, "Mass.F", 0.65)) == (0.0, 4.0, 0.0)


@pytest.mark.parametrize("name", ["push", "Mass.F"])
def test_a_bias_is_added_to_what_drives_the_input(pushed2, name):
    acting = scenario((0.5, name, "bias", 2.0))
    trace = ssptool.simulate(pushed2, inputs={"push": lambda t: 3 * t}, scenario=acting, settings=SETTINGS).unwrap()
    assert (at(trace, "Mass.F", 0.5, 0), at(trace, "Mass.F", 0.5), at(trace, "Mass.F", 1.0)) == approx((1.5, 3.5, 5.0))


def test_what_happens_at_the_start_is_there_in_the_first_row(pushed2):
    for name in ("push", "Mass.F"):
        trace = simulated(pushed2, scenario((0.0, name, "override", 4.0)))
        assert trace["Mass.F"][0] == 4.0
        assert trace["Mass.v"] == approx(4.0 * trace.t / MASS, abs=1e-12)


def test_at_its_end_a_scenario_leaves_everything_as_it_was(pushed2):
    trace = simulated(pushed2, scenario((0.2, "push", "override", 4.0), end=0.7))
    assert trace["Mass.v"][-1] == approx(4.0 * 0.5 / MASS, abs=1e-12)


def test_times_count_from_the_start_of_the_run(pushed2):
    trace = simulated(pushed2, scenario((0.5, "push", "override", 4.0)), start_time=10.0, stop_time=11.0)
    assert trace["Mass.v"][-1] == approx(4.0 * 0.5 / MASS, abs=1e-12)


# -- connections and parameters ------------------------------------------------------------------------------


@pytest.fixture
def chain(system):
    """Two affine functions in a row push a mass: F = a2 (a1 u + c1) + c2, a number without unit."""
    folder = system({"A": "Affine", "B": "Affine", "M": "Mass"}, [("A.y", "B.u"), ("B.y", "M.F")])
    ssd = folder / "SystemStructure.ssd"
    ssd.write_text(ssd.read_text().replace('endElement="M"', 'suppressUnitConversion="true" endElement="M"'))
    return folder


@pytest.mark.parametrize("settings", WAYS, ids=str)
def test_consumers_see_an_output_as_the_scenario_has_it(chain, settings):
    """B = 3 u + 1 feeds through at once; the output itself stays what its FMU says."""
    start_values = {"A.c": "2", "B.a": "3", "B.c": "1"}
    acting = scenario((0.35, "A.y", "bias", 0.5), (0.65, "A.y", "override", 7.0), (0.8, "A.y", "reset"))
    trace = simulated(chain, acting, start_values, **settings)
    assert trace["A.y"] == approx(2.0)
    assert [at(trace, "B.u", t) for t in (0.0, 0.35, 0.65, 0.8)] == approx([2.0, 2.5, 7.0, 2.0])
    assert [at(trace, "M.F", t) for t in (0.0, 0.35, 0.65, 0.8)] == approx([7.0, 8.5, 22.0, 7.0])
    momentum = 7.0 * 0.35 + 8.5 * 0.3 + 22.0 * 0.15 + 7.0 * 0.2
    assert trace["M.v"][-1] == approx(momentum / 0.03575, rel=1e-6 if "implementation" in settings else 1e-11)


def test_what_happens_to_an_output_and_to_the_input_behind_it_adds_up(chain):
    acting = scenario((0.1, "A.y", "bias", 1.0), (0.2, "B.u", "bias", 10.0), (0.3, "A.y", "reset"))
    trace = simulated(chain, acting, {"A.c": "2"})
    assert [at(trace, "B.u", t) for t in (0.0, 0.1, 0.2, 0.3)] == approx([2.0, 3.0, 13.0, 12.0])


@pytest.mark.parametrize(("name", "force"), [("B.u", 4.0), ("A.y", 4.0), ("M.F", 1.0)])
def test_wires_inside_and_at_the_edge_of_an_ode_beside_co_simulation_are_acted_on(chain, name, force):
    """A and B are integrated, with B = 3 u + 1; M, a component of co-simulation, is pushed from 0.35 s to 0.65 s."""
    state_implementation(chain, "A", "B")
    acting = scenario((0.35, name, "override", 1.0), (0.65, name, "reset"))
    trace = simulated(chain, acting, {"B.a": "3", "B.c": "1"}, tolerance=1e-9)
    momentum = 0.35 * 1.0 + 0.3 * force + 0.35 * 1.0
    assert at(trace, "M.F", 0.35) == approx(force)
    assert at(trace, "M.F", 0.65) == approx(1.0)
    assert trace["M.v"][-1] == approx(momentum / 0.03575)


def test_a_loop_is_solved_with_what_the_scenario_makes_of_it(system):
    """y = u/2 + 1 of A and y/2 of B: with u = y/2 it is 4/3, with u = y/2 + 1 it is 2, with u = 6 it is 4."""
    folder = system({"A": "Affine", "B": "Affine"}, [("A.y", "B.u"), ("B.y", "A.u")])
    start_values = {"A.a": "0.5", "A.c": "1", "B.a": "0.5"}
    acting = scenario((0.35, "A.u", "bias", 1.0), (0.65, "A.u", "override", 6.0), (0.85, "A.u", "reset"))
    plan = ssptool.plan(folder, scenario=acting, settings=SETTINGS, start_values=start_values)
    trace = run(plan, Folder(folder)).unwrap()
    assert [at(trace, "A.y", t) for t in (0.0, 0.35, 0.65, 0.85)] == approx([4 / 3, 2.0, 4.0, 4 / 3], abs=1e-10)
    assert at(trace, "B.y", 0.65) == approx(2.0)


@pytest.mark.parametrize("settings", WAYS, ids=str)
def test_a_tunable_parameter_is_changed_and_given_back(pushed2, settings):
    """Twice as heavy from 0.35 s to 0.65 s."""
    acting = scenario((0.35, "Mass.m", "override", 2 * MASS), (0.65, "Mass.m", "reset"))
    settings = ssptool.Settings(step_size=0.1, **settings)
    trace = ssptool.simulate(pushed2, inputs={"push": 4.0}, scenario=acting, settings=settings).unwrap()
    assert trace["Mass.v"][-1] == approx(4.0 / MASS * (0.7 + 0.3 / 2), rel=1e-7)


def test_a_parameter_that_is_changed_at_the_start_is_initialized_so(chain):
    trace = simulated(chain, scenario((0.0, "A.c", "bias", 3.0), (0.5, "A.c", "reset")), {"A.c": "2"})
    assert trace["A.y"][0] == 5.0
    assert (at(trace, "A.y", 0.5, 0), at(trace, "A.y", 0.5)) == (5.0, 2.0)


def test_a_text_cannot_be_biased_nor_an_output_of_the_system_be_changed(pushed2):
    for event, message in (
        ((0.1, "push", "bias", "x"), "expected a number"),
        ((0.1, "nothing", "reset"), "no such variable"),
    ):
        with pytest.raises(ssptool.exceptions.BadData, match=message):
            simulated(pushed2, scenario(event))


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ((0.0, "u", "set", 1.0), "action must be one of override, bias, reset; found 'set'"),
        ((-1.0, "u", "reset"), "found -1.0 s"),
        ((float("nan"), "u", "reset"), "found nan s"),
        ((0.0, "u", "bias"), "bias of u needs a value"),
    ],
)
def test_events_that_cannot_be_are_refused_when_they_are_made(facts, message):
    with pytest.raises(ValueError, match=message):
        ssptool.types.Event(*facts)


def test_the_plan_and_the_manifest_name_the_events(pushed2, tmp_path):
    path, output = tmp_path / "s.yaml", tmp_path / "out.csv"
    path.write_text(FILE)
    *_, last = ssptool.renderers.input_origins(ssptool.plan(pushed2, scenario=path))
    assert last == "scenario, t = 0.9 s: reset all"
    ssptool.simulate(pushed2, scenario=path, output=output).unwrap()
    manifest = ssptool.read_manifest(output)
    assert manifest["stimuli"]["scenario"][0] == "t = 0.2 s: override Mass.F with 4.0"
    assert str(path) in {one["name"] for one in manifest["inputs"] if one["sha256"]}


def test_inputs_and_events_are_overrides_with_the_value_before(pushed2, tmp_path):
    path, table, output = tmp_path / "s.yaml", tmp_path / "u.csv", tmp_path / "out.csv"
    path.write_text(FILE)
    ssptool.simulate(pushed2, scenario=path, output=output, accept=["SSD"]).unwrap()
    manifest = ssptool.read_manifest(output)
    (first, *_) = manifest["overrides"]
    assert (first["kind"], first["name"], first["after"], first["time"]) == ("scenario", "Mass.F", 4.0, 0.2)
    assert manifest["arguments"]["scenario"] == str(path)
    assert manifest["arguments"]["accept"] == ["SSD"]
    table.write_text("time,push\n0,1\n1,2\n")
    ssptool.simulate(pushed2, inputs=str(table), output=output).unwrap()
    (driven,) = ssptool.read_manifest(output)["overrides"]
    assert (driven["kind"], driven["name"], driven["by"]) == ("input", "push", "--inputs")
    assert driven["after"] == f"{table}, column push (linear)"
    assert ssptool.read_manifest(output)["arguments"]["inputs"] == str(table)
    ssptool.simulate(pushed2, inputs={"push": lambda t: t}, output=output).unwrap()
    assert ssptool.read_manifest(output)["unstated"] == ["inputs"]
