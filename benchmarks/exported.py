"""Exported systems: cost per macro step as ratios to the engine of a run, instantiation beside the parts', size.

The engine and the exported FMU of the same system do the same macro steps in one process, in turns, and must end at the
same values: bit for bit, or within the tolerance where model exchange is integrated inside. A ratio is that of two
neighbours. The engine records all connectors, the FMU records nothing. Its steps are all in one communication step.
Times are CPU times of one thread. The systems are our dual-mass oscillator, with two masters, and with one component of
model exchange; our flyball governor, which is model exchange only; a plant with a sampled controller in event mode; and
two FMUs of tests/fmu/chatty.c, with the habits of OpenModelica's, logging off. `--system` measures another.

Instantiation is the time of fmi2Instantiate of the exported FMU with the time of its parts' taken off, all libraries
being loaded; reading the frozen plan and building a kernel are what is left.
"""

import argparse
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import fmpy
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.fmi3 import FMU3Model, FMU3Slave

import ssptool
from benchmarks.foreign import Final, engine
from ssptool.exporting.runtimes import own_platform, runtime_library
from tests.cmake_build import build as build_models
from tests.engine.event_mode.systems import write_system as write_sampled_system
from tests.engine.systems import write_system
from tests.fmu.chatty_fmu import build

BUDGET, INSTANTIATION_BUDGET, SIZE_BUDGET = 1.15, 1e-3, 900
STEP = 1e-3
ROOT = Path(__file__).parents[1]
SYSTEMS = ROOT / "systems"
PLANT = [("Plant.z", "Controller.y"), ("Controller.u", "Plant.F")]


@dataclass(frozen=True)
class Case:
    """A system with settings, and the outputs that are compared, to the bit or relative to the largest."""

    name: str
    system: Path
    outputs: tuple[str, ...]
    options: Mapping[str, Any]
    close: float = 0.0


@contextmanager
def instance(unpacked: Path) -> Iterator[tuple[Any, float]]:
    """An instance of an unpacked FMU, and how long its instantiation took [s]."""
    description = fmpy.read_model_description(str(unpacked), validate=False)
    kind = description.coSimulation or description.modelExchange
    slave = CLASSES[description.fmiVersion[0], kind is description.coSimulation](
        guid=description.guid,
        unzipDirectory=str(unpacked),
        modelIdentifier=kind.modelIdentifier,
        instanceName="measured",
    )
    slave.references = {one.name: one.valueReference for one in description.modelVariables}
    began = time.thread_time()
    slave.instantiate()
    seconds = time.thread_time() - began
    try:
        yield slave, seconds
    finally:
        slave.freeInstance()


CLASSES = {
    ("2", True): FMU2Slave,
    ("2", False): FMU2Model,
    ("3", True): FMU3Slave,
    ("3", False): FMU3Model,
}
"""By version, and whether it is co-simulation."""


def exported(case: Case, unpacked: Path, steps: int) -> tuple[float, Final]:
    """[s] per macro step, and the outputs at the end."""
    with instance(unpacked) as (slave, _):
        slave.setupExperiment(startTime=0.0, stopTime=steps * STEP)
        slave.enterInitializationMode()
        slave.exitInitializationMode()
        began = time.thread_time()
        slave.doStep(0.0, steps * STEP)
        seconds = time.thread_time() - began
        return seconds / steps, tuple(slave.getReal([slave.references[name]])[0] for name in case.outputs)


def instantiation(unpacked: Path) -> float:
    """[s] beside that of the parts; all are instantiated once before, so that libraries are loaded."""
    parts = sorted(one.parent for one in (unpacked / "resources" / "parts").glob("*/modelDescription.xml"))
    with ExitStack() as stack:
        loaded = [stack.enter_context(instance(folder)) for folder in (unpacked, *parts)]
        assert loaded
        taken = [stack.enter_context(instance(folder))[1] for folder in (unpacked, *parts)]
        return taken[0] - sum(taken[1:])


