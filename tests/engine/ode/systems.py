"""Systems of model exchange, built by hand, and what they must do in closed form."""

import ctypes
from dataclasses import replace

import numpy as np

from ssptool import Settings
from ssptool.engine.assembly import assembly
from ssptool.engine.run import freeze
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.stepping.simulation import SteppedRun
from tests.engine.dual_mass import Folder, network
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu


def integrate(folder, sources, wires=(), values=None, **settings):
    """Run components from a folder of FMUs as model exchange. `sources`: name → FMU without suffix."""
    files = {name: f"{fmu}.fmu" for name, fmu in sources.items()}
    settings.setdefault("stop_time", 1.0)
    settings.setdefault("step_size", 0.01)
    plan = make_plan(network(files, wires, values, folder=folder), Settings(implementation="me", **settings))
    return run(plan, Folder(folder))


def both_sides(trace):
    """Indices of the left rows of events: the next row has the same time."""
    return np.flatnonzero(np.diff(trace.t) == 0)


def saved_and_resumed(planned, folder, path, steps):
    """The trace of a simulation that was saved after so many steps, and that of the one that went on from there."""
    with SteppedRun(planned, folder) as simulation:
        simulation.step(steps)
        simulation.save(path)
        list(simulation)
        expected = simulation.trace
    with SteppedRun(planned, folder, saved=path) as resumed:
        list(resumed)
        return expected, resumed.trace


def check_same(expected, resumed):
    """All rows from where it was saved, with the same bits; there are some, before it, too."""
    since = len(expected.t) - len(resumed.t)
    assert 0 < since < len(expected.t) - 1
    assert np.array_equal(resumed.t, expected.t[since:])
    for name in expected.signals:
        assert np.array_equal(resumed[name], expected[name][since:]), name


def make_mixture(folder, version):
    """Put Mixture.fmu into the folder: shares a (output y) and b turn into each other, and must sum to one, so that no
    difference quotient by one of them can be had, and no Jacobian.
    """
    variables = (
        Var("a", "state", start=1.0),
        Var("b", "state", start=0.0),
        Var("da", "der", of="a", needs=["a", "b"]),
        Var("db", "der", of="b", needs=["a", "b"]),
        Var("y", "output", needs=["a"]),
    )
    calc = "v->da = 0.5 * v->b - 1.5 * v->a; v->db = -v->da; v->y = v->a;"
    check = "double rest = v->a + v->b - 1; return rest > 1e-9 || rest < -1e-9 ? DISCARD : OK;"
    make_fmu(folder / "Mixture.fmu", variables, version=version, cs=None, calc=calc, check=check)
    return folder


def share_in_mixture(t):
    """The share a (n,) of the mixture."""
    return 0.25 + 0.75 * np.exp(-2 * t)


def oscillation(t, flange_mass=0.0):
    """x1, x2, v1, v2 (4, n) of the dual-mass oscillator: M x'' + C x' + K x = 0, by eigenvalues."""
    mass = np.diag([1.0 + flange_mass, 1.0])
    stiffness = np.array([[20.0, -10.0], [-10.0, 30.0]])
    damping = np.array([[0.7, -0.5], [-0.5, 0.8]])
    first = np.hstack((np.zeros((2, 2)), np.eye(2)))
    second = -np.linalg.solve(mass, np.hstack((stiffness, damping)))
    values, vectors = np.linalg.eig(np.vstack((first, second)))
    weights = np.linalg.solve(vectors, [0.0, 0.5, 0.0, 0.0])
    return np.real((vectors * weights) @ np.exp(np.outer(values, t)))


def bounce_times(count, height=1.0, gravity=9.81, restitution=0.7):
    """When a ball that is dropped touches the ground (count,) [s]."""
    fall = np.sqrt(2 * height / gravity)
    return fall * (1 + 2 * np.cumsum([0.0, *restitution ** np.arange(1.0, count)]))


def beside(net, *exchange):
    """The same network with these components as model exchange and all others as co-simulation."""
    components = {
        name: replace(component, implementation="ModelExchange" if name in exchange else "CoSimulation")
        for name, component in net.components.items()
    }
    return replace(net, components=components)


def unsaved(net):
    """The network with FMUs whose co-simulation cannot save its state."""
    return _simulated_by(net, saves_state=False)


def rigid(net):
    """The network with FMUs whose co-simulation takes steps of one size only."""
    return _simulated_by(net, variable_step=False)


def _simulated_by(net, **facts):
    components = {}
    for name, one in net.components.items():
        interface = one.description.co_simulation
        stated = None if interface is None else replace(interface, **facts)
        components[name] = replace(one, description=replace(one.description, co_simulation=stated))
    return replace(net, components=components)


def couple(folder, exchange, simulation, wires=(), values=None, *, recording=None, saved=True, **settings):
    """Run components from a folder of FMUs, some as model exchange, some as co-simulation: name → FMU. `saved`: the
    latter save their states, if they can.
    """
    files = {name: f"{fmu}.fmu" for name, fmu in {**simulation, **exchange}.items()}
    settings = {"stop_time": 1.0, "step_size": 0.01} | settings
    net = beside(network(files, wires, values, folder=folder), *exchange)
    return run(make_plan(net if saved else unsaved(net), Settings(**settings)), Folder(folder), recording=recording)


def lacking(net, name, **facts):
    """The network with an FMU whose model exchange is stated to be like this."""
    component = net.components[name]
    interface = replace(component.description.model_exchange, **facts)
    description = replace(component.description, model_exchange=interface)
    return replace(net, components={**net.components, name: replace(component, description=description)})


def refuse_after(monkeypatch, status, after, component=None):
    """Components, or the one of this name, answer with this status where their time is set to more than `after` [s]."""
    signature = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_double)

    def refusing(_name, original):
        set_time = signature(original)
        return signature(lambda own, t: status if t > after else set_time(own, t))

    replace_function(monkeypatch, "SetTime", refusing, component)


def complete_steps(monkeypatch, answer):
    """Components of FMI 3.0 are told of completed steps, and `answer` by their name: event, end of the simulation."""
    flag = ctypes.POINTER(ctypes.c_bool)
    signature = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_bool, flag, flag)

    def answering(name, _original):
        def completed(_own, _final, event, end):
            event[0], end[0] = answer(name)
            return 0

        return signature(completed)

    replace_function(monkeypatch, "CompletedIntegratorStep", answering)
    exchange = freeze._exchange

    def told(one):
        found = exchange(one)
        found["exchange"]["reports_steps"] = True
        return found

    monkeypatch.setattr(freeze, "_exchange", told)


def replace_function(monkeypatch, function, replacement, component=None):
    """Components, or the one of this name, have in place of a function, without the prefix of its version, what
    `replacement` makes of its name and the address of the original.
    """
    functions_of, kept = assembly._functions, []

    def spoilt(planned, instance):
        functions = functions_of(planned, instance)
        name = f"fmi{planned.description.fmi_major}{function}"
        if component in (None, instance.name) and name in functions:
            kept.append(replacement(instance.name, functions[name]))
            functions = {**functions, name: ctypes.cast(kept[-1], ctypes.c_void_p).value}
        return functions

    monkeypatch.setattr(assembly, "_functions", spoilt)
