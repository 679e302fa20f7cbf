"""Record everything that users see, before a restructuring, and compare it afterwards.

    python -m tests.freeze write FILE.json
    python -m tests.freeze compare FILE.json

Recorded are the help of every command, the catalogue of rules, the public API, what `validate`, `info`, `graph`,
`explain`, `plan` and `run` print of every example system and of every document by other tools in ../shared/corpus, the
pictures that `draw` makes of them, every file after a sequence of edits, the traces of every example system with every
master, bit by bit, those of inputs from CSV and of a scenario, of FMUs in processes of their own, and
the table of a small study. Only the command line and public names
of `ssptool` are used, so that the modules behind them may move. Times of day, durations and paths of the machine are
left out. `compare` names each difference and ends with status 1 if there is one.
"""

import base64
import difflib
import hashlib
import inspect
import json
import multiprocessing
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import ssptool

ROOT = Path(__file__).parents[1]
CORPUS = Path("../shared/corpus")
JOBS = 2

CHECKED = (
    ("validate", "--format", "json"),
    ("info", "--format", "json"),
    ("graph", "--format", "json"),
    ("graph", "--format", "text"),
    ("explain", "--all", "--format", "json"),
    ("explain", "--all", "--format", "text"),
    ("plan",),
)
"""Commands that are called for every structure, with its path behind the first word."""
OF_FMUS = (("validate", "--format", "json"), ("info", "--format", "json"), ("info", "--format", "text"))

WHOLE = "whole interval"
ACCELERATIONS = ("none", "constant", "aitken", "anderson", "iqn-ils", "newton")
MASTERS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "jacobi, hold": {"master": "jacobi", "approximation": "hold"},
    "jacobi, extrapolate 1": {"master": "jacobi", "approximation": "extrapolate", "input_order": 1},
    "jacobi, extrapolate 2": {"master": "jacobi", "approximation": "extrapolate", "input_order": 2},
    "jacobi, 2 threads": {"master": "jacobi", "threads": 2},
    "jacobi, late": {"master": "jacobi", "exchange": "late"},
    "jacobi, adaptive": {"master": "jacobi", "adaptive": 1e-4},
    "gauss-seidel": {"master": "gauss-seidel"},
    "gauss-seidel, interpolate 1": {"master": "gauss-seidel", "approximation": "interpolate", "input_order": 1},
    "gauss-seidel, interpolate 2": {"master": "gauss-seidel", "approximation": "interpolate", "input_order": 2},
    "gauss-seidel, late": {"master": "gauss-seidel", "exchange": "late"},
    **{f"iterated, {name}": {"master": "iterated", "acceleration": name} for name in ACCELERATIONS},
    "iterated, hold": {"master": "iterated", "approximation": "hold"},
    "iterated, interpolate 2": {"master": "iterated", "approximation": "interpolate", "input_order": 2},
    "iterated, 3 iterations": {"master": "iterated", "iterations": 3},
    "iterated, no prediction": {"master": "iterated", "prediction_order": 0},
    "iterated, residual-relative": {"master": "iterated", "convergence": {"residual-relative": 1e-6}},
    "adaptive": {"adaptive": 1e-4},
    "co-simulation": {"implementation": "cs"},
    "model exchange, bdf": {"implementation": "me", "integrator": "bdf"},
    "model exchange, adams": {"implementation": "me", "integrator": "adams", "tolerance": 1e-8},
    **{f"init {name}": {"init": name} for name in ("newton", "aitken", "anderson", "fixed-point", "homotopy")},
}
"""Name → settings. Each is run for `STEPS` steps of `STEP`; what a system refuses is recorded too."""
STEP, STEPS = 0.001, 150

