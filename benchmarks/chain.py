"""A chain of N tiny FMUs: what the engine costs per macro step and component, and how long it takes to start.

Every FMU (tiny.c) has one input, one output that is what the input was before its last step plus the time then, and no
more memory than these two numbers, so that thousands of instances stay in the caches. Compared with a C loop that makes
the same FMI calls, and holds inputs over each step; inputs and outputs are recorded, in memory and then in files.

All are CPU times, so that other processes count little; but into Parquet, which a thread of its own writes, the wall
time is given as well, and the time in which pyarrow alone encodes the same columns from memory. Files have two lengths:
what the longer one takes more is the cost of a step, and what the shorter one takes besides its steps is the fixed cost
of a file: to open and to close it, and to write its last group of rows when there are no steps any more. The files are
in memory where the system has a folder for that: how fast a disk is, is not the engine's.
"""

import argparse
import ctypes
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))

import ssptool
from benchmarks.memory import folder_in_memory
from benchmarks.tiny_fmu import INPUT, NAME, OUTPUT, build
from ssptool.documents.archive import Archive
from ssptool.engine.assembly.assembly import assemble
from ssptool.engine.recording.formats import open_writer
from ssptool.engine.recording.parquet import GROUP_ROWS
from ssptool.engine.recording.writer import WritingThread, blocks_at_once, rows_at_once
from ssptool.engine.run.steps import steps_of
from ssptool.engine.run.system import LoadedSystem, SystemSteps
from ssptool.engine.trace import Floats
from ssptool.types import Plan
from tests.fmu.building import build_shared

BUDGET, PARQUET_BUDGET, CSV_BUDGET, START_BUDGET = 4.0, 0.05, 0.15, 3.0
CHUNK, CSV_ROWS = 500, 8_000
FILE_VALUES = 1 << 24, 1 << 26  # in a short and in a long file
FILE_REPEATS = 3
STEPS_TIMES_COMPONENTS = 400_000
ENDLESS = 1e6  # [s] of simulation: beyond what any of these runs reaches
_LOOP = """
#define _POSIX_C_SOURCE 199309L
#include <stddef.h>
#include <stdint.h>
#include <time.h>
typedef int Set(void *, const uint32_t *, size_t, const double *);
typedef int Get(void *, const uint32_t *, size_t, double *);
typedef int Step(void *, double, double, int);
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
double chain(void **components, long n, Set *set, Get *get, Step *step, long steps, double h, double *y)
{
    const uint32_t u = 0, was = 1;
    int status = 0;
    const double began = now();
    for (long k = 0; k < steps; k++) {
        for (long i = n - 1; i >= 0; i--) {
            if (i > 0)
                status |= set(components[i], &u, 1, &y[i - 1]);
            status |= step(components[i], (double)k * h, h, 1);
            status |= get(components[i], &was, 1, &y[i]);
        }
    }
    return status > 1 ? -1.0 : now() - began;
}
"""


def write(folder: Path, fmus: Path, count: int) -> Path:
    folder.mkdir()
    (folder / "resources").mkdir()
    (folder / f"resources/{NAME}.fmu").write_bytes((fmus / f"{NAME}.fmu").read_bytes())
    connectors = "".join(
        f'<ssd:Connector name="{name}" kind="{kind}"><ssc:Real/></ssd:Connector>'
        for name, kind in ((INPUT, "input"), (OUTPUT, "output"))
    )
    elements = "".join(
        f'<ssd:Component name="C{i}" source="resources/{NAME}.fmu" type="application/x-fmu-sharedlibrary">'
        f"<ssd:Connectors>{connectors}</ssd:Connectors></ssd:Component>\n"
        for i in range(count)
    )
    connections = "".join(
        f'<ssd:Connection startElement="C{i}" startConnector="{OUTPUT}" '
        f'endElement="C{i + 1}" endConnector="{INPUT}"/>\n'
        for i in range(count - 1)
    )
    (folder / "SystemStructure.ssd").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n<ssd:SystemStructureDescription '
        'xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription" '
        'xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="1.0" name="chain">'
        f'<ssd:System name="chain"><ssd:Elements>{elements}</ssd:Elements>'
        f"<ssd:Connections>{connections}</ssd:Connections></ssd:System></ssd:SystemStructureDescription>",
        encoding="utf-8",
    )
    return folder


