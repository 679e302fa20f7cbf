"""Each option in the help of a command is taken by it, with each value that its help lists: tried on a real system,
with the options that it needs.
"""

import contextlib
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer

import ssptool as library
from ssptool.cli.app import app

pytestmark = pytest.mark.one_in(5)

SYSTEMS = Path(__file__).parents[2] / "systems"
ARGUMENTS = {
    "validate": ["s"],
    "info": ["s"],
    "graph": ["s"],
    "draw": ["s"],
    "explain": ["s", "System1.m1"],
    "parameters": ["s"],
    "plan": ["s"],
    "run": ["s"],
    "export": ["s", "out.fmu"],
    "compare": ["r.csv", "r.csv"],
    "plot": ["r.csv"],
    "report": ["s", "r.csv"],
    "reproduce": ["r.csv"],
    "set": ["s", "System1.m1=2"],
    "place": ["s", "System1", "--at", "1", "1"],
    "disconnect": ["s", "System1.x1", "System2.x1"],
    "rename": ["s", "System1", "First"],
    "duplicate": ["s", "System1"],
    "copy": ["s", "part.ssp", "System1"],
    "paste": ["s", "two"],
    "wrap": ["s", "System1", "--as", "Front"],
    "unwrap": ["s", "Front"],
    "move": ["s", "System1", "--into", "Sub"],
    "upgrade": ["s"],
    "downgrade": ["two"],
    "add": ["s", "t/Third.fmu"],
    "remove": ["s", "System2"],
    "connect": ["s", "System1.x1", "System2.x1"],
    "unset": ["s", "System1.m1"],
    "bind": ["s", "v.ssv"],
    "unbind": ["s", "resources/dual_mass_oscillator.ssv"],
    "map": ["s", "System1.m1=System2.m2"],
    "unmap": ["s", "System1.m1=System2.m2"],
    "dictionary add": ["s", "bus"],
    "dictionary signal": ["s", "bus", "speed"],
    "dictionary refer": ["s", "bus", "Bus"],
    "dictionary remove": ["s", "bus"],
    "align": ["s", "System1", "System2", "--to", "top"],
    "annotate": ["s", "Valid up to 80"],
    "route": ["s", "System1.x1", "System2.x1", "--via", "60,30"],
    "replace": ["s", "System1", "t/Third.fmu"],
    "diff": ["s", "s"],
    "new": ["fresh"],
    "pack": ["s", "s.ssp"],
    "unpack": ["packed.ssp", "unpacked"],
    "convert": ["s/resources/System1.fmu", "converted"],
    "variant add": ["s", "Winter"],
    "variant remove": ["s", "Heavy"],
    "variant default": ["s", "Heavy"],
    "example": ["dual_mass_oscillator", "written"],
    "study run": ["grid.toml"],
    "study resume": ["grid.study"],
    "study results": ["grid.study"],
    "study new": ["s"],
    "study calibrate": ["fit.toml"],
    "sweep": ["s", "System1.m1=1:2:2"],
    "linearize": ["s"],
    "modes": ["s"],
    "trim": ["s"],
    "sensitivities": ["s", "System1.c1"],
    "rule": ["SSD-CONN-101"],
    "doctor": ["s"],
}
"""Commands that are tried, with their arguments: `s` is the dual-mass oscillator, `two` the same in SSP 2.0, `r.csv` a
run of it.
"""

FIRST = {
    "align": ["add", "s", "t/Third.fmu"],
    "unwrap": ["wrap", "s", "System1", "--as", "Front"],
    "move": ["add", "s", "--system", "Sub"],
    "connect": ["disconnect", "s", "System1.x1", "System2.x1"],
    "unmap": ["map", "s", "System1.m1=System2.m2"],
    **{
        key: ["dictionary", "add", "s", "bus"] for key in ("dictionary signal", "dictionary refer", "dictionary remove")
    },
    **{key: ["variant", "add", "s", "Heavy"] for key in ("variant remove", "variant default")},
    **{(one, "--into"): ["add", "s", "--system", "Inner"] for one in ("add", "dictionary add", "duplicate", "paste")},
    ("annotate", "--of"): ["add", "s", "--system", "Inner"],
    ("annotate", "--remove"): ["annotate", "s", "Valid up to 80"],
    ("connect", "--no-transformation"): ["connect", "s", "System1.x1", "System2.x1", "--factor", "2"],
    **{key: ["study", "run", "grid.toml"] for key in ("study resume", "study results")},
}
"""Command, or command and option → a command before it."""

