"""Mutants: small changes of the code of which tests should notice each. `python .ci/mutants.py PYTHON N SEED [AREA …]`

A copy of the tree with its built modules is made in build/mutants; the tree itself is never changed. In each area, N
mutants of Cosmic Ray are chosen at random and tested with the tests of that area, by this PYTHON. Those that survive
are printed; each is to be looked at: a test is missing, or the change means nothing.

Run by a Python that has cosmic-ray.
"""

import logging
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome

ROOT = Path(__file__).parents[1]
COPY = ROOT / "build" / "mutants" / "copy"


class Area(NamedTuple):
    """Modules, and the tests that are to notice what changes in them."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]


AREAS = (
    Area(
        "conversion",
        ("ssptool/network/conversion.py",),
        tuple(f"tests/network/test_{name}.py" for name in ("types", "units", "parameters", "connections")),
    ),
    Area(
        "editing",
        tuple(f"ssptool/editing/{name}.py" for name in ("changes", "rename", "set", "transformations", "units")),
        tuple(
            f"tests/editing/test_{name}.py"
            for name in (
                "arrays",
                "nested",
                "parameter_tables",
                "renaming",
                "setting",
                "text_changes",
                "transforming",
                "unsetting",
            )
        ),
    ),
    Area(
        "masters",
        tuple(
            f"ssptool/engine/masters/{name}.py"
            for name in ("acceleration", "adaptive", "convergence", "energy", "gauss_seidel", "iterated", "program")
        ),
        tuple(
            f"tests/engine/masters/test_{name}.py"
            for name in ("orders", "fixed_iterations", "interfaces", "adaptive", "energy", "inputs_that_are_held")
        ),
    ),
    Area(
        "initialization",
        ("ssptool/engine/run/initialization.py", "ssptool/engine/run/loops.py"),
        (
            *(f"tests/engine/test_{name}.py" for name in ("initialize", "kept_starts", "loops_of_fmus")),
            "tests/engine/test_parameter_wires.py",
            "tests/engine/small/test_ranges_in_loops.py",
            "tests/fmu/test_absent_functions.py",
            "tests/results/report/test_failed_iterations.py",
        ),
    ),
)

NOT_ASKED = ("RemoveDecorator", "BitOr")
"""Without its decorator a class of values is none, and `|` stands between types: nothing runs with these."""


def make_copy(python: Path) -> None:
    """The tree as it is, with the modules that are built and the FMUs of examples; what it imports is in the copy."""
    shutil.rmtree(COPY, ignore_errors=True)
    named = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    fmus = (path.relative_to(ROOT) for path in (ROOT / "systems").rglob("*.fmu"))
    for name in (*filter(None, named.split("\0")), *fmus):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)
    code = "import sysconfig; print(sysconfig.get_path('platlib'))"
    installed = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    shutil.copytree(Path(installed, "ssptool"), COPY / "ssptool", dirs_exist_ok=True)
    (COPY / "sitecustomize.py").write_text(
        'import sys\nsys.meta_path[:] = [one for one in sys.meta_path if "_editable" not in type(one).__module__]\n'
    )
    # Their content tells whether compiled modules are up to date: mutants come and go within a second.
    compiled = [python, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "ssptool", "tests"]
    subprocess.run(compiled, cwd=COPY, check=True)


def seconds_of(command: str) -> float:
    """Time that the tests take without a mutant [s]; they must pass."""
    began = time.monotonic()
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the tests fail without a mutant: {command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return time.monotonic() - began


def chosen(area: Area, count: int, seed: int) -> list[MutationSpec]:
    with use_db(str(COPY / f"{area.name}.sqlite")) as database:
        init([Path(module) for module in area.modules], database, {})
        found = [one.mutations[0] for one in database.work_items]
    asked = [one for one in found if not any(part in one.operator_name for part in NOT_ASKED)]
    asked.sort(key=lambda one: (str(one.module_path), one.start_pos, one.operator_name))
    return random.Random(seed).sample(asked, min(count, len(asked)))


def survivors(area: Area, python: Path, count: int, seed: int) -> tuple[int, list[str]]:
    """The number of mutants, and the changes of which the tests notice nothing."""
    tests = " ".join(area.tests)
    command = f"{python} -m pytest -q -x -n 2 -p no:cacheprovider {tests}"
    limit = 60 + 5 * seconds_of(command)
    print(f"{area.name}: the tests take {(limit - 60) / 5:.0f} s", flush=True)
    alive: list[str] = []
    mutants = chosen(area, count, seed)
    for number, mutant in enumerate(mutants, 1):
        result = mutate_and_test([mutant], command, limit)
        if result.test_outcome == TestOutcome.SURVIVED:
            alive.append(result.diff)
        place = f"{mutant.module_path}:{mutant.start_pos[0]} {mutant.operator_name}"
        print(
            f"{area.name} {number}/{len(mutants)}: {result.test_outcome.value if result.test_outcome else '-'} {place}",
            flush=True,
        )
    return len(mutants), alive


def main() -> None:
    python, count, seed = Path(sys.argv[1]).absolute(), int(sys.argv[2]), int(sys.argv[3])
    logging.disable(logging.CRITICAL)
    make_copy(python)
    os.chdir(COPY)
    os.environ |= {"PYTHONPATH": str(COPY), "PYTHONDONTWRITEBYTECODE": "1", "SSPTOOL_ACCURACY": "off"}
    lines = []
    for area in AREAS:
        if sys.argv[4:] and area.name not in sys.argv[4:]:
            continue
        tried, alive = survivors(area, python, count, seed)
        lines.append(f"{area.name}: {len(alive)} of {tried} mutants survive")
        print(*alive, sep="\n")
    print(*lines, sep="\n")


if __name__ == "__main__":
    main()
