"""What the engine adds to its FMUs: cost per macro step of the dual-mass oscillator, as ratios measured in one run.

Compared are the engine with Jacobi and every connector recorded, a C loop that makes the same FMI calls and records
nothing, and FMPy making the same calls from Python. All three must end at the same values, bit for bit. Times are CPU
times of one thread, so that other processes count little; only the lines for `simulate` and for a file, which is in
memory, are wall time. Engine and C loop take turns, and a ratio is one of neighbours. Where memory happens to lie makes
either of them slower by some percent for the whole life of a process, so that Jacobi is measured in several.
"""

import argparse
import ctypes
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_long, c_size_t, c_uint
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave

import ssptool
from benchmarks.memory import folder_in_memory
from benchmarks.stepped import stepped
from ssptool.documents.archive import Archive
from ssptool.engine.recording.formats import open_writer
from ssptool.engine.recording.writer import WritingThread, blocks_at_once, rows_at_once
from ssptool.engine.run.execution import Job
from ssptool.engine.simulate import Run
from ssptool.engine.trace import Floats
from ssptool.fmu.description import FmuDescription
from ssptool.fmu.read_description import read_description
from ssptool.option_words import ApproximationWord
from ssptool.types import Plan

ROOT = Path(__file__).parents[1]
SYSTEM = ROOT / "systems/dual_mass_oscillator"
STEP = 1e-3
LONGER = 50  # times as many steps into a file, and in the C loop beside it: beginning and end count little
BUDGET = 1.15
ITERATED_BUDGET = 1.3
CHORD = -1.0  # (dg/dx − 1)⁻¹ of the loop {a1, F} without a flange: dg/dx = 0


@dataclass(frozen=True)
class Sample:
    """One run: [s] per macro step, and x1, v1, a1, F at its end; wall time [s] if another thread writes a file."""

    seconds: float
    final: tuple[float, ...]
    wall: float = 0.0


# -- the engine ------------------------------------------------------------------------------------------------


def engine(plan: Plan) -> Sample:
    """The macro steps of a plan, as `simulate` has them done: initialized, recorded, without a file."""
    with stepped(plan, SYSTEM) as stepper:
        rows = np.empty((plan.interval.steps, 1 + len(plan.recorded)))
        began = time.thread_time()
        batch = stepper.run(rows)
        seconds = time.thread_time() - began
        assert batch.failure is None, batch.failure
        return Sample(seconds / plan.interval.steps, _final(plan, rows[-1]))


def into_file(plan: Plan, output: Path) -> Sample:
    """The same, into a file that a thread writes beside the steps, in blocks as they come in a run."""
    steps, width = plan.interval.steps, 1 + len(plan.recorded)
    with stepped(plan, SYSTEM) as stepper, WritingThread(blocks_at_once(width)) as thread:
        writer = thread.around(partial(open_writer, output, plan.columns))([b""])
        block = rows_at_once(steps, width)
        began = time.perf_counter(), time.thread_time()
        for first in range(0, steps, block):
            rows = thread.lend(min(block, steps - first), width)
            batch = stepper.run(rows)
            assert batch.failure is None, batch.failure
            final = _final(plan, rows[-1])
            writer.write(rows)
        seconds = time.thread_time() - began[1]
        writer.close("{}")
        return Sample(seconds / steps, final, (time.perf_counter() - began[0]) / steps)


def _final(plan: Plan, row: Floats) -> tuple[float, ...]:
    columns = {column.signal: 1 + i for i, column in enumerate(plan.columns)}
    return tuple(float(row[columns[name]]) for name in ("System1.x1", "System1.v1", "System1.a1", "System2.F"))


def whole_run(plan: Plan) -> float:
    """[s] per macro step as `simulate` states it: with chunks, progress and row 0."""
    with Archive.open(SYSTEM) as archive:
        result = Run(Job(plan, archive)).result()
    result.unwrap()
    return result.statistics.seconds / plan.interval.steps


# -- the same FMUs without the engine --------------------------------------------------------------------------


@dataclass(frozen=True)
class Unpacked:
    """An FMU on disk with the values that the system gives it."""

    folder: Path
    description: FmuDescription
    starts: Mapping[str, float]

    def references(self, *names: str) -> list[int]:
        return [self.description.variables[name].reference for name in names]

    @property
    def identifier(self) -> str:
        assert self.description.co_simulation is not None
        return self.description.co_simulation.model_identifier