ITERATED = ["--master", "iterated"]
NEEDED = {
    **dict.fromkeys(("--acceleration", "--convergence", "--max-iterations", "--iterations"), ITERATED),
    "--prediction-order": ITERATED,
    "--relaxation": [*ITERATED, "--acceleration", "constant"],
    "--power-bonds": ["--adaptive", "1e-4"],
    "--max-step-size": ["--adaptive", "1e-4"],
    "--integrator": ["--implementation", "me"],
    "--exchange": ["--master", "jacobi", "--approximation", "hold"],
    "--interpolation": ["--inputs", "u.csv"],
    "--fmu-log-level": ["--fmu-log", "f.csv"],
    "--fmu-log-categories": ["--fmu-log", "f.csv"],
    "--unsafe-fixes": ["--fix"],
    ("study results", "--run"): ["--output", "one.csv"],
    ("rule", "--markdown"): ["--all"],
    ("trim", "--fix"): ["--slope", "System1.v1=any"],
    ("trim", "--target"): ["--slope", "System1.x1=any"],
    **{("add", name): ["--connector", "speed"] for name in ("--kind", "--type", "--unit")},
}
"""Option, or command and option → options without which it has no meaning."""

VALUES = {
    **dict.fromkeys(("--stop-time", "--output-step", "--step-size", "--max-step-size"), "10ms"),
    **dict.fromkeys(("--timeout", "--step-timeout"), "1min"),
    **dict.fromkeys(("--select", "--ignore", "--accept"), "SSD-CONN-101"),
    **dict.fromkeys(("--absolute", "--relative", "--time", "--tolerance"), "1e-6"),
    **dict.fromkeys(("--log-loops", "--log-coupling", "--fmu-log"), "log.csv"),
    **dict.fromkeys(("--record", "--signals", "--variables", "--expose"), "System1.x1"),
    **dict.fromkeys(("--allow-outside", "--system"), "s"),
    "--start-time": "0",
    "--master": "iterated",
    "--max-iterations": "30",
    "--convergence": "absolute=1e-6",
    "--relaxation": "0.5",
    "--adaptive": "1e-4",
    "--power-bonds": "System1.v1,System2.F",
    "--substeps": "System1=2",
    "--delay": "System2.F=10ms",
    "--processes": "each",
    "--variant": "DualMassOscillator",
    "--for": "fmpy",
    "--settings": "own.toml",
    "--start-values": "System1.m1=2",
    "--parameters": "v.ssv",
    "--inputs": "u.csv",
    "--interpolation": "hold",
    "--scenario": "s.yaml",
    "--env": "HOME",
    "--memory-limit": "4000",
    "--realtime": "100",
    "--accuracy": "check",
    "--save": "end.state",
    "--fmu-log-level": "ok",
    "--fmu-log-categories": "logStatusError",
    "--plot": "p.svg",
    "--platforms": "linux64",
    "--fmi": "3",
    "--interface": "cs",
    "--level": "",
    "--unit": "System1.x1=mm",
    "--size": "10 10",
    "--title": "Run",
    "--against": "r.csv",
    "--drop-prefix": "Plant.",
    "--into": "v.ssv",
    "--from": "values.csv",
}
OF = {
    ("set", "--unit"): "kg",
    ("set", "--start-time"): "0",
    ("plot", "--size"): "160x90mm",
    ("export", "--acceleration"): "aitken",
    ("draw", "--output"): "d.svg",
    ("parameters", "--output"): "p.csv",
    ("run", "--output"): "out.csv",
    ("reproduce", "--output"): "again.csv",
    ("report", "--output"): "r.html",
    ("plot", "--output"): "p.png",
    ("graph", "--output"): "g.svg",
    ("upgrade", "--output"): "new",
    ("validate", "--output"): "v.txt",
    ("graph", "--stage"): "communication",
    ("downgrade", "--output"): "new",
    ("add", "--name"): "Fourth",
    ("add", "--connector"): "speed",
    ("add", "--kind"): "output",
    ("add", "--system"): "Inner",
    ("add", "--into"): "Inner",
    ("duplicate", "--into"): "Inner",
    ("paste", "--into"): "Inner",
    ("annotate", "--of"): "Inner",
    ("annotate", "--at"): "1 -5.5",
    ("dictionary add", "--into"): "Inner",
    ("add", "--unit"): "m",
    ("add", "--type"): "Int32",
    ("connect", "--map"): "1=2",
    ("bind", "--to"): "System1",
    ("bind", "--mapping"): "m.ssm",
    ("bind", "--prefix"): "p.",
    ("map", "--of"): "resources/dual_mass_oscillator.ssv",
    ("unmap", "--of"): "resources/dual_mass_oscillator.ssv",
    ("unset", "--into"): "resources/dual_mass_oscillator.ssv",
    ("dictionary add", "--file"): "resources/bus.ssb",
    ("dictionary signal", "--unit"): "m/s",
    ("dictionary signal", "--type"): "Int32",
    ("route", "--via"): "70,40",
    ("new", "--name"): "Fresh",
    ("new", "--ssp"): "2.0",
    ("variant add", "--from"): "DualMassOscillator",
    ("variant add", "--file"): "Cold.ssd",
    ("study run", "--output"): "other.study",
    ("study calibrate", "--output"): "fit.study",
    ("study results", "--output"): "all.csv",
    ("study results", "--run"): "1",
    ("study new", "--stop-time"): "500ms",
    ("study new", "--design"): "lhs",
    ("study new", "--data"): "m.csv",
    ("study new", "--output"): "first.toml",
    ("sweep", "--result"): 'max("System1.x1")',
    ("sweep", "--output"): "swept.study",
    **{(one, "--at"): "10ms" for one in ("linearize", "modes", "trim")},
    ("trim", "--free"): "System1.x1=-1:1",
    ("trim", "--fix"): "System1.x1=0",
    ("trim", "--slope"): "System1.x1=0",
    ("trim", "--target"): "System1.x1=0",
    ("trim", "--output"): "point.ssv",
    ("modes", "--output"): "modes.svg",
    ("modes", "--over"): "System1.c1=0.2:8:2",
    ("sensitivities", "--output"): "s.csv",
    ("sensitivities", "--measure"): "System1.x1",
    ("linearize", "--input"): "System1.F",
    ("linearize", "--measure"): "System1.x1",
    ("linearize", "--open"): "System1.F",
    ("linearize", "--output"): "linear.json",
    ("linearize", "--sweep"): "5,6",
    ("linearize", "--amplitude"): "0.5",
}
"""Values of an option of one command."""