@dataclass(frozen=True)
class Filed:
    """Times [s] per macro step with all in a Parquet file: wall time, CPU times of the thread that steps and of the one
    that writes, and that of pyarrow for encoding such columns and nothing else. `fixed` [s] is the wall time that a
    file takes besides.
    """

    wall: float
    stepping: float
    writing: float
    pyarrow: float
    fixed: float


@dataclass(frozen=True)
class Chain:
    """CPU times [s]: of the engine, of the C loop, of writing the same rows as CSV; between the marks of the start."""

    own: tuple[float, ...]
    bare: tuple[float, ...]
    marks: tuple[float, ...]
    csv: float
    values: int
    parquet: Filed | None


def chain_of_calls(system: Path, count: int, steps: int, loop: ctypes.CDLL) -> tuple[Sequence[float], Sequence[float]]:
    """CPU times [s] of the engine and of the C loop."""
    found = run(system, count, steps, loop, files=False)
    return found.own, found.bare


def run(system: Path, count: int, steps: int, loop: ctypes.CDLL, *, files: bool) -> Chain:
    marks = [time.process_time()]
    settings = ssptool.Settings(master="jacobi", approximation="hold", step_size=1e-3, stop_time=ENDLESS)
    plan = ssptool.plan(system, settings=settings)
    marks.append(time.process_time())
    loaded = LoadedSystem(plan)
    marks.append(time.process_time())
    with ExitStack() as stack:
        archive = stack.enter_context(Archive.open(system))
        assembly = stack.enter_context(assemble(loaded.native, loaded.adopted, plan, archive))
        marks.append(time.process_time())
        assert loaded.initialize(assembly)[0].ok
        stepper = steps_of(loaded, assembly)
        marks.append(time.process_time())
        rows = np.zeros((steps, 1 + len(plan.recorded)))
        components = (ctypes.c_void_p * count)(*(instance.component for instance in assembly.instances))
        functions = assembly.instances[0].functions
        calls = [ctypes.c_void_p(functions[name]) for name in ("fmi2SetReal", "fmi2GetReal", "fmi2DoStep")]
        own, bare = [], []
        for _ in range(5):
            began = time.thread_time()
            assert stepper.run(rows).failure is None
            own.append(time.thread_time() - began)
            y = (ctypes.c_double * count)()
            bare.append(loop.chain(components, count, *calls, steps, ctypes.c_double(1e-3), y))
        with folder_in_memory() as folder:
            filed = in_parquet(plan, stepper, folder / "chain.parquet") if files else None
    csv = written(plan, rows, system.with_suffix(".csv")) if files else 0.0
    return Chain(tuple(own), tuple(bare), tuple(marks), csv, rows.size, filed)


