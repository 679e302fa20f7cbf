"""Simulations with arrays, against closed forms: linear systems of any size, exact for inputs that are held."""

import re

import numpy as np
import pytest
from scipy.linalg import block_diag, expm

import ssptool
from ssptool.drawing.diagram.drawing import graph_svg
from ssptool.drawing.graph import graph_dot, graph_text
from ssptool.engine.assembly.assembly import assemble
from ssptool.engine.failure import Unsupported
from ssptool.engine.kernel.calls import Call
from ssptool.engine.run.system import LoadedSystem
from ssptool.engine.stepping.simulation import SteppedRun
from ssptool.errors import WrongValue
from ssptool.renderers import call_sequence
from tests.engine.running import run
from tests.fmu.array_fmus import (
    TYPES,
    build,
    component,
    connector,
    pack,
    reversed_arrays,
    state_space,
    values,
    write_packed_system,
)

IO = (("u", "input"), ("y", "output"))
KINDS = ["CoSimulation", "ModelExchange"]
TIGHT = {"CoSimulation": {}, "ModelExchange": {"tolerance": 1e-9}}
ROUNDING = 1e-12
"""Co-simulation is exact but for rounding."""
INTEGRATION = 1e-7
"""Model exchange is integrated with a relative tolerance of 1e-9."""

RNG = np.random.default_rng(7)
A = np.array([[0.0, 1.0, 0.2], [-4.0, -0.5, 0.0], [0.3, 0.0, -1.0]])
C = np.array([[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]])
X0 = np.array([1.0, -2.0, 0.5])


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("libraries")
    build(folder)
    return folder


@pytest.fixture
def system(libraries, tmp_path):
    """Writes a system of these FMUs; "name: description" become name.fmu with the library that it needs."""
    return lambda fmus, *arguments, **options: write_packed_system(
        tmp_path / "system", libraries, fmus, *arguments, **options
    )


class Folder:
    def __init__(self, path):
        self.path = path

    def local_path(self, name):
        return self.path / name


def simulated(folder, *, start_values=None, **settings):
    plan = ssptool.plan(
        folder, start_values=start_values or {}, settings=ssptool.Settings(**{"step_size": 0.125, **settings})
    )
    return run(plan, Folder(folder)).unwrap()


def columns(trace, name, count):
    return np.stack([trace[f"{name}[{i + 1}]"] for i in range(count)], axis=1)


def matrix(name, content):
    content = np.asarray(content)
    return values(name, content.ravel().tolist(), *content.shape)


def part(name, source="S.fmu", kind="CoSimulation", m=None, p=None):
    return component(name, source, [connector("u", "input", m), connector("y", "output", p)], kind)


def free(n, p, name="A"):
    """Parameters of x' = A x, y = C x."""
    return matrix(f"{name}.A", A[:n, :n]) + matrix(f"{name}.C", C[:p, :n]) + matrix(f"{name}.x0", X0[:n])


def exact(t, n=3, p=2):
    return np.array([C[:p, :n] @ expm(A[:n, :n] * time) @ X0[:n] for time in t])


@pytest.mark.parametrize("kind", KINDS)
def test_a_linear_system_of_fixed_size_follows_its_matrix_exponential(system, kind):
    folder = system({"S": state_space(3, 1, 2)}, [part("A", kind=kind)], [], free(3, 2))
    trace = simulated(folder, **TIGHT[kind])
    tolerance = ROUNDING if kind == "CoSimulation" else INTEGRATION
    np.testing.assert_allclose(columns(trace, "A.y", 2), exact(trace.t), rtol=0, atol=tolerance)