def unpacked(plan: Plan, folder: Path) -> list[Unpacked]:
    fmus = []
    for instance in plan.instances:
        path = folder / instance.name
        fmpy.extract(SYSTEM / instance.source, path)
        starts = {name: float(value) for name, value in instance.starts.items()}
        fmus.append(Unpacked(path, read_description(path), starts))
    return fmus


class Setup(Structure):
    """As in bench.c."""

    _fields_ = [
        ("library", c_char_p),
        ("guid", c_char_p),
        ("resources", c_char_p),
        ("references", POINTER(c_uint)),
        ("values", POINTER(c_double)),
        ("count", c_size_t),
    ]


class References(Structure):
    """As in bench.c."""

    _fields_ = [
        ("force_in", c_uint),
        ("motion_out", c_uint * 3),
        ("motion_in", c_uint * 3),
        ("force_out", c_uint),
    ]


def setup(fmu: Unpacked) -> Setup:
    library = fmu.folder / f"binaries/{fmpy.platform}/{fmu.identifier}{fmpy.sharedLibraryExtension}"
    return Setup(
        str(library).encode(),
        fmu.description.token.encode(),
        (fmu.folder / "resources").as_uri().encode(),
        (c_uint * len(fmu.starts))(*fmu.references(*fmu.starts)),
        (c_double * len(fmu.starts))(*fmu.starts.values()),
        len(fmu.starts),
    )


def references_of(fmus: Sequence[Unpacked]) -> References:
    one, two = fmus
    return References(
        one.references("F")[0],
        (c_uint * 3)(*one.references("x1", "v1", "a1")),
        (c_uint * 3)(*two.references("x1", "v1", "a1")),
        two.references("F")[0],
    )


def c_loop(fmus: Sequence[Unpacked], folder: Path) -> Callable[[int, bool], Sample]:
    """The function of bench.c, compiled like the kernel."""
    compiler = shutil.which("cc")
    assert compiler, "a C compiler is needed for the loop to compare with"
    library = folder / "bench.so"
    flags = ["-std=gnu11", "-O3", "-DNDEBUG", "-ffp-contract=off", "-Wall", "-Wextra", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, ROOT / "benchmarks/bench.c", "-o", library, "-ldl", "-lm"], check=True)
    function = ctypes.CDLL(str(library)).bench
    function.restype = c_double
    function.argtypes = [
        *(POINTER(Setup), POINTER(Setup), POINTER(References), c_long),
        *(c_double, c_double, c_int, POINTER(c_double)),
    ]
    references = references_of(fmus)

    def sample(steps: int, extrapolate: bool) -> Sample:
        final = (c_double * 4)()
        seconds = function(setup(fmus[0]), setup(fmus[1]), references, steps, STEP, CHORD, extrapolate, final)
        return Sample(seconds / steps, tuple(final))

    return sample


def from_python(fmus: Sequence[Unpacked], steps: int, extrapolate: bool) -> Sample:
    """The same calls through FMPy."""
    slaves = []
    for fmu in fmus:
        slave = FMU2Slave(guid=fmu.description.token, modelIdentifier=fmu.identifier, unzipDirectory=str(fmu.folder))
        slave.instantiate()
        slave.setReal(fmu.references(*fmu.starts), list(fmu.starts.values()))
        slave.setupExperiment()
        slave.enterInitializationMode()
        slaves.append(slave)
    one, two = slaves
    f_in, motion_out = fmus[0].references("F"), fmus[0].references("x1", "v1", "a1")
    motion_in, f_out = fmus[1].references("x1", "v1", "a1"), fmus[1].references("F")

    def consistent(x1: float, v1: float, a1: float) -> tuple[float, float]:
        while True:
            two.setReal(motion_in, [x1, v1, a1])
            (force,) = two.getReal(f_out)
            one.setReal(f_in, [force])
            (found,) = one.getReal(motion_out[2:])
            residual = found - a1
            if abs(residual) <= 1e-12 * max(abs(a1), 5.0):
                return found, force
            a1 -= CHORD * residual

    x1, v1 = one.getReal(motion_out[:2])
    a1, force = consistent(x1, v1, 0.0)
    for slave in slaves:
        slave.exitInitializationMode()
    before, t_before = (0.0,) * 4, 0.0
    began = time.thread_time()
    for k in range(steps):
        t = k * STEP
        u = (x1, v1, a1, force)
        one.setReal(f_in, [force])
        two.setReal(motion_in, [x1, v1, a1])
        if extrapolate and k > 0:
            *rates, rate = ((now - then) / (t - t_before) for now, then in zip(u, before, strict=True))
            one.setRealInputDerivatives(f_in, [1], [rate])
            two.setRealInputDerivatives(motion_in, [1] * 3, rates)
        one.doStep(t, STEP)
        x1, v1, a1 = one.getReal(motion_out)
        two.doStep(t, STEP)
        two.getReal(f_out)
        a1, force = consistent(x1, v1, a1)
        before, t_before = u, t
    seconds = time.thread_time() - began
    for slave in slaves:
        slave.terminate()
        slave.freeInstance()
    return Sample(seconds / steps, (x1, v1, a1, force))


