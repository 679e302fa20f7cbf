"""Other programs beside us: the dual-mass oscillator and the chain of tiny FMUs, with the same macro step.

Each takes a package and steps it from within its own process; nothing is recorded by them, inputs and outputs by us.
They exchange signals one step late and solve no algebraic loop, so that they make fewer calls than we do.
Times are CPU times of the process over all its threads; ratios are to a C loop that makes our calls. A program that is
not installed is named as missing.
"""

import argparse
import ctypes
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import fmpy
from fmpy.fmi2 import FMU2Slave

import ssptool
from benchmarks import cofmupy_apart
from benchmarks.bench import SYSTEM, c_loop, engine, from_python, planned, unpacked
from benchmarks.chain import bare_loop, chain_of_calls, write
from benchmarks.tiny_fmu import NAME, TOKEN, build
from tests.systems.peers import _load_tbb, packed_for_peers

STEP = 1e-3


def libcosim(package: Path, steps: int) -> float:
    """[s] of CPU time."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level

    log_output_level(CosimLogLevel.ERROR)
    execution = CosimExecution.from_ssp_file(str(package), round(STEP * 1e9))
    execution.step(1)  # which initializes
    began = time.process_time()
    execution.step(steps)
    return time.process_time() - began


def ecos(package: Path, steps: int) -> float:
    """[s] of CPU time."""
    _load_tbb()
    from ecospy import EcosLib, EcosSimulation

    EcosLib.set_log_level("warn")
    with EcosSimulation(STEP, ssp_path=str(package)) as simulation:
        # The oscillator's values are bound under this name; the chain needs none.
        started = simulation.init(parameter_set="values") if "chain" not in package.name else simulation.init()
        if not started:
            raise RuntimeError(EcosLib.get_last_error())
        began = time.process_time()
        simulation.step(steps)
        return time.process_time() - began


PEERS: dict[str, tuple[str, Callable[[Path, int], float]]] = {
    "libcosim": ("libcosimpy", libcosim),
    "ecos": ("ecospy", ecos),
}


PATIENCE = 20.0  # [s] for one process of a program


def apart(function: Callable[[Path, int], float], package: Path, steps: int, repeats: int = 3) -> float | str:
    """The median of several processes; or why there is none."""
    found: list[float | str] = []
    while len(found) < repeats and not (found and isinstance(found[-1], str)):
        found.append(_once(function, package, steps))
    failed = [one for one in found if isinstance(one, str)]
    return failed[0] if failed else statistics.median(one for one in found if isinstance(one, float))


def _once(function: Callable[[Path, int], float], package: Path, steps: int) -> float | str:
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(theirs, function, package, steps))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(PATIENCE) else f"did not end within {PATIENCE:g} s"
    except EOFError:
        return "its process crashed"
    finally:
        process.kill()
        process.join()


def _send(connection: Connection, function: Callable[[Path, int], float], package: Path, steps: int) -> None:
    try:
        connection.send(function(package, steps))
    except Exception as error:
        connection.send(f"failed: {(str(error) or type(error).__name__).splitlines()[0]}")


def line(name: str, seconds: float | str, floor: float, per: float) -> None:
    """`floor` [s] of the C loop; `per`: what 1 µs is counted for."""
    if isinstance(seconds, str):
        print(f"  {name:<12} {seconds}")
    else:
        print(f"  {name:<12} {1e6 * seconds / per:9.3f} µs   {seconds / floor:8.2f} × C", flush=True)


def others(package: Path, steps: int, floor: float, per: float) -> None:
    for name, (module, function) in PEERS.items():
        line(name, apart(function, package, steps) if find_spec(module) else f"missing: {module}", floor, per)


def oscillator(steps: int, folder: Path) -> None:
    print(f"dual-mass oscillator, {steps} macro steps of {STEP:g} s; per macro step")
    plan = planned("hold", steps)
    fmus = unpacked(plan, folder)
    loop = c_loop(fmus, folder)
    pairs = [(loop(steps, False).seconds, engine(plan).seconds) for _ in range(5)]
    floor = steps * statistics.median(bare for bare, _ in pairs)
    line("bare C", floor, floor, steps)
    line("ssptool", floor * statistics.median(own / bare for bare, own in pairs), floor, steps)
    line("FMPy", steps * from_python(fmus, steps, False).seconds, floor, steps)
    others(packed_for_peers(SYSTEM.name, folder / "peers"), steps, floor, steps)
    line("CoFmuPy", cofmupy_apart.step(plan, SYSTEM, folder, steps, STEP), floor, steps)


def chain(count: int, steps: int, folder: Path, loop: ctypes.CDLL) -> None:
    print(f"chain of {count}, {steps} macro steps; per macro step and component")
    system = write(folder / f"chain{count}", folder, count)
    own, bare = chain_of_calls(system, count, steps, loop)
    floor, per = statistics.median(bare), steps * count
    line("bare C", floor, floor, per)
    line("ssptool", floor * statistics.median(a / b for a, b in zip(own, bare, strict=True)), floor, per)
    line("FMPy", chain_in_fmpy(folder / f"{NAME}.fmu", count, steps, folder), floor, per)
    package = folder / f"chain{count}.ssp"
    ssptool.pack(system, package)
    others(package, steps, floor, per)
    planned_chain = ssptool.plan(system, settings=ssptool.Settings(step_size=STEP, stop_time=steps * STEP))
    line("CoFmuPy", cofmupy_apart.step(planned_chain, system, folder, steps, STEP), floor, per)


def chain_in_fmpy(fmu: Path, count: int, steps: int, folder: Path) -> float:
    """[s] of CPU time for the calls of the C loop, from Python through FMPy."""
    path = fmpy.extract(fmu, folder / "fmpy")
    with ExitStack() as stack:
        slaves = []
        for _ in range(count):
            slave = FMU2Slave(guid=TOKEN, modelIdentifier=NAME, unzipDirectory=str(path))
            slave.instantiate()
            stack.callback(slave.freeInstance)
            slave.setupExperiment()
            slave.enterInitializationMode()
            slave.exitInitializationMode()
            slaves.append(slave)
        y = [0.0] * count
        began = time.process_time()
        for k in range(steps):
            for i in range(count - 1, -1, -1):
                if i:
                    slaves[i].setReal([0], [y[i - 1]])
                slaves[i].doStep(k * STEP, STEP)
                (y[i],) = slaves[i].getReal([1])
        return time.process_time() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10_000, help="of the oscillator; a tenth in chains")
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "peers").mkdir()
        oscillator(steps, folder)
        build(folder)
        loop = bare_loop(folder)
        for count in (10, 100):
            chain(count, steps // 10, folder, loop)
    return 0


if __name__ == "__main__":
    sys.exit(main())