CHAIN = {"s": ["chain"], "System1.m1": ["first.mass.F"], "System1.c1": ["first.mass.v0"]}
INSTEAD = {
    **dict.fromkeys(("--inputs", "--interpolation", "--scenario"), CHAIN),
    ("linearize", "--sweep"): {"s": ["chain", "--input", "first.mass.F"]},
    ("linearize", "--amplitude"): {"s": ["chain", "--input", "first.mass.F", "--sweep", "5"]},
    "--all": {"System1.m1": []},
    "--from": {"System1.m1=2": []},
    ("unmap", "--all"): {"System1.m1=System2.m2": []},
    **{("rule", name): {"SSD-CONN-101": []} for name in ("--all", "--markdown")},
    **{
        key: {"t/Third.fmu": []}
        for key in (("add", name) for name in ("--system", "--connector", "--kind", "--type", "--unit"))
    },
}
"""Option, or command and option → arguments that it does not go with, and what stands in their places."""

ELSEWHERE = {
    ("place", "--at"): "all other options of place have it",
    ("align", "--to"): "all other options of align have it",
    ("wrap", "--as"): "all other options of wrap have it",
    ("move", "--into"): "all other options of move have it",
    ("bind", "--mapping"): "mappings",
    ("dictionary add", "--file"): "files of dictionaries",
    ("dictionary signal", "--of"): "dictionaries of nested systems",
    ("dictionary remove", "--of"): "dictionaries of nested systems",
    ("dictionary refer", "--into"): "dictionaries of nested systems",
    **dict.fromkeys((("plot", "--kind"), ("plot", "--factors"), ("plot", "--colour")), "plots of studies"),
    ("connect", "--map"): "connections of integers",
    ("run", "--from"): "saved states",
    **dict.fromkeys(((name, "--to") for name in ("unbind", "map", "unmap")), "bindings of components"),
    **dict.fromkeys(((f"study {name}", "--scheduler") for name in ("run", "resume", "calibrate")), "clusters"),
    **dict.fromkeys(((f"study {name}", "--insecure-scheduler") for name in ("run", "resume", "calibrate")), "clusters"),
    **dict.fromkeys((("plot", "--live"), ("plot", "--stop-time")), "plots in a terminal"),
    **dict.fromkeys(
        ((name, "--sandbox") for name in ("run", "reproduce", "linearize", "modes", "trim", "sensitivities")),
        "not on every system",
    ),
}
"""Options with tests of their own, and why."""