EDITED = "dual_mass_oscillator"
VARIANTS = ("SystemStructure.ssd", "FMI1.ssd", "FMI3.ssd", "Mixed.ssd")
TABLE = "time [s],force [N]\n0,1\n0.05,-2\n0.05,3\n0.0735,0.5\n0.1,0.5\n"
SCENARIO = """\
events:
  - {time: 20ms, model: System1, variable: F, action: bias, value: 1.5}
  - {time: 0.0405, model: System2, variable: x1, action: override, value: 0.25}
  - {time: 60ms, model: System1, variable: m1, action: override, value: 2.0}
  - {time: 80ms, model: System2, variable: x1, action: reset}
end: 0.12
"""
STIMULATED = {
    name: MASTERS[name]
    for name in (
        "default",
        "jacobi, hold",
        "jacobi, extrapolate 1",
        "jacobi, extrapolate 2",
        "gauss-seidel, interpolate 1",
        "iterated, newton",
        "iterated, interpolate 2",
        "adaptive",
        "model exchange, bdf",
    )
}
"""Masters of runs with an input from a table, with a scenario, and with both."""
EDITS = (
    ("set", ".", "System1.m1=2.5", "--stop-time", "5"),
    ("set", ".", "System2.k2=0.02", "--unit", "N/mm", "--into", "resources/stiff.ssv"),
    ("add", ".", "resources/System1.fmu", "--name", "Extra"),
    ("add", ".", "--connector", "force", "--kind", "input", "--unit", "N"),
    ("connect", ".", "Extra.F", "System2.F", "--factor", "0.5"),
    ("connect", ".", "Extra", "System2"),
    ("disconnect", ".", "System1.F", "System2.F"),
    ("connect", ".", "force", "System1.F"),
    ("rename", ".", "Extra", "Third"),
    ("bind", ".", "resources/heavy_flange.ssv"),
    ("remove", ".", "Third"),
    ("unbind", ".", "resources/heavy_flange.ssv"),
    ("unset", ".", "System2.k2"),
    ("validate", ".", "--format", "json"),
    ("plan", "."),
    ("upgrade", ".", "--types", "fmi3"),
    ("downgrade", "."),
    ("new", "fresh.ssd", "resources/System1.fmu", "resources/System2.fmu"),
    ("connect", "fresh.ssd", "System1", "System2"),
    ("draw", "fresh.ssd"),
)
"""One after the other, in a copy of the system `EDITED`."""
STUDY = {
    "settings": {"step_size": STEP, "stop_time": 0.05, "master": "jacobi"},
    "factors": {"System2.k2": [5, 10, 20], "System1.m1": {"values": [1.0, 2.0]}},
    "results": {"peak": 'max("System1.x1")', "last": 'final("System2.F")'},
}

Item = dict[str, Any]


def main(arguments: Sequence[str]) -> int:
    match arguments:
        case ["write", file]:
            found = record()
            Path(file).write_text(json.dumps(found, indent=1, sort_keys=True), encoding="utf-8")
            print(f"{len(found['items'])} items of {found['commit']} written to {file}")
            return 0
        case ["compare", file]:
            before = json.loads(Path(file).read_text(encoding="utf-8"))
            return report(before, record())
        case _:
            print(__doc__)
            return 2


def record() -> dict[str, Any]:
    """All items: name → text, or trace, whose values stand in `values` by their hash."""
    os.chdir(ROOT)
    sources = commit()
    items: dict[str, Item] = {}
    values: dict[str, str] = {}
    with ProcessPoolExecutor(JOBS, multiprocessing.get_context("spawn")) as pool:
        for found, found_values in pool.map(do, list(jobs())):
            items |= found
            values |= found_values
    return {"commit": sources, "items": items, "values": values}