def in_parquet(plan: Plan, stepper: SystemSteps, path: Path) -> Filed:
    """From files of two lengths, the medians of some each."""
    width = 1 + len(plan.recorded)
    short, long = (GROUP_ROWS * max(1, values // width // GROUP_ROWS) for values in FILE_VALUES)
    few, many = (
        np.median([one_file(plan, stepper, steps, path) for _ in range(FILE_REPEATS)], axis=0)
        for steps in (short, long)
    )
    each = (many - few) / (long - short)
    fixed = float(few[0] - short * each[0])
    wall, stepping, writing = map(float, each)
    return Filed(wall, stepping, writing, encoding(path, GROUP_ROWS), fixed)


def one_file(plan: Plan, stepper: SystemSteps, steps: int, path: Path) -> Floats:
    """Times from the first step to the file's end, as those of `clocks`; in blocks as they come in a run."""
    path.unlink(missing_ok=True)
    width = 1 + len(plan.recorded)
    chunk = rows_at_once(steps, width)
    began = clocks()
    with WritingThread(blocks_at_once(width)) as thread:
        writer = thread.around(partial(open_writer, path, plan.columns))([b""])
        for done in range(0, steps, chunk):
            rows = thread.lend(min(chunk, steps - done), width)
            assert stepper.run(rows).failure is None
            writer.write(rows)
        writer.close("{}")
    return clocks() - began


def clocks() -> Floats:
    """[s]: wall time, CPU time of this thread, that of the others."""
    own = time.thread_time()
    return np.array([time.perf_counter(), own, time.process_time() - own])


def encoding(path: Path, rows: int) -> float:
    """[s] of CPU time per row in which pyarrow encodes the first ones in that file as one group, in memory, from
    columns that lie ready.
    """
    table = pq.read_table(path)[:rows].combine_chunks()
    path.unlink()
    seconds = []
    for _ in range(3):
        began = time.thread_time()
        pq.write_table(table, pa.BufferOutputStream(), use_dictionary=False, write_statistics=False, compression="none")
        seconds.append(time.thread_time() - began)
    return statistics.median(seconds) / len(table)


def written(plan: Plan, rows: Floats, path: Path) -> float:
    """[s] of CPU time for writing the rows in chunks, as they come in a run, to a file of `CSV_ROWS` or more."""
    seconds, times = [], max(1, CSV_ROWS // len(rows))
    chunks = np.array_split(rows, max(1, len(rows) // CHUNK))
    for _ in range(3):
        writer = open_writer(path, plan.columns)
        began = time.thread_time()
        for chunk in times * chunks:
            writer.write(chunk)
        writer.close("{}")
        seconds.append((time.thread_time() - began) / times)
        path.unlink()
    return statistics.median(seconds)


def measure(system: Path, count: int, loop: ctypes.CDLL) -> None:
    steps = max(20, STEPS_TIMES_COMPONENTS // count)
    found = run(system, count, steps, loop, files=True)
    assert found.parquet is not None
    per, filed = 1e6 / steps / count, found.parquet
    ratio = statistics.median(a / b for a, b in zip(found.own, found.bare, strict=True))
    planned, frozen, loaded, ready = np.diff(found.marks)
    wall, stepping, writing, pyarrow = (1e6 * seconds / count for seconds in astuple(filed)[:-1])
    start, csv = sum((planned, frozen, loaded, ready)), 1e6 * found.csv / found.values
    print(
        f"{count:6} {per * statistics.median(found.bare):9.4f} {per * statistics.median(found.own):9.4f}"
        f" {ratio:6.2f}{mark(ratio, BUDGET)} {wall:8.4f}{mark(wall, PARQUET_BUDGET)}"
        f" {stepping:8.4f} {writing:8.4f} {pyarrow:8.4f} {filed.fixed:8.3f}"
        f" {csv:8.4f}{mark(csv, CSV_BUDGET)} {planned:8.3f} {frozen:7.3f} {loaded:7.3f} {ready:7.3f}"
        f" {start:7.3f}{mark(start, START_BUDGET)}",
        flush=True,
    )


def mark(found: float, budget: float) -> str:
    """Behind a figure that is over its budget."""
    return " " if found <= budget else "!"


def bare_loop(folder: Path) -> ctypes.CDLL:
    """The C loop, compiled."""
    (folder / "chain.c").write_text(_LOOP)
    loop = ctypes.CDLL(str(build_shared(folder / "chain.so", folder / "chain.c", "-O2")))
    loop.chain.restype = ctypes.c_double
    return loop


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("counts", nargs="*", type=int, default=[10, 100, 500, 1000, 2000])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder)
        loop = bare_loop(folder)
        print(
            f"µs per macro step and component, budget {BUDGET:g} × C in memory; into Parquet {PARQUET_BUDGET:g} µs of "
            f"wall time, beside it the CPU times of both threads,\nand in s what a file takes besides; CSV in µs per "
            f"value, budget {CSV_BUDGET:g} | s to start, budget {START_BUDGET:g} at N = 2000 | ! is over a budget"
        )
        print(f"{'':38}into Parquet")
        print("     N    bare C    engine   ratio     wall      step    write  pyarrow    fixed      CSV", end="  ")
        print("    plan  freeze    load    init     sum")
        for count in parser.parse_args().counts:
            measure(write(folder / f"chain{count}", folder, count), count, loop)
    return 0


if __name__ == "__main__":
    sys.exit(main())