@pytest.mark.parametrize("sized", [False, True])
def test_an_fmu_with_arrays_runs_alone(sized, libraries, tmp_path):
    """x' = -x, each element of y is x."""
    fmu = pack(tmp_path / "S.fmu", state_space(1, 1, 2, sized=sized), libraries / "state_space.so")
    trace = ssptool.simulate(fmu, stop_time=1, step_size=0.125, implementation="cs").unwrap()
    np.testing.assert_allclose(columns(trace, "S.y", 2), np.exp(-trace.t)[:, None] + [0, 0], rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_structural_parameters_size_a_linear_system(system, kind, n):
    sizes = values("A.n", [n], type="UInt64") + values("A.p", [2], type="UInt64")
    folder = system({"S": state_space(2, 1, 1, sized=True)}, [part("A", kind=kind)], [], sizes + free(n, 2))
    trace = simulated(folder, **TIGHT[kind])
    tolerance = ROUNDING if kind == "CoSimulation" else INTEGRATION
    np.testing.assert_allclose(columns(trace, "A.y", 2), exact(trace.t, n), rtol=0, atol=tolerance)


def test_structural_parameters_that_nothing_sets_keep_the_fmus_sizes(system):
    trace = simulated(system({"S": state_space(2, 1, 2, sized=True)}, [part("A")]))
    # x' = −x from ones, and C full of ones
    np.testing.assert_allclose(columns(trace, "A.y", 2), np.exp(-trace.t)[:, None] * [2, 2], rtol=ROUNDING)


def test_two_components_of_one_fmu_have_different_sizes(system):
    folder = system({"S": state_space(2, 1, 1, sized=True)}, [part("A"), part("B")])
    trace = simulated(folder, start_values={"B.n": "5"})
    np.testing.assert_allclose(trace["A.y[1]"], 2 * np.exp(-trace.t), rtol=ROUNDING)
    np.testing.assert_allclose(trace["B.y[1]"], 5 * np.exp(-trace.t), rtol=ROUNDING)


def test_a_structural_parameter_of_the_system_sizes_all_that_it_is_connected_to(system):
    """x' = −x from n ones, and C full of ones."""
    size = connector("n", "structuralParameter", type="UInt64")
    parts = [component(name, "S.fmu", [size, *(connector(*c, None) for c in IO)]) for name in "AB"]
    folder = system(
        {"S": state_space(2, 1, 1, sized=True)},
        parts,
        ["n -> A.n", "n -> B.n"],
        values("n", [5], type="UInt64"),
        connectors=[size],
    )
    for given, n in (({}, 5), ({"n": "3"}, 3)):
        trace = simulated(folder, start_values=given)
        for name in "AB":
            np.testing.assert_allclose(trace[f"{name}.y[1]"], n * np.exp(-trace.t), rtol=ROUNDING)


# -- coupled ---------------------------------------------------------------------------------------------------------


def gain(name, content):
    return matrix(f"{name}.D", content)


K = np.array([[0.5, -0.2, 0.1], [0.3, 0.1, -0.4], [-0.2, 0.6, 0.2]])
L = np.array([[0.2, 0.1, 0.4], [-0.3, 0.5, 0.2], [0.1, -0.1, 0.3]])
OFFSET = np.array([1.0, 2.0, -3.0])


@pytest.mark.parametrize("init", ["auto", "newton", "fixed-point"])
@pytest.mark.parametrize("directional", [False, True])
def test_a_loop_of_arrays_is_a_linear_solve(system, init, directional):
    """y = K u, u = w + offset, w = L v, v = y: y = (1 − K L)⁻¹ K offset."""
    more = "".join(f"A.y[{i}] -> B.u[{i}]," for i in (1, 2, 3)).strip(",").split(",")
    wires = [f'B.y[{i}] -> A.u[{i}]|<ssc:LinearTransformation offset="{OFFSET[i - 1]}"/>' for i in (1, 2, 3)]
    fmu = state_space(0, 3, 3, feedthrough=True, directional=directional)
    folder = system({"S": fmu}, [part("A"), part("B")], more + wires, gain("A", K) + gain("B", L))
    trace = simulated(folder, init=init)
    y = np.linalg.solve(np.eye(3) - K @ L, K @ OFFSET)
    np.testing.assert_allclose(columns(trace, "A.y", 3), np.tile(y, (len(trace.t), 1)), rtol=1e-10)
    np.testing.assert_allclose(columns(trace, "B.y", 3), np.tile(L @ y, (len(trace.t), 1)), rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_elements_that_need_each_other_are_solved_though_others_of_their_array_are_not_in_the_loop(system, kind):
    """A.y[1] feeds A.u[2] through B; A.y[2] goes out, A.u[1] stays 2: y1 = K11 2 + K12 L11 y1."""
    fmu = state_space(0, 2, 2, feedthrough=True)
    parts = [part("A", kind=kind), part("B", kind=kind)]
    wires = ["A.y[1] -> B.u[1]", "B.y[1] -> A.u[2]"]
    given = gain("A", K[:2, :2]) + gain("B", L[:2, :2]) + values("A.u", [2, 0], 2)
    trace = simulated(system({"S": fmu}, parts, wires, given))
    y1 = K[0, 0] * 2 / (1 - K[0, 1] * L[0, 0])
    np.testing.assert_allclose(trace["A.y[1]"], y1, rtol=1e-10)
    np.testing.assert_allclose(trace["A.y[2]"], K[1, 0] * 2 + K[1, 1] * L[0, 0] * y1, rtol=1e-10)


@pytest.mark.parametrize("directional", [False, True])
def test_a_system_of_two_is_the_linear_system_of_both_in_model_exchange(system, directional):
    """x' = A x + B u, y = C x + D u on both sides, u and y wired crosswise and with an algebraic loop."""
    n, m = 2, 2
    some = {name: RNG.normal(size=(n, n)) * 0.5 for name in ("A1", "B1", "C1", "D1", "A2", "B2", "C2", "D2")}
    given = "".join(matrix(f"{name[1].replace('1', 'P').replace('2', 'Q')}.{name[0]}", v) for name, v in some.items())
    fmu = state_space(n, m, m, feedthrough=True, directional=directional)
    parts = [part("P", kind="ModelExchange"), part("Q", kind="ModelExchange")]
    trace = simulated(system({"S": fmu}, parts, ["P.y -> Q.u", "Q.y -> P.u"], given), tolerance=1e-9)
    whole, inputs, outputs, through = (block_diag(some[f"{name}1"], some[f"{name}2"]) for name in "ABCD")
    cross = np.kron([[0, 1], [1, 0]], np.eye(n))
    y_of_x = np.linalg.solve(np.eye(2 * n) - through @ cross, outputs)
    flow = whole + inputs @ cross @ y_of_x
    expected = np.array([y_of_x @ expm(flow * t) @ np.ones(2 * n) for t in trace.t])
    found = np.hstack([columns(trace, "P.y", n), columns(trace, "Q.y", n)])
    np.testing.assert_allclose(found, expected, rtol=0, atol=INTEGRATION)


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_wired_element_of_an_array_matters(system, kind):
    """x1' = −x1 feeds x2' = −x2 + u2 through an array of which the other elements are free."""
    parts = [part("P", kind=kind), part("Q", kind=kind)]
    fmu = state_space(1, 2, 2)
    given = matrix("Q.B", [[0, 1]]) + matrix("P.C", [[0], [1]])
    trace = simulated(system({"S": fmu}, parts, ["P.y[2] -> Q.u[2]"], given), step_size=1 / 1024, **TIGHT[kind])
    expected = np.exp(-trace.t) * (1 + trace.t)
    # Inputs are held over a macro step: an error of order h.
    tolerance = 1e-3 if kind == "CoSimulation" else INTEGRATION
    np.testing.assert_allclose(trace["Q.y[1]"], expected, rtol=0, atol=tolerance)


def test_an_array_of_hundreds_of_elements_is_wired_and_recorded(system):
    count = 400
    fmu = state_space(0, count, count, feedthrough=True)
    source = state_space(1, 1, count)
    parts = [part("A", "T.fmu"), part("B")]
    trace = simulated(system({"S": fmu, "T": source}, parts, ["A.y -> B.u"]), step_size=0.5)
    assert len(trace.signals) == 1 + 3 * count
    np.testing.assert_allclose(trace[f"B.u[{count}]"], np.exp(-trace.t), rtol=ROUNDING)


def test_kernels_call_for_arrays_as_a_whole_only(system):
    folder = system({"S": state_space(0, 2, 2, feedthrough=True)}, [part("A")])
    plan = ssptool.plan(folder)
    loaded = LoadedSystem(plan)
    with assemble(loaded.native, loaded.adopted, plan, Folder(folder)) as assembly:
        for call in (Call(0, (0,), ()), Call(0, (1,), ()), Call(0, (), (3,)), Call(0, (0, 1), (2,))):
            with pytest.raises(ValueError, match="is an element of an array, which is set and got as a whole"):
                assembly.kernel.schedule([call])
        assembly.kernel.schedule([Call(0, (1, 0), (3, 2))])


# -- types -------------------------------------------------------------------------------------------------------------

SENT = {
    **{f"Float{bits}": [1.5, -2.5, 0.25] for bits in (32, 64)},
    **{f"Int{bits}": [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 3] for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": [2**bits - 1, 0, 3] for bits in (8, 16, 32, 64)},
    "Boolean": [True, False, False],
    "String": ["one", "two words", ""],
}


@pytest.mark.parametrize("kind", TYPES)
def test_arrays_of_every_type_travel_unchanged_and_in_order(system, kind):
    parts = [
        component(
            name, "R.fmu", [connector(f"{kind}_{v}", k, 3, type=kind) for v, k in (("u", "input"), ("y", "output"))]
        )
        for name in "AB"
    ]
    given = values(f"A.{kind}_u", SENT[kind], 3, type=kind)
    folder = system({"R": reversed_arrays()}, parts, [f"A.{kind}_y -> B.{kind}_u"], given)
    plan = ssptool.plan(folder, settings=ssptool.Settings(step_size=0.5))
    with SteppedRun(plan, Folder(folder)) as simulation:
        simulation.step()
        found = [[simulation.get(f"{name}.{kind}_{v}[{i}]") for i in (1, 2, 3)] for name, v in ("Ay", "Bu", "By")]
    assert found == [SENT[kind][::-1], SENT[kind][::-1], SENT[kind]]


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_an_element_alone_is_refused_where_the_fmu_does_not_state_the_others(system):
    folder = system({"S": state_space(2, 1, 1, sized=True)}, [part("A")])
    with pytest.raises(Unsupported, match=r"neither the system nor the FMU gives A\[1,1\] a value"):
        ssptool.plan(folder, start_values={"A.n": "3", "A.A[2,2]": "-5"})


def test_an_element_alone_leaves_the_others_at_their_start_values(system):
    trace = simulated(system({"S": state_space(2, 1, 1)}, [part("A")]), start_values={"A.x0[2]": "3"})
    np.testing.assert_allclose(trace["A.y[1]"], 4 * np.exp(-trace.t), rtol=ROUNDING)


# -- by hand -----------------------------------------------------------------------------------------------------------


def opened(folder, **settings):
    plan = ssptool.plan(folder, settings=ssptool.Settings(**{"step_size": 0.125, **settings}))
    return SteppedRun(plan, Folder(folder))


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_are_read_and_set_as_a_whole_and_by_element(system, kind):
    fmu = state_space(0, 2, 2, feedthrough=True)
    folder = system({"S": fmu}, [part("A", kind=kind)], [], gain("A", K[:2, :2]))
    with opened(folder) as simulation:
        np.testing.assert_array_equal(simulation.get("A.D"), K[:2, :2])
        simulation.set("A.u", [1.0, 2.0])
        np.testing.assert_allclose(simulation.get("A.y"), K[:2, :2] @ [1, 2], rtol=ROUNDING)
        simulation.set("A.u[2]", 5.0)
        np.testing.assert_array_equal(simulation.get("A.u"), [1, 5])
        simulation.step()
        np.testing.assert_allclose(simulation.get("A.y"), K[:2, :2] @ [1, 5], rtol=ROUNDING)
        assert simulation.get("A.y[2]") == simulation.get("A.y")[1]


@pytest.mark.parametrize(("value", "shape"), [(1.0, "()"), ([1.0], "(1,)"), ([[1.0, 2.0]], "(1, 2)")])
def test_an_array_takes_values_of_its_shape_only(system, value, shape):
    folder = system({"S": state_space(0, 2, 2, feedthrough=True)}, [part("A")])
    with (
        opened(folder) as simulation,
        pytest.raises(ValueError, match=re.escape(f"A.u has the shape (2,), the value {shape}")),
    ):
        simulation.set("A.u", value)


def test_an_array_with_a_driven_element_is_set_by_element_only(system):
    folder = system({"S": state_space(0, 2, 2, feedthrough=True)}, [part("A"), part("B")], ["A.y[1] -> B.u[2]"])
    with opened(folder) as simulation:
        with pytest.raises(WrongValue, match=r"B\.u cannot be set: it is driven by A\.y\[1\]"):
            simulation.set("B.u", [1.0, 2.0])
        simulation.set("B.u[1]", 3.0)
        assert simulation.get("B.u").tolist() == [3.0, 0.0]


def test_states_of_arrays_are_saved_and_resumed(system, tmp_path):
    fmu = state_space(2, 2, 2)
    given = matrix("A.A", A[:2, :2]) + matrix("B.A", [[-1, 0.5], [0, -2]])
    folder = system({"S": fmu}, [part("A"), part("B")], ["A.y -> B.u", "B.y[1] -> A.u[2]"], given)
    plan = ssptool.plan(folder, settings=ssptool.Settings(step_size=0.125))
    with SteppedRun(plan, Folder(folder)) as simulation:
        simulation.step(3)
        simulation.save(tmp_path / "state")
        simulation.step(5)
        expected = simulation.get("B.y")
    with SteppedRun(plan, Folder(folder), saved=tmp_path / "state") as simulation:
        simulation.step(5)
        np.testing.assert_array_equal(simulation.get("B.y"), expected)


def test_elements_of_free_arrays_are_driven(system):
    folder = system({"S": state_space(0, 2, 2, feedthrough=True)}, [part("A")], [], gain("A", [[1, 1], [1, -1]]))
    inputs = {"A.u[1]": lambda t: t, "A.u[2]": 2.0}
    trace = ssptool.simulate(folder, inputs=inputs, settings=ssptool.Settings(step_size=0.25)).unwrap()
    np.testing.assert_allclose(columns(trace, "A.y", 2), np.stack([trace.t + 2, trace.t - 2], axis=1), rtol=ROUNDING)


def test_patterns_choose_elements(system):
    folder = system({"S": state_space(0, 2, 2, feedthrough=True)}, [part("A")])
    trace = ssptool.simulate(folder, record="A.y[*]", step_size=0.5).unwrap()
    assert trace.signals == ("A.y[1]", "A.y[2]")


def test_a_plan_names_arrays_and_the_mode_in_which_they_are_sized(system):
    folder = system({"S": state_space(2, 2, 2, sized=True)}, [part("A"), part("B")], ["A.y -> B.u"])
    plan = ssptool.plan(folder, start_values={"A.n": "3", "A.x0": "1 2 3", "A.B": " ".join("1" * 6)})
    lines = list(call_sequence(plan))
    assert lines[lines.index("set structural parameters in configuration mode") + 1] == "  A: n = 3"
    assert "  A: x0 = [1.0, 2.0, 3.0], B = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]" in lines
    assert "  A: get y" in lines


def test_a_graph_shows_arrays_as_one(system):
    folder = system(
        {"S": state_space(2, 2, 2, feedthrough=True)}, [part("A"), part("B")], ["A.y -> B.u", "B.y[1] -> A.u[2]"]
    )
    text = graph_text(ssptool.graph(folder))
    assert "  A.y → B.u\n" in text
    assert "  B.y[1] → A.u[2]\n" in text
    assert "input: u (2)" in text
    assert "algebraic loop {A.y, B.y}" in text
    assert 'A.y" -> "B.u"' in graph_dot(ssptool.graph(folder))
    assert graph_svg(ssptool.graph(folder)).startswith("<")


def test_inputs_of_arrays_are_followed_inside_of_a_step(system):
    """P: x' = 1, 2; Q: x' = u. With u = t and 2 t over every step x is t²/2 and t², and nothing is left of h."""
    fmu = state_space(2, 2, 2, follows=True)
    unit = np.eye(2)
    given = "".join(matrix(f"{name}.{each}", unit) for name in "PQ" for each in "BC")
    given += "".join(matrix(f"{name}.A", 0 * unit) + matrix(f"{name}.x0", [0, 0]) for name in "PQ")
    given += values("P.u", [1, 2], 2)
    folder = system({"S": fmu}, [part("P"), part("Q")], ["P.y -> Q.u"], given)
    trace = simulated(folder, master="gauss-seidel", approximation="interpolate", step_size=0.25)
    expected = np.stack([trace.t**2 / 2, trace.t**2], axis=1)
    np.testing.assert_allclose(columns(trace, "Q.y", 2), expected, rtol=0, atol=ROUNDING)


def test_an_alias_of_an_array_is_another_name_of_it(system):
    fmu = state_space(2, 1, 2).replace('<Dimension start="2"/></Float64><Float64 name="x"', _ALIAS, 1)
    assert "again" in fmu
    connectors = [connector("y", "output", 2), connector("again", "output", 2)]
    trace = simulated(system({"S": fmu}, [component("A", "S.fmu", connectors)], [], free(2, 2)))
    np.testing.assert_array_equal(columns(trace, "A.again", 2), columns(trace, "A.y", 2))


_ALIAS = '<Dimension start="2"/><Alias name="again"/></Float64><Float64 name="x"'


def test_scenarios_act_on_elements(system, tmp_path):
    fmu = state_space(0, 2, 2, feedthrough=True)
    given = gain("A", np.eye(2)) + gain("B", np.eye(2)) + values("A.u", [5, 6], 2)
    folder = system({"S": fmu}, [part("A"), part("B")], ["A.y -> B.u"], given)
    events = [
        '{time: 0.25, variable: "B.u[2]", action: override, value: 9}',
        '{time: 0.5, variable: "A.u[1]", action: override, value: 1}',
        '{time: 0.5, variable: "A.y[1]", action: bias, value: 100}',
    ]
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("events:\n" + "".join(f"  - {event}\n" for event in events))
    trace = ssptool.simulate(folder, scenario=scenario, settings=ssptool.Settings(step_size=0.25)).unwrap()
    # Both sides of the changes at 0.25 and 0.5 are rows.
    assert columns(trace, "B.y", 2).tolist() == [[5, 6], [5, 6], [5, 9], [5, 9], [101, 9], [101, 9], [101, 9]]
    assert columns(trace, "A.y", 2).tolist()[-1] == [1, 6]


def test_elements_of_a_lone_fmu_have_its_own_names(system):
    """y = D u + C x with x = 0: the elements of u that are set, times those of D."""
    folder = system({"S": state_space(0, 2, 2, feedthrough=True)}, [part("A")])
    (fmu,) = folder.rglob("S.fmu")
    gains = np.array([[2.0, -1.0], [0.5, 3.0]])
    given = {"D": gains, "u": [4.0, 0.0], "u[2]": 7.0}
    result = ssptool.simulate(fmu, output=None, start_values=given, record=["y", "u"], stop_time=1.0, step_size=0.5)
    assert sorted(result) == ["u[1]", "u[2]", "y[1]", "y[2]"]
    assert result["y"][-1] == pytest.approx(gains @ [4.0, 7.0], rel=ROUNDING)
    assert result["S.y[2]"] == pytest.approx(result["y[2]"], rel=0)