def commit() -> str:
    """The commit of the sources, and whether they were changed since."""
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=40"]
    return subprocess.run(asked, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()


Job = tuple[str, tuple[Any, ...]]
"""Name of a function of this module that gives an item, or pairs of name and item, and what it is called with."""


def jobs() -> Iterator[Job]:
    yield from traces()
    yield "public_api", ()
    yield "helps", ()
    yield "printed", (("rule", "--all", "--markdown"),)
    for path in structures():
        for name, *options in CHECKED:
            yield "printed", ((name, path, *options),)
        yield "drawn", (path,)
    for path in fmus():
        for name, *options in OF_FMUS:
            yield "printed", ((name, path, *options),)
    for path in systems():
        for ending in ("csv", "mat", "parquet"):
            yield "written", (path, ending)
        yield "in_processes", (path,)
    yield "edited", ()
    yield "studied", ()


def traces() -> Iterator[Job]:
    for path in systems():
        yield "runs", (path,)
    for name in VARIANTS:
        yield "stimulated", (name,)


def systems() -> list[str]:
    return sorted(path.as_posix() for path in Path("systems").glob("*/*.ssd"))


def structures() -> list[str]:
    corpus = chain(CORPUS.rglob("*.ssd"), CORPUS.rglob("OspSystemStructure*.xml"))
    return [*systems(), *sorted(path.as_posix() for path in chain(Path("systems").glob("*/*/*.ssd"), corpus))]


def fmus() -> list[str]:
    unpacked = (path.parent for path in CORPUS.rglob("modelDescription.xml"))
    return sorted(path.as_posix() for path in chain(Path("systems").rglob("*.fmu"), unpacked))


def do(job: Job) -> tuple[dict[str, Item], dict[str, str]]:
    function, arguments = job
    values: dict[str, str] = {}
    pairs: Callable[..., Iterable[tuple[str, Item]]] = globals()[function]
    return dict(pairs(*arguments, values) if function in WITH_TRACES else pairs(*arguments)), values


WITH_TRACES = ("runs", "written", "stimulated", "in_processes")


def ran(*arguments: str, folder: Path = ROOT) -> str:
    """What `python -m ssptool` prints to both streams, called in this process, and its exit status if it is not 0."""
    os.environ |= {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        status = _called(arguments, folder, (out.fileno(), err.fileno()))
        streams = []
        for file in (out, err):
            file.seek(0)
            streams.append(normal(file.read().decode("utf-8"), folder))
    noise = f"--- standard error\n{streams[1]}" if streams[1] else ""
    return streams[0] + noise + (f"--- exit status {status}\n" if status else "")


def _called(arguments: Sequence[str], folder: Path, files: tuple[int, int]) -> object:
    """Exit status of the command, with what it prints in two files."""
    before, kept, home = sys.argv, [os.dup(stream) for stream in (1, 2)], Path.cwd()
    sys.argv = ["ssptool", *arguments]
    os.chdir(folder)
    for stream, file in zip((1, 2), files, strict=True):
        os.dup2(file, stream)
    try:
        runpy.run_module("ssptool", run_name="__main__")
        return 0
    except SystemExit as end:
        return end.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, file in zip((1, 2), kept, strict=True):
            os.dup2(file, stream)
            os.close(file)
        sys.argv = before
        os.chdir(home)


def normal(text: str, folder: Path = ROOT) -> str:
    for path, name in ((folder, "<here>"), (ROOT, "<root>"), (CORPUS.resolve(), "<corpus>")):
        text = text.replace(str(path), name)
    text = re.sub(r"[\d.e+-]+ m?s of wall time(, [\d.e+-]+ × real time)?", "… of wall time", text)
    return re.sub(r"0x[0-9a-f]{6,}", "0x…", text)


def helps(*parents: str) -> Iterator[tuple[str, Item]]:
    """Help of the command itself, and of all below it that it lists."""
    help = ran(*parents, "--help")
    yield f"ssptool {' '.join((*parents, '--help'))}", {"text": help}
    if "COMMAND [ARGS]" in help:
        for panel in re.findall(r"╭─ (?!Options|Arguments)[^╮]*╮\n(.*?)╰", help, re.DOTALL):
            for name in re.findall(r"^│ ([a-z][a-z-]*) ", panel, re.MULTILINE):
                yield from helps(*parents, name)


def printed(arguments: Sequence[str]) -> Iterator[tuple[str, Item]]:
    yield f"ssptool {' '.join(arguments)}", {"text": ran(*arguments)}


def written(system: str, ending: str, values: dict[str, str]) -> Iterator[tuple[str, Item]]:
    """The summary of a run and the file that it writes, as the command reads it back."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"results.{ending}")
        run = "run", str(ROOT / system), "--stop-time", "0.02", "--output", str(file)
        text = ran(*run, folder=Path(folder))
        yield f"run {system}: what it prints, with {ending}", {"text": text}
        yield (
            f"run {system}: its files, with {ending}",
            {"text": "\n".join(sorted(path.name for path in Path(folder).iterdir()))},
        )
        if ending == "csv":
            yield f"run {system}: the text of {ending}", {"text": file.read_text(encoding="utf-8")}
        yield f"run {system}: the trace in {ending}", trace_item(ssptool.read_trace(file), values)


def drawn(system: str) -> Iterator[tuple[str, Item]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "picture.svg")
        text = ran("draw", str(ROOT / system), "--output", str(file), folder=Path(folder))
        picture = file.read_text(encoding="utf-8") if file.exists() else "no picture"
        yield f"draw {system}", {"text": normal(f"{text}{picture}", Path(folder))}


def edited() -> Iterator[tuple[str, Item]]:
    """After each edit: what it prints, and the files that it changed."""
    with copied() as folder:
        before = texts(folder)
        for number, arguments in enumerate(EDITS):
            text = ran(*arguments, folder=folder)
            after = texts(folder)
            gone = [f"--- {name} is gone" for name in sorted(before.keys() - after.keys())]
            changed = [f"--- {name}\n{after[name]}" for name in sorted(after) if after[name] != before.get(name)]
            yield f"edit {number}: {' '.join(arguments)}", {"text": "\n".join([text, *gone, *changed])}
            before = after


@contextmanager
def copied() -> Iterator[Path]:
    """A folder with a copy of the system `EDITED`."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(shutil.copytree(ROOT / "systems" / EDITED, Path(folder, EDITED)))


def texts(folder: Path) -> dict[str, str]:
    """Documents and pictures by their paths; of all other files the hash."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            readable = path.suffix in (".ssd", ".ssv", ".ssm", ".ssb", ".svg")
            text = content.decode("utf-8") if readable else hashlib.sha256(content).hexdigest()
            found[path.relative_to(folder).as_posix()] = normal(text, folder)
    return found


def stimulated(variant: str, values: dict[str, str]) -> Iterator[tuple[str, Item]]:
    """Traces with an input that a CSV file gives, with a scenario, and with both."""
    with copied() as folder:
        system = str(folder / variant)
        for name, content in (("drive.csv", TABLE), ("fault.yaml", SCENARIO)):
            Path(folder, name).write_text(content, encoding="utf-8")
        connected = {"scenario": folder / "fault.yaml"}
        open_input = {"inputs": folder / "drive.csv", "interpolation": {"force": "linear"}}
        for case, stimuli in (("scenario", connected), ("input", open_input), ("both", {**connected, **open_input})):
            if case == "input":
                for edit in (EDITS[3], EDITS[6], EDITS[7]):
                    name, _, *arguments = edit
                    ran(name, system, *arguments, folder=folder)
            for name, settings in STIMULATED.items():
                short = {"step_size": STEP, "stop_time": STEP * STEPS, **settings}
                label = f"{EDITED}/{variant}, {case}, {name}"
                yield f"trace {label}", run_item(system, short, values, folder, **stimuli)


def in_processes(system: str, values: dict[str, str]) -> Iterator[tuple[str, Item]]:
    """Traces of FMUs in processes of their own, and in one for all."""
    for processes in ("each", 1):
        short = {"step_size": STEP, "stop_time": 0.05, "processes": processes}
        yield f"trace {system}, processes {processes}", run_item(system, short, values)


def studied() -> Iterator[tuple[str, Item]]:
    """The table of a small study; times of day and durations are left out."""
    with tempfile.TemporaryDirectory() as folder:
        system = str(ROOT / "systems" / EDITED)
        results = ssptool.study({"system": system, **STUDY}, Path(folder, "out"), workers=1)
        table = results.to_pandas()
        kept = [name for name in table.columns if not re.search("time|seconds|duration|started|ended", str(name))]
        yield "study: its columns", {"text": "\n".join(map(str, table.columns))}
        yield "study: its table", {"text": normal(table[kept].to_csv(index=True), Path(folder))}


def runs(system: str, values: dict[str, str]) -> Iterator[tuple[str, Item]]:
    """The trace of each master, or what the system or the run says against it."""
    for name, settings in MASTERS.items():
        label = f"{system}, {name}"
        short = {"step_size": STEP, "stop_time": STEP * STEPS, **settings}
        yield f"plan {label}", plan_item(system, short)
        yield f"trace {label}", run_item(system, short, values)
    yield f"trace {system}, {WHOLE}", run_item(system, {}, values)


def plan_item(system: str, settings: Mapping[str, Any]) -> Item:
    try:
        plan = ssptool.plan(system, settings=settings)
        choices = (f"{choice}" for choice in plan.choices)
        return {"text": normal("\n".join([*choices, *ssptool.renderers.call_sequence(plan)]))}
    except Exception as error:
        return {"text": refusal(error)}


def run_item(
    system: str,
    settings: Mapping[str, Any],
    values: dict[str, str],
    folder: Path = ROOT,
    **stimuli: Any,
) -> Item:
    try:
        result = ssptool.simulate(system, settings=settings, isolated=False, **stimuli)
    except Exception as error:
        return {"text": normal(refusal(error), folder)}
    counts = "steps", "rejected", "events", "evaluations", "iterations_max", "iterations_mean"
    counts = (*counts, "loops_solved", "loop_iterations", "loops_rescued", "rescue_iterations")
    ending = [f"{count}: {getattr(result.statistics, count)}" for count in counts]
    ending += [f"failure: {result.failure}", f"end: {result.end}", *(f"note: {note}" for note in result.notes)]
    return {"ending": normal("\n".join(ending), folder), **trace_item(result.trace, values)}


def refusal(error: Exception) -> str:
    """Of an error of ours its sentence, which may stand in another class one day; of all else the class, too."""
    ours = any(kind.__module__.split(".")[0] == "ssptool" for kind in type(error).__mro__)
    return normal(f"refused: {error}" if ours else f"{type(error).__name__}: {error}")


def trace_item(trace: Any, values: dict[str, str]) -> Item:
    columns = zip(trace.columns, trace.signals, strict=True)
    return {
        "time": stored(trace.t, values),
        "signals": {name: stored(trace[name], values) for name in trace.signals},
        "columns": "\n".join(f"{name} [{c.unit}] {c.type} {c.description}" for c, name in columns),
    }


def stored(array: Any, values: dict[str, str]) -> str:
    """The hash under which the bits of an array are in `values`."""
    numbers = np.asarray(array)
    text = numbers.dtype.hasobject or numbers.dtype.kind in "US"
    bits = json.dumps([repr(value) for value in numbers.tolist()]).encode() if text else numbers.tobytes()
    kind = "text" if text else f"{numbers.dtype.str}{list(numbers.shape)}"
    key = f"{kind} {hashlib.sha256(bits).hexdigest()}"
    values[key] = base64.b64encode(zlib.compress(bits, 6)).decode()
    return key


def restored(key: str, values: Mapping[str, str]) -> list[Any]:
    bits, kind = zlib.decompress(base64.b64decode(values[key])), key.split(" ")[0]
    if kind == "text":
        return list(json.loads(bits))
    form, shape = re.fullmatch(r"([^\[]*)(\[.*\])", key.rsplit(" ", 1)[0]).groups()  # type: ignore[union-attr]
    return list(np.frombuffer(bits, form).reshape(json.loads(shape)))


def public_api() -> Iterator[tuple[str, Item]]:
    """The names of the package, their signatures, and those of the members of classes."""
    yield "public API", {"text": "\n".join(line for name in dir(ssptool) for line in described(name))}


def described(name: str) -> Iterator[str]:
    thing = getattr(ssptool, name)
    if isinstance(thing, Mapping):
        yield f"{name}: {', '.join(sorted(map(str, thing)))}"
    elif not callable(thing):
        yield f"{name}: {thing if isinstance(thing, str) else type(thing).__name__}"
    else:
        yield f"{name}{signature(thing)}"
    if isinstance(thing, type):
        yield from (f"    {line}" for line in members(thing))


def members(kind: type) -> Iterator[str]:
    ours = [each for each in kind.__mro__ if each.__module__.split(".")[0] == "ssptool"]
    for name in sorted({name for each in ours for name in vars(each) if not name.startswith("_")}):
        member = inspect.getattr_static(kind, name)
        if isinstance(member, staticmethod | classmethod) or inspect.isfunction(member):
            yield f"{name}{signature(getattr(kind, name))}"
        else:
            yield f"{name} = {member.value!r}" if isinstance(member, Enum) else name


def signature(thing: Any) -> str:
    """Without the modules of annotations, and with one spelling for defaults that are made anew."""
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return "(…)"
    text = re.sub(r"<dataclasses._MISSING_TYPE object at 0x[0-9a-f]+>", "<factory>", text)
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations that are not evaluated
    return normal(re.sub(r"\b(?:[A-Za-z_]\w*\.)+([A-Za-z_])", r"\1", text))


def report(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """Print each difference; gives the exit status."""
    names = sorted(before["items"].keys() | after["items"].keys())
    found = {name: list(differences(name, before, after)) for name in names}
    for lines in found.values():
        print(*lines, sep="\n", end="\n" if lines else "")
    count = sum(1 for lines in found.values() if lines)
    print(f"{count} of {len(names)} items differ between {before['commit']} and {after['commit']}")
    return 1 if count else 0


def differences(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    one, other = before["items"].get(name), after["items"].get(name)
    if one == other:
        return
    yield f"=== {name}"
    if one is None or other is None:
        yield "only before" if other is None else "only after"
        return
    for part in ("text", "ending", "columns"):
        old, new = (side.get(part, "").splitlines() for side in (one, other))
        yield from difflib.unified_diff(old, new, f"before: {part}", f"after: {part}", lineterm="")
    if "time" in one and "time" in other:
        yield from trace_difference(one, other, before["values"], after["values"])


def trace_difference(one: Item, other: Item, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """The first time at which a signal differs, and which."""
    times, new_times = restored(one["time"], old), restored(other["time"], new)
    if one["time"] != other["time"]:
        row = first_difference(times, new_times)
        yield f"times: {len(times)} rows before, {len(new_times)} after; they differ from row {row} on"
    common = [name for name in one["signals"] if name in other["signals"]]
    changed = [name for name in common if one["signals"][name] != other["signals"][name]]
    if not changed:
        return
    columns = {name: (restored(one["signals"][name], old), restored(other["signals"][name], new)) for name in changed}
    row, signal = min((first_difference(*pair), name) for name, pair in columns.items())
    values = [f"{side[row]!r}" if row < len(side) else "nothing" for side in columns[signal]]
    yield f"{len(changed)} of {len(common)} signals differ; first {signal} in row {row}, t = {_at(times, row)}:"
    yield f"    {values[0]} before, {values[1]} after"


def first_difference(one: Sequence[Any], other: Sequence[Any]) -> int:
    """The first row whose bits differ; the shorter length where only the lengths do."""
    rows = min(len(one), len(other))
    return next((row for row in range(rows) if _bits(one[row]) != _bits(other[row])), rows)


def _bits(value: Any) -> object:
    return value.tobytes() if hasattr(value, "tobytes") else value


def _at(times: Sequence[Any], row: int) -> str:
    return f"{times[row]} s" if row < len(times) else "after the end"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
