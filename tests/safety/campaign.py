"""Damaged files of every kind, given to the commands that read them: `make fuzz`.

    python -m tests.safety.campaign --cases 100000 --seed 1

Each case is made from the seed and its number alone (`--only NUMBER` repeats it): a valid file whose structure is
damaged (attributes, order, types, lengths, numbers, entries of zips, trees of JSON and TOML) or whose bytes are. A
worker with limited memory gives it to commands, and looks for tracebacks, hangs, files outside their place, listening
ports, and output that a terminal would obey.
"""

import argparse
import contextlib
import io
import json
import math
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.rules.test_fuzz import CASES, damage, flipped, in_fmu, prepare, zipped

SYSTEMS = Path(__file__).parents[2] / "systems"
DUAL_MASS = SYSTEMS / "dual_mass_oscillator"
LONGEST = 10
"""Seconds of processor time for one command, if `--seconds` names no other."""
STUCK = 9
"""Times that limit without a sign of life, on a machine that others use too, after which a worker is ended."""
MEMORY = 2**30
"""Bytes of address space beyond what the process has before its first case."""
BUG = 70

Rng = random.Random
Line = list[Any]
Faults = list[str]

# -- damage ------------------------------------------------------------------------------------------------------

SCALARS: list[Any] = [
    *[
        None,
        True,
        False,
        0,
        -1,
        1,
        2,
        2**31,
        2**63,
        -(2**63) - 1,
        10**400,
        0.5,
        -0.0,
        1e308,
        1e-320,
        math.inf,
        math.nan,
    ],
    *[
        "",
        " ",
        "x",
        "1",
        "1e999",
        "nan",
        "[",
        "*",
        "a.b",
        "../../x",
        "/etc/passwd",
        "\x1b[2J",
        "a\n::error::x",
        "\u202e",
    ],
    *["☃" * 300, "x" * 20_000, "max(", "System1.x1", "2000-13-45", "1 ms", "-5 s", "{}", "9**9**9"],
]


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a tree with each of its keys."""
    if isinstance(tree, dict | list):
        for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from places(tree[key])


def damaged_tree(tree: Any, chance: Rng) -> Any:
    """A tree of JSON or TOML with values replaced, moved, nested, renamed, repeated and deleted."""
    for _ in range(chance.randint(1, 4)):
        spots = list(places(tree))
        if not spots or chance.random() < 0.02:
            return chance.choice([*SCALARS, [], {}, [[]] * 50])
        (container, key), (other, other_key) = chance.choice(spots), chance.choice(spots)
        match chance.randrange(9):
            case 0 | 1 | 2:
                container[key] = chance.choice(SCALARS)
            case 3:
                container[key] = json.loads(json.dumps(other[other_key], default=str))
            case 4:
                del container[key]
            case 5:
                container[key] = chance.choice([[], {}, [container[key]], {"x": container[key]}])
            case 6 if isinstance(container, dict):
                container[chance.choice(["", "x", str(other_key), "\x1b[2J", "a.b"])] = container.pop(key)
            case 7 if isinstance(container, list):
                container += container[:1] * chance.choice([1, 100])
            case _:
                for _ in range(chance.choice([3, 60])):
                    container[key] = [container[key]]
    return tree


def damaged_json(content: bytes, chance: Rng) -> bytes:
    if chance.random() < 0.15:
        return flipped(content, chance)
    if chance.random() < 0.02:
        return b"[" * chance.choice([500, 100_000])
    return json.dumps(damaged_tree(json.loads(content), chance)).encode("utf-8", "surrogatepass")


def damaged_toml(content: bytes, chance: Rng) -> bytes:
    if chance.random() < 0.15:
        return flipped(content, chance)
    tree = damaged_tree(tomllib.loads(content.decode()), chance)
    table = tree if isinstance(tree, dict) else {"x": tree}
    return "".join(f"{json.dumps(str(key))} = {as_toml(value)}\n" for key, value in table.items()).encode()


def as_toml(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{json.dumps(str(key))} = {as_toml(one)}" for key, one in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(as_toml, value)) + "]"
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case _:
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "")


def damaged_csv(content: bytes, chance: Rng) -> bytes:
    if chance.random() < 0.3:
        return flipped(content, chance)
    rows = [line.split(b",") for line in content.splitlines()]
    for _ in range(chance.randint(1, 4)):
        row = chance.choice(rows[:1] * 3 + rows) if rows else []
        match chance.randrange(6):
            case 0 | 1 if row:
                row[chance.randrange(len(row))] = str(chance.choice(SCALARS)).encode("utf-8", "replace")
            case 2 if row:
                del row[chance.randrange(len(row))]
            case 3 if row:
                row.append(chance.choice([b"", b"1", b'"', b"time", row[0]]))
            case 4:
                rows.insert(chance.randint(0, len(rows)), list(row))
            case _ if rows:
                rows.remove(row)
    return chance.choice([b"\n", b"\r\n"]).join(b",".join(row) for row in rows) + b"\n"


def damaged_zip(content: bytes, chance: Rng) -> bytes:
    """Entries renamed, repeated, replaced and declared otherwise than they are."""
    if chance.random() < 0.3:
        return flipped(content, chance)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = [(name, archive.read(name)) for name in archive.namelist()]
    names = [
        "../out.txt",
        "/out.txt",
        "a/../../out",
        "C:\\out",
        "con",
        "x" * 400,
        "\x1b[2J",
        "A.SSD",
        "a\\b",
        "",
        "resources",
    ]
    packed = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            info = zipfile.ZipInfo(chance.choice(names) if chance.random() < 0.1 else name)
            info.compress_type = chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
            if chance.random() < 0.05:
                info.external_attr, data = 0o120777 << 16, b"../../out.txt"  # a symbolic link
            archive.writestr(info, data)
            if chance.random() < 0.05:
                archive.writestr(info, data[: len(data) // 2])
    made = bytearray(packed.getvalue())
    at = made.rfind(b"PK\x01\x02")
    if at >= 0 and chance.random() < 0.4:
        field = at + chance.choice([8, 10, 16, 20, 24, 28, 30, 42])
        made[field : field + 2] = chance.randbytes(2)
    return bytes(made)


# -- seeds and kinds -----------------------------------------------------------------------------------------------

SCENARIO = {
    "defaults": {"model": "System2"},
    "events": [
        {"time": 0.01, "model": "System2", "variable": "x1", "action": "override", "value": 0.1},
        {"time": 0.02, "model": "System1", "variable": "F", "action": "bias", "value": 0.5},
        {"time": 0.03, "model": "System1", "variable": "F", "action": "reset"},
    ],
    "end": 0.04,
}
STUDY = b"""system = "system"
[settings]
step_size = 0.01
stop_time = 0.05
[start_values]
"System1.m1" = 2.0
[factors]
"System2.k2" = [5, 10]
zeta = {free = true, low = 0.01, high = 0.1, count = 2}
"System2.c2" = "2 * zeta * sqrt(value('System2.k2'))"
[design]
kind = "grid"
[results]
peak = 'max("System1.x1")'
ratio = "peak / 2"
[traces]
signals = ["*.x1"]
"""
SETTINGS = b"""select = ["SSD", "UNIT"]
ignore = ["SSD-GEO"]
strict = false
allow-outside = ["x"]
for = ["fmpy"]
"""


def make_seeds(seeds: Path) -> None:
    """Valid files of every kind, made by ssptool itself."""
    import ssptool

    seeds.mkdir()
    shutil.copytree(DUAL_MASS, seeds / "system", ignore=shutil.ignore_patterns("fmi1", "fmi3", "no_flange"))
    for ending in ("csv", "parquet", "mat", "h5", "mf4"):
        ssptool.simulate(seeds / "system", stop_time=0.05, step_size=0.01, output=seeds / f"r.{ending}")
    with ssptool.Simulation(seeds / "system", stop_time=0.05, step_size=0.01) as simulation:
        simulation.step()
        simulation.save(seeds / "state.npz")
    (seeds / "s.toml").write_bytes(STUDY)
    (seeds / "scenario.yaml").write_text(json.dumps(SCENARIO))
    (seeds / "ssptool.toml").write_bytes(SETTINGS)
    (seeds / "inputs.csv").write_text("time,System1.F,System2.x1 [m]\n0,1,0\n0.02,2,0\n0.05,0,1\n")
    shutil.copytree(seeds / "system", seeds / "open")
    structure = seeds / "open/SystemStructure.ssd"
    structure.write_text(re.sub("<ssd:Connections>.*?</ssd:Connections>", "", structure.read_text(), flags=re.DOTALL))
    status, _, err = call(seeds, ["study", "s.toml", "--workers", 1])
    assert status == 0, err


FORMATS = ("text", "json", "sarif", "junit", "github")


def package(case: Path, seeds: Path, chance: Rng) -> list[Line]:
    prepare(chance.choice(CASES), case / "p")
    damage(case / "p", chance)
    subject = "p"
    if chance.random() < 0.4:
        zipped(case / "p", case / "p.ssp", Rng(1))
        packed = (case / "p.ssp").read_bytes()
        with contextlib.suppress(zipfile.BadZipFile, ValueError, NotImplementedError, zipfile.zlib.error):  # type: ignore[attr-defined]
            packed = damaged_zip(packed, chance)
        (case / "p.ssp").write_bytes(packed)
        subject = "p.ssp"
    return [["validate", subject, "--format", chance.choice(FORMATS)], chance.choice(looks_at(subject, chance))]


def looks_at(subject: str, chance: Rng) -> list[Line]:
    return [
        ["info", subject],
        ["explain", subject, "--all"],
        ["graph", subject, "--format", chance.choice(["text", "json", "dot"])],
        ["draw", subject, "--output", chance.choice(["d.svg", "d.html"])],
        ["plan", subject],
        ["validate", subject, "--unsafe-fixes", "--diff"],
        ["upgrade", subject, "--diff"],
        ["unpack", subject, "out"],
        ["pack", subject, "packed.ssp"],
        ["diff", subject, subject],
    ]


def document(case: Path, seeds: Path, chance: Rng) -> list[Line]:
    prepare(chance.choice(CASES), case / "p")
    damage(case / "p", chance)
    files = sorted(path for path in (case / "p").rglob("*.ss[dvmb]"))
    return [["validate", chance.choice(files).relative_to(case), "--format", chance.choice(FORMATS)]] if files else []


def fmu(case: Path, seeds: Path, chance: Rng) -> list[Line]:
    sources = [
        *sorted((seeds / "system/resources").glob("*.fmu")),
        *sorted((Path(__file__).parents[1] / "rules/fmus").glob("*.xml")),
    ]
    source = chance.choice(sources)
    path = case / "f.fmu"
    if source.suffix == ".xml":
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(source, "modelDescription.xml")
    else:
        shutil.copy(source, path)
    path.write_bytes(
        in_fmu(path.read_bytes(), chance) if chance.random() < 0.8 else damaged_zip(path.read_bytes(), chance)
    )
    return [
        chance.choice(
            [
                ["info", "f.fmu"],
                ["info", "f.fmu", "--variables", "*"],
                ["validate", "f.fmu"],
                ["convert", "f.fmu", "c.ssp"],
            ]
        )
    ]


def file_for_system(name: str, way: Callable[[bytes, Rng], bytes], arguments: Line) -> Callable[..., list[Line]]:
    def make(case: Path, seeds: Path, chance: Rng) -> list[Line]:
        (case / "system").symlink_to(seeds / "system")
        (case / "open").symlink_to(seeds / "open")
        (case / name).write_bytes(way((seeds / name).read_bytes(), chance))
        return [arguments]

    return make


def results(case: Path, seeds: Path, chance: Rng) -> list[Line]:
    ways = {"r.csv": damaged_csv, "r.parquet": damaged_parquet, "r.mat": damaged_mat, "r.h5": flipped, "r.mf4": flipped}
    name, way = chance.choice(list(ways.items()))
    for path in seeds.glob("r.*"):
        shutil.copy(path, case)
    (case / name).write_bytes(way((case / name).read_bytes(), chance))
    shutil.copy(seeds / "r.csv", case / "reference.csv")
    return [
        ["compare", name, "reference.csv", "--format", chance.choice(["text", "json"])],
        chance.choice(
            [
                ["plot", name, "--output", "p.svg"],
                ["compare", "reference.csv", name],
                ["plot", name, "--output", "p.html"],
            ]
        ),
    ]


def damaged_parquet(content: bytes, chance: Rng) -> bytes:
    import pyarrow
    from pyarrow import parquet

    if chance.random() < 0.4:
        return flipped(content, chance)
    table = parquet.read_table(io.BytesIO(content))
    metadata = dict(table.schema.metadata or {})
    for key in list(metadata):
        with contextlib.suppress(ValueError):
            metadata[key] = damaged_json(metadata[key], chance)
    columns, names = list(table.columns), list(table.column_names)
    place = chance.randrange(len(columns))
    match chance.randrange(5):
        case 0:
            columns[place] = columns[place].cast(pyarrow.string())
        case 1:
            columns[place] = pyarrow.nulls(len(table))
        case 2:
            names[place] = str(chance.choice(SCALARS))[:200].encode("utf-8", "replace").decode()
        case 3:
            columns[place] = pyarrow.array([[1.0]] * len(table))
        case _:
            pass
    made = io.BytesIO()
    parquet.write_table(pyarrow.table(columns, names=names).replace_schema_metadata(metadata), made)
    return made.getvalue()


def damaged_mat(content: bytes, chance: Rng) -> bytes:
    import numpy as np
    from scipy.io import loadmat, savemat

    if chance.random() < 0.4:
        return flipped(content, chance)
    arrays = {name: value for name, value in loadmat(io.BytesIO(content)).items() if not name.startswith("__")}
    name = chance.choice(sorted(arrays))
    arrays[name] = chance.choice(
        [
            np.zeros((0, 0)),
            np.array("x"),
            arrays[name].T,
            arrays[name][:1],
            np.full((2, 2), np.nan),
            np.zeros((3, 3, 3)),
            1e300,
        ]
    )
    if chance.random() < 0.3:
        del arrays[name]
    made = io.BytesIO()
    savemat(
        made, arrays, format="4" if chance.random() < 0.5 and all(np.ndim(a) <= 2 for a in arrays.values()) else "5"
    )
    return made.getvalue()


def manifest(case: Path, seeds: Path, chance: Rng) -> list[Line]:
    (case / "system").symlink_to(seeds / "system")
    shutil.copy(seeds / "r.csv", case)
    (case / "r.csv.json").write_bytes(damaged_json((seeds / "r.csv.json").read_bytes(), chance))
    return [
        chance.choice(
            [
                ["report", "system", "r.csv", "--output", "r.html"],
                ["compare", "r.csv", "r.csv"],
                ["plot", "r.csv", "--output", "p.svg"],
            ]
        )
    ]


def study_folder(case: Path, seeds: Path, chance: Rng) -> list[Line]:
    shutil.copytree(seeds / "s.study", case / "s.study")
    files = sorted(path for path in (case / "s.study").rglob("*") if path.is_file() and path.stat().st_size)
    path = chance.choice(files)
    way = {".json": damaged_json, ".parquet": damaged_parquet}.get(path.suffix, flipped)
    with contextlib.suppress(ValueError, OSError):
        path.write_bytes(way(path.read_bytes(), chance))
    return [
        ["study", "status", "s.study"],
        chance.choice([["study", "results", "s.study"], ["plot", "s.study", "--output", "p.svg"]]),
    ]


def state(case: Path, seeds: Path, chance: Rng) -> list[Line]:
    """The state of an FMU itself stays as it is: what its library makes of it is its own affair."""
    import numpy as np

    with np.load(seeds / "state.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    names = [name for name in sorted(arrays) if not name.startswith("state_")]
    name = chance.choice(names)
    found = arrays[name]
    facts = [one for one in names if arrays[one].dtype == np.uint8 and arrays[one].tobytes()[:1] == b"{"]
    if facts and chance.random() < 0.6:
        arrays[facts[0]] = np.frombuffer(damaged_json(arrays[facts[0]].tobytes(), chance), dtype=np.uint8)
    else:
        shapes = [
            found.ravel(),
            found[:1] if found.ndim else found,
            np.zeros(0),
            np.array("x"),
            np.zeros((2, 2, 2)),
            found.astype("f4"),
        ]
        arrays[name] = chance.choice(shapes)
    if chance.random() < 0.2:
        del arrays[name]
    np.savez_compressed(case / "state.npz", **arrays)
    if chance.random() < 0.3:
        path = case / "state.npz"
        path.write_bytes(damaged_zip(path.read_bytes(), chance))
    return [["(restore)", seeds / "system", case / "state.npz"]]


KINDS: dict[str, tuple[int, Callable[..., list[Line]]]] = {
    "package": (44, package),
    "document": (10, document),
    "fmu": (12, fmu),
    "scenario": (6, file_for_system("scenario.yaml", damaged_json, ["plan", "system", "--scenario", "scenario.yaml"])),
    "inputs": (3, file_for_system("inputs.csv", damaged_csv, ["plan", "open", "--inputs", "inputs.csv"])),
    "study": (7, file_for_system("s.toml", damaged_toml, ["(study)", "s.toml"])),
    "settings": (4, file_for_system("ssptool.toml", damaged_toml, ["validate", "system"])),
    "results": (6, results),
    "manifest": (4, manifest),
    "study folder": (2, study_folder),
    "saved state": (2, state),
}
"""Kind → share of cases in percent, and what makes a case and the commands that read it."""

# -- one case --------------------------------------------------------------------------------------------------------


def call(folder: Path, arguments: Line) -> tuple[int, str, str]:
    """The command in this process, in that folder."""
    from ssptool.cli.app import command

    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["ssptool", *map(str, arguments)]
    os.chdir(folder)
    status: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            command()
    except SystemExit as leaving:
        status = leaving.code
    finally:
        sys.argv = before
    return int(status or 0), out.getvalue(), err.getvalue()


def restore(system: Path, saved: Path) -> None:
    import ssptool
    from ssptool.errors import is_own

    try:
        with ssptool.Simulation(system, stop_time=0.05, step_size=0.01, saved=saved) as simulation:
            simulation.step()
    except Exception as error:
        if not is_own(error):
            raise


class Checked(Exception):
    """Everything in a study has been checked, and its first run would begin."""


def check_study(path: Path) -> None:
    import ssptool
    from ssptool.errors import is_own

    def announce(_: object) -> None:
        raise Checked

    os.chdir(path.parent)
    try:
        ssptool.study(path, path.parent / "out.study", announce=announce)
    except Checked:
        pass
    except Exception as error:
        if not is_own(error) and not isinstance(error, OSError):
            raise


def attempt(folder: Path, arguments: Line) -> Faults:
    """Faults of a command: none, if it says what is wrong, or that nothing is."""
    from tests.safety.test_foreign_text import Terminal

    os.chdir(folder)
    if arguments[0] == "(restore)":
        restore(*arguments[1:])
        return []
    if arguments[0] == "(study)":
        check_study(folder / arguments[1])
        return []
    status, out, err = call(folder, arguments)
    if status == BUG or "Traceback (most recent call last)" in out + err:
        return [f"a bug: {err[:600]}"]
    if "not enough memory" in err:
        return [f"memory: {err[:300]}"]
    if status not in (0, 1, 2):
        return [f"exit status {status}: {err[:300]}"]
    try:
        Terminal().show(out)
        Terminal().show(err)
    except AssertionError as raw:
        return [f"raw output: {str(raw)[:300]}"]
    return []


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    """Files beside the folder of the case."""
    kept = (
        path
        for place in (root, root / "seeds")
        for path in place.rglob("*")
        if path.parts[len(root.parts)] not in ("case", "tmp")
    )
    return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in kept if path.is_file()}


def listening() -> set[str]:
    """Inodes of sockets of this process that listen."""
    own = set()
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            own.add(str(link.readlink()).removeprefix("socket:[").removesuffix("]"))
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/self/net/{name}").read_text().splitlines()[1:]
    ]
    return own & {line[9] for line in lines if line[3] == "0A"}


def run_case(
    root: Path, seed: int, number: int, before: dict[str, tuple[int, int]], longest: float
) -> tuple[str, Faults]:
    """Kind and faults of a case."""
    chance = Rng(f"{seed}/{number}")
    kind = chance.choices(list(KINDS), [share for share, _ in KINDS.values()])[0]
    case = root / "case"
    shutil.rmtree(case, ignore_errors=True)
    case.mkdir()
    faults: Faults = []
    lines = KINDS[kind][1](case, root / "seeds", chance)
    for line in lines:
        signal.setitimer(signal.ITIMER_PROF, longest)
        try:
            faults += [f"{' '.join(map(str, line))}: {fault}" for fault in attempt(case, line)]
        except TimeoutError as slow:
            where = traceback.extract_tb(slow.__traceback__)[-4:]
            faults.append(f"{' '.join(map(str, line))}: hang: {[f'{Path(f.filename).name}:{f.lineno}' for f in where]}")
        except BaseException as problem:
            where = traceback.extract_tb(problem.__traceback__)[-3:]
            faults.append(
                f"{' '.join(map(str, line))}: {problem!r} {[f'{Path(f.filename).name}:{f.lineno}' for f in where]}"
            )
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    if number % 20 == 0 and (changed := snapshot(root).items() ^ before.items()):
        faults.append(f"files outside their place: {sorted(changed)[:3]}")
    if listening():
        faults.append("a listening port")
    return kind, faults


# -- workers -----------------------------------------------------------------------------------------------------------


def stop(*_: object) -> None:
    raise TimeoutError("not ready in the processor time that it has")


def work(connection: Connection, root: Path, seed: int, numbers: range, longest: float) -> None:
    """Do cases one after the other, and tell of each before and after it."""
    os.environ["TMPDIR"] = tempfile.tempdir = str(root / "tmp")
    signal.signal(signal.SIGPROF, stop)

    for name in ("validate", "info", "graph", "explain", "draw", "plan", "compare", "plot", "report", "study"):
        call(root / "tmp", [name, "--help"])
    call(root / "tmp", ["plot", root / "seeds/r.parquet", "--output", "warm.svg"])
    call(root / "tmp", ["plot", root / "seeds/r.mat", "--output", "warm.html"])
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, resource.RLIM_INFINITY))
    before = snapshot(root)
    for number in numbers:
        connection.send(("begin", number))
        kind, faults = run_case(root, seed, number, before, longest)
        connection.send(("done", number, kind, faults))
        if any("memory: " in fault for fault in faults):
            break  # Libraries that were refused memory before may fail in any way later; that is nothing to report.
    connection.send(("end", number + 1))


class Campaign:
    """Cases `first` to `last` of a seed in one worker, which is replaced when it is stuck or dead."""

    def __init__(self, root: Path, seed: int, numbers: range, deadline: float, longest: float = LONGEST) -> None:
        self.root, self.seed, self.numbers, self.deadline, self.longest = root, seed, numbers, deadline, longest
        self.done: Counter[str] = Counter()
        self.faults: dict[int, Faults] = {}
        (root / "tmp").mkdir(parents=True)
        make_seeds(root / "seeds")

    def run(self) -> None:
        at = self.numbers.start
        while at < self.numbers.stop and time.monotonic() < self.deadline:
            at = self._follow_worker(at)

    def _follow_worker(self, first: int) -> int:
        """The number of the next case, after the end of a worker."""
        ours, theirs = multiprocessing.Pipe()
        numbers = range(first, self.numbers.stop)
        arguments = theirs, self.root, self.seed, numbers, self.longest
        worker = multiprocessing.get_context("fork").Process(target=work, args=arguments)
        worker.start()
        theirs.close()
        current = first - 1
        try:
            while ours.poll(STUCK * self.longest) and time.monotonic() < self.deadline:
                match ours.recv():
                    case ("begin", number):
                        current = number
                    case ("done", number, kind, faults):
                        self.done[kind] += 1
                        self._tell(number, faults)
                    case ("end", following):
                        return following
            if time.monotonic() < self.deadline:
                self._tell(current, [f"stuck for {STUCK * self.longest:g} s"])
        except EOFError:
            worker.join()
            self._tell(current, [f"the process died: {worker.exitcode}"])
        finally:
            worker.kill()
            worker.join()
        return max(current, first) + 1

    def _tell(self, number: int, faults: Faults) -> None:
        if faults:
            self.faults[number] = faults
            print(f"case {number}: " + "\n  ".join(faults), flush=True)
        total = sum(self.done.values())
        if total and total % 1000 == 0:
            print(f"{total} cases, {len(self.faults)} with faults", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, help="repeat this case, and keep its folder")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--seconds", type=float, default=LONGEST, help="processor time for one command")
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    print(f"seed {options.seed}")
    root = Path(tempfile.mkdtemp(prefix="campaign-"))
    first, count = (options.only, 1) if options.only is not None else (options.first, options.cases)
    numbers = range(first, first + count)
    campaign = Campaign(root, options.seed, numbers, time.monotonic() + 60 * options.minutes, options.seconds)
    campaign.run()
    print(f"{sum(campaign.done.values())} cases ({dict(campaign.done)}), {len(campaign.faults)} with faults")
    if options.only is not None:
        print(root)
    else:
        shutil.rmtree(root)
    return 1 if campaign.faults else 0


if __name__ == "__main__":
    sys.exit(main())