@cache
def params(command):
    found = typer.main.get_command(app)
    for word in command.split():
        found = found.commands[word]
    return found.params


def tried() -> Iterator[tuple[str, str]]:
    for command in ARGUMENTS:
        for one in params(command):
            name = max(one.opts, key=len)
            if one.param_type_name == "option" and not one.hidden and name not in ("--help", "--help-all"):
                yield command, name


LISTED = {
    "--master": "auto jacobi gauss-seidel iterated",
    "--interpolation": "linear hold",
    "--fmu-log-level": "ok warning discard error fatal",
    "--for": "omsimulator fmpy libcosim ecos",
    "--convergence": "absolute=1e-6 relative=1e-6 residual-relative=1e-6",
    "--input-order": "1 2",
    "--prediction-order": "0 1 2",
    "--processes": "each 2",
    "--accuracy": "off auto check 1e-3",
    "--warnings": "on off",
    "--platforms": "linux64",
    "--design": "grid lhs sobol morris saltelli optimize calibrate",
    "--output": {
        "graph": "g.svg g.png g.html g.dot g.json g.txt",
        "draw": "d.svg d.png d.html",
        "parameters": "p.xlsx p.csv p.ssv",
        "run": "o.csv o.parquet o.mat o.h5 o.mf4",
        "plot": "p.png p.svg p.pdf p.html",
        "study results": "all.csv all.parquet",
        "linearize": "l.json l.mat l.txt l.fmu l.svg",
        "trim": "t.ssv t.json",
        "sensitivities": "s.csv s.json",
        "modes": "m.png m.svg m.pdf m.html",
    },
    "--plot": {"run": "p.png p.svg p.pdf p.html", "compare": "p.png p.svg p.pdf"},
    **dict.fromkeys(("--log-loops", "--log-coupling", "--fmu-log"), "log.csv log.jsonl"),
}
"""Values of options whose types do not list them, as their help does; where it depends on the command, by that."""

WORD_NEEDS = {
    ("--approximation", "interpolate"): ITERATED,
    ("--approximation", "mean"): ITERATED,
    ("--acceleration", "constant"): ["--relaxation", "0.5"],
    ("--design", "calibrate"): ["--data", "m.csv"],
    ("--output", "l.svg"): ["--input", "System1.F"],
    ("--interface", "me"): ["--implementation", "me"],
}
"""Option and value → further options without which it has no meaning."""


def listed(command: str, one) -> list[str]:
    """Values of an option in its help."""
    words = [str(getattr(word, "value", word)) for word in getattr(one.type, "choices", ())]
    stated = LISTED.get(max(one.opts, key=len), "")
    stated = stated.get(command, "") if isinstance(stated, dict) else stated
    return (
        words
        or stated.split()
        or (one.metavar.split("|") if re.fullmatch(r"[\w.|-]+\|[\w.|-]+", one.metavar or "") else [])
    )


def tried_values() -> Iterator[tuple[str, str, str]]:
    for command, name in tried():
        one = next(one for one in params(command) if name in one.opts)
        if (command, name) not in ELSEWHERE or name == "--to":
            yield from ((command, name, word) for word in listed(command, one))


def value(command, name):
    for one in params(command):
        if name in one.opts:
            words = [str(getattr(word, "value", word)) for word in getattr(one.type, "choices", ())]
            stated = OF.get((command, name), VALUES.get(name))
            if one.is_flag:
                return []
            return (words[-1] if words else "1").split() if stated is None else _split(stated)
    raise AssertionError(name)


def _split(stated):
    return [stated] if "(" in stated else stated.split(" ")


