"""The dual-mass oscillator built by hand from its FMUs, and its exact solution."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.linalg import expm

from ssptool.documents.diagnostics import Position
from ssptool.engine.plan import make_plan
from ssptool.engine.settings import Settings
from ssptool.engine.simulate import run
from ssptool.fmu.description import read_description
from ssptool.network.network import Assignment, Component, Experiment, Network, Port
from ssptool.network.signals import Signal, Wire

RESOURCES = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator" / "resources"
NOWHERE = Position("hand-made", 1)
FMI2 = {"System1": "System1.fmu", "System2": "System2.fmu"}
FMI3 = {"System1": "fmi3/System1.fmu", "System2": "fmi3/System2.fmu"}
MIXED = {"System1": "System1.fmu", "System2": "fmi3/System2.fmu"}
NO_FLANGE = {"System1": "System1.fmu", "System2": "no_flange/System2.fmu"}
WIRES = [
    ("System1.x1", "System2.x1"),
    ("System1.v1", "System2.v1"),
    ("System1.a1", "System2.a1"),
    ("System2.F", "System1.F"),
]


@dataclass(frozen=True)
class Folder:
    """All that the engine asks of an archive."""

    path: Path = RESOURCES

    def local_path(self, name):
        return self.path / name


def signal(text):
    return Signal(*text.rsplit(".", 1))


def component(name, source, folder=RESOURCES):
    fmu = read_description(folder / source)
    ports = tuple(
        Port(Signal(name, v.name), v.causality.value, v.type, v.unit, v.description, NOWHERE)
        for v in fmu.variables.values()
        if v.causality in ("input", "output")
    )
    return Component(name, source, "any", fmu, ports, NOWHERE)


def network(sources, wires, values=None, experiment=(0.0, 10.0), folder=RESOURCES):
    components = {name: component(name, source, folder) for name, source in sources.items()}
    assigned = {signal(name): Assignment(signal(name), v, None, ()) for name, v in (values or {}).items()}
    return Network(
        name="hand-made",
        components=components,
        ports=(),
        wires=tuple(Wire(signal(a), signal(b)) for a, b in wires),
        assignments=assigned,
        experiment=Experiment(*experiment),
    )


def oscillator(sources=None, **values):
    """The network; `values` as `System1__m1=2.0`."""
    return network(sources or FMI2, WIRES, {name.replace("__", "."): v for name, v in values.items()})


def simulate(net, *, native=None, output=None, **settings):
    return run(make_plan(net, Settings(**settings)), Folder(), native=native, output=output)


@dataclass(frozen=True)
class Exact:
    """x' = A x with x = (x1, v1, x2, v2); m1 a1 = F − k1 x1 − c1 v1, F = spring 2 − m_c a1."""

    m1: float = 1.0
    k1: float = 10.0
    c1: float = 0.2
    m2: float = 1.0
    k2: float = 10.0
    c2: float = 0.5
    k3: float = 20.0
    c3: float = 0.3
    m_c: float = 0.0

    def states(self, t):
        """(len(t), 4) at equidistant t."""
        step = expm(self._matrix() * (t[1] - t[0]))
        x = np.empty((len(t), 4))
        x[0] = 0.0, 0.0, 0.5, 0.0
        for k in range(1, len(t)):
            x[k] = step @ x[k - 1]
        return x

    def _matrix(self):
        spring2 = np.array([-self.k2, -self.c2, self.k2, self.c2])
        # (m1 + m_c) a1 = spring2 − k1 x1 − c1 v1: the flange moves with mass 1.
        a1 = (spring2 + np.array([-self.k1, -self.c1, 0, 0])) / (self.m1 + self.m_c)
        a2 = (-spring2 + np.array([0, 0, -self.k3, -self.c3])) / self.m2
        return np.array([[0, 1, 0, 0], a1, [0, 0, 0, 1], a2])

    def signals(self, t):
        x = self.states(t)
        a1 = x @ self._matrix()[1]
        force = self.m1 * a1 + self.k1 * x[:, 0] + self.c1 * x[:, 1]
        return {"System1.x1": x[:, 0], "System1.v1": x[:, 1], "System1.a1": a1, "System2.F": force}
