"""A chain of N tiny FMUs: what the engine costs per macro step and component, and how long it takes to start.

Every FMU has one input and one output that is what the input was before its last step. Compared with a C loop that
makes the same FMI calls; inputs and outputs are recorded in memory. All are CPU times, so that other
processes count little.
"""

import argparse
import ctypes
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import ssptool
from ssptool.documents.archive import Archive
from ssptool.engine.assembly import assemble
from ssptool.engine.coupling import Evaluation, couple
from ssptool.engine.initialize import initialize
from tests.engine.carriers import build
from tests.fmu.typed_fmu import build_shared

BUDGET, START_BUDGET = 4.0, 3.0
STEPS_TIMES_COMPONENTS = 400_000
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
    const uint32_t u = 0, was = 10;
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
    (folder / "resources/carrier2.fmu").write_bytes((fmus / "carrier2.fmu").read_bytes())
    connectors = "".join(
        f'<ssd:Connector name="{name}" kind="{kind}"><ssc:Real/></ssd:Connector>'
        for name, kind in (("Real_u", "input"), ("Real_was", "output"))
    )
    elements = "".join(
        f'<ssd:Component name="C{i}" source="resources/carrier2.fmu" type="application/x-fmu-sharedlibrary">'
        f"<ssd:Connectors>{connectors}</ssd:Connectors></ssd:Component>\n"
        for i in range(count)
    )
    connections = "".join(
        f'<ssd:Connection startElement="C{i}" startConnector="Real_was" endElement="C{i + 1}" endConnector="Real_u"/>\n'
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


def measure(system: Path, count: int, loop: ctypes.CDLL) -> None:
    steps = max(20, STEPS_TIMES_COMPONENTS // count)
    marks = [time.process_time()]
    settings = ssptool.Settings(master="jacobi", step_size=1e-3, stop_time=steps * 1e-3)
    plan = ssptool.plan(system, settings=settings)
    marks.append(time.process_time())
    with ExitStack() as stack:
        assembly = stack.enter_context(assemble(plan, stack.enter_context(Archive.open(system))))
        marks.append(time.process_time())
        initialized = initialize(assembly)
        assert initialized.report.ok
        coupled = couple(assembly, Evaluation(assembly, ()), initialized.loops)
        stepper = plan.master.start(coupled)
        marks.append(time.process_time())
        rows = np.zeros((steps, 1 + len(plan.recorded)))
        components = (ctypes.c_void_p * count)(*(instance.component for instance in assembly.instances))
        functions = assembly.instances[0].functions
        calls = [ctypes.c_void_p(functions[name]) for name in ("fmi2SetReal", "fmi2GetReal", "fmi2DoStep")]
        own, bare = [], []
        for repeat in range(5):
            began = time.thread_time()
            assert stepper.run(repeat * steps, rows).failure is None
            own.append(time.thread_time() - began)
            y = (ctypes.c_double * count)()
            bare.append(loop.chain(components, count, *calls, steps, ctypes.c_double(1e-3), y))
    per = 1e6 / steps / count
    ratio = statistics.median(a / b for a, b in zip(own, bare, strict=True))
    planned, loaded, ready = np.diff(marks)
    print(
        f"{count:6} {per * statistics.median(bare):9.4f} {per * statistics.median(own):9.4f} {ratio:7.2f}"
        f" {planned:9.3f} {loaded:8.3f} {ready:8.3f} {sum((planned, loaded, ready)):8.3f}",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("counts", nargs="*", type=int, default=[10, 100, 500, 1000, 2000])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder)
        (folder / "chain.c").write_text(_LOOP)
        loop = ctypes.CDLL(str(build_shared(folder / "chain.so", folder / "chain.c")))
        loop.chain.restype = ctypes.c_double
        print(
            f"µs per macro step and component, budget {BUDGET:g} × C | s to start, budget {START_BUDGET:g} at N = 2000"
        )
        print("     N    bare C    engine   ratio      plan     load     init      sum")
        for count in parser.parse_args().counts:
            measure(write(folder / f"chain{count}", folder, count), count, loop)
    return 0


if __name__ == "__main__":
    sys.exit(main())