def iterated(steps: int, repeats: int, folder: Path) -> bool:
    """Measure steps that are iterated, print, and say whether both needed the same iterations to the same values."""
    settings = ssptool.Settings(master="iterated", step_size=STEP, stop_time=steps * STEP)
    plan = ssptool.plan(SYSTEM, settings=settings)
    fmus = unpacked(plan, folder / "iterated")
    c_loop(fmus, folder)  # compiles bench.c
    function = ctypes.CDLL(str(folder / "bench.so")).bench_iterated
    function.restype = c_double
    function.argtypes = [
        *(POINTER(Setup), POINTER(Setup), POINTER(References), c_long, c_double, c_double),
        *(POINTER(c_double), c_double, POINTER(c_double)),
    ]
    nominal = dict(zip(map(str, plan.signals), plan.nominal, strict=True))
    inputs = ("System2.x1", "System2.v1", "System2.a1", "System1.F")
    sizes, final = (c_double * 4)(*(nominal[name] for name in inputs)), (c_double * 5)()
    own, bare = [], []
    for _ in range(repeats):
        own.append(engine(plan))
        seconds = function(setup(fmus[0]), setup(fmus[1]), references_of(fmus), steps, STEP, CHORD, sizes, 1e-8, final)
        bare.append(seconds / steps)
    ratio = statistics.median(sample.seconds / floor for sample, floor in zip(own, bare, strict=True))
    verdict = "within" if ratio <= ITERATED_BUDGET else "OVER"
    print(f"Iterated, interpolated inputs; {steps} macro steps of {STEP:g} s, {final[4]:.3f} iterations on average")
    print(f"  C loop, nothing recorded   {1e6 * statistics.median(bare):8.3f} µs per macro step")
    print(
        f"  engine                     {1e6 * statistics.median(s.seconds for s in own):8.3f} µs    "
        f"ratio {ratio:.3f}, {verdict} the budget of {ITERATED_BUDGET}"
    )
    close = np.allclose(own[-1].final, final[:4], rtol=1e-7, atol=1e-9)
    print("  both ended at the same values to 1e-7" if close else f"  DIFFERENT ends: {own[-1].final}, {final[:4]}")
    return bool(close)


# -- report ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measurement:
    """What one process found: engine and C loop in turns."""

    own: tuple[Sample, ...]
    bare: tuple[Sample, ...]
    written: tuple[Sample, ...]
    bare_longer: tuple[Sample, ...]
    whole: tuple[float, ...]
    python: Sample


def planned(inputs: ApproximationWord, steps: int) -> Plan:
    settings = ssptool.Settings(master="jacobi", approximation=inputs, step_size=STEP, stop_time=steps * STEP)
    return ssptool.plan(SYSTEM, settings=settings)


def measure(inputs: ApproximationWord, steps: int, repeats: int) -> Measurement:
    plan, longer = planned(inputs, steps), planned(inputs, LONGER * steps)
    extrapolate = inputs == "extrapolate"
    own, bare, to_file, bare_longer, whole = [], [], [], [], []
    with tempfile.TemporaryDirectory() as folder, folder_in_memory() as memory:
        fmus = unpacked(plan, Path(folder))
        loop = c_loop(fmus, Path(folder))
        for _ in range(repeats):  # interleaved, so that a change of clock rate meets both
            own.append(engine(plan))
            bare.append(loop(steps, extrapolate))
            to_file.append(into_file(longer, memory / "run.parquet"))
            bare_longer.append(loop(longer.interval.steps, extrapolate))
            whole.append(whole_run(plan))
        python = from_python(fmus, steps, extrapolate)
        return Measurement(tuple(own), tuple(bare), tuple(to_file), tuple(bare_longer), tuple(whole), python)


