"""The dual-mass oscillator built by hand from its FMUs."""

from dataclasses import dataclass
from pathlib import Path

from ssptool import Settings
from ssptool.documents.diagnostics import Position
from ssptool.engine.run.make_plan import make_plan
from ssptool.fmu.read_description import read_description
from ssptool.network.network import Assignment, Experiment, FlatComponent, Network, Port, Signal, Wire
from tests.engine.running import run

RESOURCES = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator" / "resources"
NOWHERE = Position("hand-made", 1)
FMI1 = {"System1": "fmi1/System1.fmu", "System2": "fmi1/System2.fmu"}
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
    stated = "any" if fmu.co_simulation is None else "CoSimulation"
    return FlatComponent(name, source, stated, fmu, ports, NOWHERE)


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


def simulate(net, *, output=None, **settings):
    return run(make_plan(net, Settings(**settings)), Folder(), output=output)