def compare(case: Case, folder: Path, steps: int, repeats: int) -> bool:
    """Measure, print, and say whether both ended at the same values."""
    options = {**case.options, "step_size": STEP, "stop_time": steps * STEP}
    plan = ssptool.plan(case.system, **options)
    fmu = ssptool.export(case.system, folder / "made.fmu", expose=case.outputs, **options).path
    unpacked = folder / "unpacked"
    fmpy.extract(fmu, unpacked)
    own, made, begun = [], [], []
    for _ in range(repeats):
        own.append(engine(case.system, plan, case.outputs))
        made.append(exported(case, unpacked, steps))
        begun.append(instantiation(unpacked))
    ratio = statistics.median(one[0] / other[0] for one, other in zip(made, own, strict=True))
    start = statistics.median(begun)
    print(f"{case.name}; {steps} macro steps of {STEP:g} s")
    print(f"  engine                     {1e6 * statistics.median(s for s, _ in own):8.3f} µs per macro step")
    print(
        f"  exported FMU               {1e6 * statistics.median(s for s, _ in made):8.3f} µs    "
        f"ratio {ratio:.3f}, {_verdict(ratio <= BUDGET)} the budget of {BUDGET}"
    )
    print(
        f"  instantiation              {1e3 * start:8.3f} ms    "
        f"{_verdict(start <= INSTANTIATION_BUDGET)} the budget of {1e3 * INSTANTIATION_BUDGET:g} ms"
    )
    finals = sorted({final for _, final in (*own, *made)})
    print(f"  {_agreement(finals, case.close) or f'DIFFERENT ends: {finals}'}")
    return bool(_agreement(finals, case.close))


def _agreement(finals: Sequence[Final], close: float) -> str:
    """Empty if they differ by more than is allowed, relative to the largest of them all."""
    if len(finals) == 1:
        return "both ended at the same values, bit for bit"
    most = max(abs(value) for final in finals for value in final)
    apart = max(max(column) - min(column) for column in zip(*finals, strict=True)) / most
    return f"both ended at values that differ by {apart:.1g} of the largest" if apart <= close else ""


def _verdict(within: bool) -> str:
    return "within" if within else "OVER"


def cases(folder: Path) -> Iterator[Case]:
    oscillator, outputs = SYSTEMS / "dual_mass_oscillator", ("System1.x1", "System2.F")
    yield Case("Dual-mass oscillator, Jacobi", oscillator, outputs, {"master": "jacobi"})
    yield Case("Dual-mass oscillator, iterated", oscillator, outputs, {"master": "iterated"})
    solver = {"integrator": "rosenbrock", "tolerance": 1e-6}
    mixed = folder / "mixed"
    shutil.copytree(oscillator, mixed, ignore=shutil.ignore_patterns("fmi1", "fmi3"))
    ssd = mixed / "SystemStructure.ssd"
    with_one = re.sub(r'(name="System1"[^>]*implementation=)"CoSimulation"', r'\1"ModelExchange"', ssd.read_text())
    ssd.write_text(with_one)
    yield Case("Dual-mass oscillator, one of model exchange", mixed, outputs, {"master": "jacobi", **solver}, 1e-4)
    governor, outputs = SYSTEMS / "flyball_governor", ("Spindle.Omega", "Arms.alpha")
    yield Case("Flyball governor of model exchange", governor, outputs, solver, 1e-4)
    models = folder / "models"
    build_models(ROOT / "tests" / "engine" / "models", models)
    components = {"Plant": "fmi2/Mass", "Controller": "fmi3/SampledController"}
    sampled = write_sampled_system(folder / "sampled", models, components, PLANT)
    yield Case("Sampled controller", sampled, ("Plant.z",), {"start_values": {"Plant.m": "1"}})
    build(folder)
    for version in (2, 3):
        name = f"chatty{version}"
        ring = write_system(folder / f"ring{version}", folder, {"A": name, "B": name}, [("A.y", "B.u"), ("B.y", "A.u")])
        options = {"master": "jacobi", "approximation": "hold", "start_values": {"A.x": "1"}}
        yield Case(f"Two FMUs with the habits of OpenModelica's, FMI {version}.0", ring, ("A.y", "B.y"), options)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20_000, help="macro steps per repeat")
    parser.add_argument("--repeats", type=int, default=9, help="the median of all is printed")
    parser.add_argument("--only", default="", help="a part of the names of systems to measure")
    parser.add_argument("--system", type=Path, help="another system instead of all of these")
    parser.add_argument("--output", action="append", default=[], help="an output of it; may be repeated")
    parser.add_argument("--close", type=float, default=0.0, help="the difference that is allowed, 0: bit for bit")
    arguments = parser.parse_args()
    same = []
    with tempfile.TemporaryDirectory() as place:
        if arguments.system:
            other = Case(str(arguments.system), arguments.system, tuple(arguments.output), {}, arguments.close)
            chosen: Iterable[Case] = [other]
        else:
            chosen = (case for case in cases(Path(place)) if arguments.only in case.name)
        for number, case in enumerate(chosen):
            folder = Path(place) / str(number)
            folder.mkdir()
            same.append(compare(case, folder, arguments.steps, arguments.repeats))
    own = own_platform()
    assert own is not None, "FMUs cannot be exported here"
    size = runtime_library(own).stat().st_size / 1000
    verdict = _verdict(size <= SIZE_BUDGET)
    print(f"The runtime of this platform has {size:.0f} kB, {verdict} the budget of {SIZE_BUDGET} kB")
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