SCENARIO = """
events:
  - {time: 0.01, model: first.mass, variable: F, action: override, value: 4.0}
"""
GRID = """
system = "s"
[settings]
stop_time = 0.02
step_size = 0.01
[factors]
"System1.m1" = [1.0, 2.0]
[results]
top = 'max("System1.x1")'
[traces]
signals = ["System1.x1"]
"""
FIT = """
system = "s"
[settings]
stop_time = 0.02
step_size = 0.01
[factors]
"System1.m1" = {low = 0.5, high = 2.0}
[calibration]
data = "m.csv"
"""


@pytest.fixture(scope="session")
def originals(tmp_path_factory):
    """A folder with the system, a run of it, and a file of each kind that options take."""
    folder = tmp_path_factory.mktemp("originals")
    with contextlib.chdir(folder):
        shutil.copytree(SYSTEMS / "dual_mass_oscillator", "s")
        shutil.copytree(SYSTEMS / "mass_spring_damper", "chain")
        library.simulate("s", stop_time=0.02, step_size=0.01, output="r.csv", accuracy="off")
        Path("u.csv").write_text("time,first.mass.F\n0,1\n10,2\n", encoding="utf-8")
        Path("s.yaml").write_text(
            "events:\n  - {time: 0.01, model: first.mass, variable: F, action: override, value: 4.0}\n",
            encoding="utf-8",
        )
        Path("own.toml").write_text("strict = false\n", encoding="utf-8")
        Path("values.csv").write_text("name,value\nSystem1.m1,2\n", encoding="utf-8")
        shutil.copy("s/resources/dual_mass_oscillator.ssv", "v.ssv")
        shutil.copytree("s", "two")
        Path("t").mkdir()
        shutil.copy("s/resources/System1.fmu", "t/Third.fmu")
        library.upgrade("two")
        library.pack("s", "packed.ssp")
        Path("grid.toml").write_text(GRID, encoding="utf-8")
        Path("fit.toml").write_text(FIT, encoding="utf-8")
        Path("m.csv").write_text("time,System1.x1\n0,0\n0.01,0.00025\n0.02,0.001\n", encoding="utf-8")
    return folder


@pytest.fixture
def files(ssptool, originals):
    """Copies of these files in the present folder."""
    shutil.copytree(originals, ".", dirs_exist_ok=True)


def carried_out(ssptool, command, name, values):
    """Carry out a command with an option and its values; and with whatever these need."""
    before = FIRST.get((command, name), FIRST.get(command))
    if before:
        assert ssptool(*before)[0] == 0
    instead = INSTEAD.get((command, name), INSTEAD.get(name, {}))
    arguments = [one for part in ARGUMENTS[command] for one in instead.get(part, [part])]
    if command in ("run", "sensitivities") and name != "--stop-time":
        arguments += ["--stop-time", "0.02"]
    needed = NEEDED.get((command, name), NEEDED.get(name, []))
    needed = [*needed, *(WORD_NEEDS.get((name, values[0]), []) if values else [])]
    if (command, name) == ("align", "--to"):
        needed, arguments = [], ["s", "System1", "System2", "Third"]
    status, _, err = ssptool(*command.split(), *arguments, *needed, name, *values)
    assert status == 0 or (command == "validate" and not err), err  # which finds something


WORDS = list(tried_values())
WITHOUT_WORDS = [one for one in tried() if one not in ELSEWHERE and one not in {word[:2] for word in WORDS}]


@pytest.mark.parametrize(("command", "name"), WITHOUT_WORDS)
@pytest.mark.usefixtures("files")
def test_an_option_in_the_help_is_taken(ssptool, command, name):
    carried_out(ssptool, command, name, value(command, name))


@pytest.mark.parametrize(("command", "name", "word"), WORDS)
@pytest.mark.usefixtures("files")
def test_a_value_in_the_help_is_taken(ssptool, command, name, word):
    carried_out(ssptool, command, name, [word])


def test_the_help_of_export_has_no_word_that_an_exported_fmu_refuses(ssptool):
    _, out, _ = ssptool("export", "--help-all")
    acceleration = " ".join(out.partition("--acceleration")[2].split()).partition("(default")[0]
    assert "iqn-ils" in acceleration and "newton" not in acceleration
    assert "newton" in ssptool("run", "--help-all")[1].partition("--acceleration")[2].partition("(default")[0]