def measured(inputs: ApproximationWord, steps: int, repeats: int, processes: int) -> Measurement:
    """The measurements of several processes, one after the other, as one; `repeats` in each."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        each = list(pool.map(measure, *zip(*[(inputs, steps, repeats)] * processes, strict=True)))
    return Measurement(
        tuple(sample for one in each for sample in one.own),
        tuple(sample for one in each for sample in one.bare),
        tuple(sample for one in each for sample in one.written),
        tuple(sample for one in each for sample in one.bare_longer),
        tuple(seconds for one in each for seconds in one.whole),
        min((one.python for one in each), key=lambda sample: sample.seconds),
    )


def compare(inputs: ApproximationWord, steps: int, repeats: int, processes: int) -> bool:
    """Measure, print, and say whether all ended at the same values."""
    found = measured(inputs, steps, repeats, processes)
    own, bare = found.own, found.bare
    floor = statistics.median(sample.seconds for sample in bare)
    ratios = [one.seconds / other.seconds for one, other in zip(own, bare, strict=True)]
    ratio = statistics.median(ratios)
    spread = statistics.quantiles(ratios, n=4)
    verdict = "within" if ratio <= BUDGET else "OVER"
    recorded = len(planned(inputs, steps).recorded)
    print(f"Jacobi, inputs: {inputs}; {steps} macro steps of {STEP:g} s, {recorded} connectors recorded")
    print(f"  C loop, nothing recorded   {1e6 * floor:8.3f} µs per macro step")
    print(
        f"  engine                     {1e6 * statistics.median(s.seconds for s in own):8.3f} µs    "
        f"ratio {ratio:.3f} (quartiles {spread[0]:.3f} … {spread[2]:.3f}), {verdict} the budget of {BUDGET}"
    )
    whole, to_file = found.whole, [sample.wall for sample in found.written]
    stepping = [sample.seconds for sample in found.written]
    ratio = _ratio(to_file, found.bare_longer)
    print(
        f"  into Parquet, wall time    {1e6 * statistics.median(to_file):8.3f} µs    ratio {ratio:.3f}, "
        f"{'within' if ratio <= BUDGET else 'OVER'} the budget of {BUDGET}"
    )
    print(
        f"    the thread that steps    {1e6 * statistics.median(stepping):8.3f} µs    "
        f"ratio {_ratio(stepping, found.bare_longer):.3f}, in CPU time; another one writes"
    )
    print(f"  `simulate`, wall time      {1e6 * statistics.median(whole):8.3f} µs    ratio {_ratio(whole, bare):.3f}")
    fmpys = found.python.seconds
    print(f"  FMPy from Python           {1e6 * fmpys:8.3f} µs    ratio {fmpys / floor:.1f}")
    ends = [*own, *bare, found.python], [*found.written, *found.bare_longer]
    finals = [{sample.final for sample in samples} for samples in ends]
    if all(len(each) == 1 for each in finals):
        print("  all ended at the same values, bit for bit")
        return True
    print(f"  ended at DIFFERENT values of x1, v1, a1, F: {[sorted(each) for each in finals]}")
    return False


def _ratio(whole: Sequence[float], bare: Sequence[Sample]) -> float:
    return statistics.median(seconds / sample.seconds for seconds, sample in zip(whole, bare, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10_000, help="macro steps per repeat")
    parser.add_argument("--repeats", type=int, default=5, help="in each process; the median of all is printed")
    parser.add_argument("--processes", type=int, default=5, help="for Jacobi, one after the other")
    arguments = parser.parse_args()
    steps, repeats, processes = arguments.steps, arguments.repeats, arguments.processes
    same = [compare(inputs, steps, repeats, processes) for inputs in ("hold", "extrapolate")]
    with tempfile.TemporaryDirectory() as folder:
        same.append(iterated(steps, repeats * processes, Path(folder)))
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
