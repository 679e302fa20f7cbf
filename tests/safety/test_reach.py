"""Nothing that a document says reaches beyond its folder, whichever command reads it."""

import base64
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import ssptool
from ssptool.cli.app import SUMMARIES
from ssptool.sandbox import missing
from tests.safety.command_line import typed

pytestmark = pytest.mark.one_in(5)

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
CANARY = "98765.4321"
NAME = "CanaryOutside"
SETTINGS = 'allow-outside = ["/"]\n'
BOUND = 'source="resources/dual_mass_oscillator.ssv"'
SSP = "http://ssp-standard.org/SSP1/SystemStructure"
COMMON = f'version="1.0" xmlns:ssc="{SSP}Common"'
HEAD = f'{COMMON} name="{NAME}"'
FILES = {
    "ssv": f'<v:ParameterSet xmlns:v="{SSP}ParameterValues" {HEAD}><v:Parameters>'
    f'<v:Parameter name="System1.m1"><v:Real value="{CANARY}"/></v:Parameter></v:Parameters></v:ParameterSet>',
    "ssm": f'<m:ParameterMapping xmlns:m="{SSP}ParameterMapping" {COMMON}>'
    f'<m:MappingEntry source="System1.m1" target="System1.m1"><ssc:LinearTransformation factor="{CANARY}"/>'
    "</m:MappingEntry></m:ParameterMapping>",
    "ssb": f'<b:SignalDictionary xmlns:b="{SSP}SignalDictionary" {COMMON}>'
    f'<b:DictionaryEntry name="{NAME}"><ssc:Real unit="m"/></b:DictionaryEntry></b:SignalDictionary>',
    "ssd": f'<d:SystemStructureDescription xmlns:d="{SSP}Description" {HEAD}>'
    f'<d:System name="{NAME}"><d:Elements><d:System name="{NAME}"/></d:Elements></d:System>'
    "</d:SystemStructureDescription>",
    "svg": f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><text>{CANARY}</text></svg>',
    "csv": f"time,System1.x1,System1.F\n0,{CANARY},{CANARY}\n1,{CANARY},{CANARY}\n",
    "table.csv": f"System2.k2\n{CANARY}\n",
    "yaml": f"events:\n  - {{time: 0.02, model: System1, variable: F, action: override, value: {CANARY}}}\n",
    "json": json.dumps({"name": NAME, "value": CANARY}),
}
DOCUMENTS: dict[str, tuple[str, str, str]] = {
    "values": ("ssv", BOUND, 'source="OUT"'),
    "mapping": ("ssm", f"{BOUND}/>", f'{BOUND}><ssd:ParameterMapping source="OUT"/></ssd:ParameterBinding>'),
    "dictionary": (
        "ssb",
        "<ssd:SystemGeometry",
        '<ssd:SignalDictionaries><ssd:SignalDictionary name="d" source="OUT"/></ssd:SignalDictionaries>'
        "<ssd:SystemGeometry",
    ),
    "icon": ("svg", "<ssd:ElementGeometry ", '<ssd:ElementGeometry iconSource="OUT" '),
    "fmu": ("fmu", 'source="resources/System1.fmu"', 'source="OUT"'),
    "system": (
        "ssd",
        'type="application/x-fmu-sharedlibrary" source="resources/System1.fmu" implementation="CoSimulation"',
        'type="application/x-ssp-definition" source="OUT"',
    ),
}
"""Kind of reference → kind of file, and the text of the system that it replaces."""
WAYS = ("up", "absolute", "link", "folder link", "inside and up")


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Files of the user, which tell who read them; the working folder is neither theirs nor that of the documents."""
    outside = tmp_path / "world" / "outside"
    outside.mkdir(parents=True)
    for ending, text in FILES.items():
        (outside / f"canary.{ending}").write_text(text, encoding="utf-8")
    with (
        zipfile.ZipFile(SYSTEM / "resources" / "System1.fmu") as whole,
        zipfile.ZipFile(outside / "canary.fmu", "w") as told,
    ):
        for name in whole.namelist():
            content = whole.read(name)
            told.writestr(name, content.replace(b'modelName="System1"', b'modelName="%s"' % NAME.encode()))
    copied(outside / "plant")
    structure = outside / "plant" / "SystemStructure.ssd"
    text = structure.read_text(encoding="utf-8").replace('name="DualMassOscillator"', f'name="{NAME}"')
    structure.write_text(text, encoding="utf-8")
    (outside / "study.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    before = contents(outside)
    yield outside
    assert contents(outside) == before


def copied(place: Path) -> Path:
    shutil.copytree(SYSTEM, place, ignore=shutil.ignore_patterns("fmi?", "no_flange", "[A-R]*.ssd"))
    return place


def contents(folder: Path) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()}


def named(file: Path, plant: Path, way: str) -> str:
    """What a document in the folder `plant` calls a file outside."""
    (plant / "resources").mkdir(exist_ok=True)
    match way:
        case "up":
            return Path(os.path.relpath(file, plant)).as_posix()
        case "absolute":
            return file.as_uri() if plant.name == "plant" else str(file)
        case "link":
            (plant / "resources" / file.name).symlink_to(file)
            return f"resources/{file.name}"
        case "folder link":
            (plant / "resources" / "more").symlink_to(file.parent)
            return f"resources/more/{file.name}"
        case _:
            return f"resources/../{Path(os.path.relpath(file, plant)).as_posix()}"


def told(done: object, *folders: Path) -> Iterator[str]:
    """All that a command has said and written."""
    yield str(done)
    for folder in folders:
        for file in folder.rglob("*"):
            if file.is_symlink() or not file.is_file():
                continue
            yield file.read_bytes().decode("utf-8", "replace")
            if zipfile.is_zipfile(file):
                with zipfile.ZipFile(file) as packed:
                    yield from (packed.read(name).decode("utf-8", "replace") for name in packed.namelist())


def is_silent(done: object, *folders: Path) -> bool:
    marks = (CANARY, NAME, base64.b64encode(FILES["svg"].encode()).decode())
    return not any(mark in text for mark in marks for text in told(done, *folders))


STUDY = (
    'system = "plant"\n[settings]\nstep_size = 0.01\nstop_time = 0.05\n[results]\npeak = \'max("System1.x1")\'\n'
    '[factors]\n"System2.k2" = [5.0]\n'
)

COMMANDS: dict[str, Callable[[Path], list[object]]] = {
    **{f"validate {one}": lambda p, one=one: ["validate", p, "--format", one] for one in ("text", "json", "sarif")},
    "validate --fix": lambda p: ["validate", p, "--fix"],
    "validate package": lambda p: ["validate", p.parent / "p.ssp"],
    "info": lambda p: ["info", p],
    "info --variables": lambda p: ["info", p, "--variables", "*"],
    "graph": lambda p: ["graph", p],
    "draw": lambda p: ["draw", p, "-o", "d.svg"],
    "draw page": lambda p: ["draw", p, "-o", "d.html"],
    "draw package": lambda p: ["draw", p.parent / "p.ssp", "-o", "p.svg"],
    "explain": lambda p: ["explain", p, "System1.m1"],
    "parameters": lambda p: ["parameters", p],
    "plan": lambda p: ["plan", p],
    "plan --stability": lambda p: ["plan", p, "--stability", "--advise", "1e-3"],
    "run": lambda p: ["run", p, "--stop-time", "0.05", "-o", "r.csv"],
    "run package": lambda p: ["run", p.parent / "p.ssp", "--stop-time", "0.05", "-o", "p.csv"],
    "linearize": lambda p: ["linearize", p, "-o", "l.json"],
    "trim": lambda p: ["trim", p, "-o", "t.ssv"],
    "modes": lambda p: ["modes", p, "-o", "m.svg"],
    "sensitivities": lambda p: ["sensitivities", p, "System1.c1", "--stop-time", "0.05", "-o", "s.json"],
    "study": lambda p: ["study", p.parent / "a.toml", "-o", "a.study"],
    "study new": lambda p: ["study", "new", p],
    "sweep": lambda p: ["sweep", p, "System2.k2=5", "--stop-time", "0.05"],
    "export": lambda p: ["export", p, "e.fmu"],
    "pack": lambda p: ["pack", p, "q.ssp"],
    "unpack": lambda p: ["unpack", p.parent / "p.ssp", "unpacked"],
    "convert": lambda p: ["convert", p / "resources" / "System1.fmu", "converted"],
    "upgrade": lambda p: ["upgrade", p, "--output", "u"],
    "downgrade": lambda p: ["downgrade", p, "--output", "v"],
    "diff": lambda p: ["diff", SYSTEM, p],
    "variant add": lambda p: ["variant", "add", p, "Winter"],
    "report": lambda p: ["report", p, p.parent / "r.csv", "-o", "r.html"],
    "reproduce": lambda p: ["reproduce", p.parent / "r.csv"],
    "plot": lambda p: ["plot", p.parent / "r.csv", "-o", "r.svg"],
    "compare": lambda p: ["compare", p.parent / "r.csv", p.parent / "r.csv"],
    "new": lambda p: ["new", "fresh", p / "resources" / "System1.fmu"],
    "set": lambda p: ["set", p, "System1.m1=3"],
    "unset": lambda p: ["unset", p, "System1.m1"],
    "rename": lambda p: ["rename", p, "System2", "Second"],
    "add": lambda p: ["add", p, SYSTEM / "resources" / "System2.fmu", "--name", "Third"],
    "add --into": lambda p: ["add", p, "--system", "Inner"],
    "remove": lambda p: ["remove", p, "System2"],
    "connect": lambda p: ["connect", p, "System1.x1", "System2.x1"],
    "disconnect": lambda p: ["disconnect", p, "System1.x1", "System2.x1"],
    "bind": lambda p: ["bind", p, SYSTEM / "resources" / "dual_mass_oscillator.ssv"],
    "unbind": lambda p: ["unbind", p, "resources/dual_mass_oscillator.ssv"],
    "map": lambda p: ["map", p, "System1.m1=System2.m2"],
    "unmap": lambda p: ["unmap", p, "System1.m1=System2.m2"],
    "dictionary": lambda p: ["dictionary", "add", p, "bus"],
    "duplicate": lambda p: ["duplicate", p, "System2"],
    "duplicate --into": lambda p: ["duplicate", p, "System2", "--into", "Inner"],
    "copy": lambda p: ["copy", p, "part.ssp", "System1", "System2"],
    "paste": lambda p: ["paste", p, SYSTEM, "System1"],
    "wrap": lambda p: ["wrap", p, "System2", "--as", "Front"],
    "unwrap": lambda p: ["unwrap", p, "Front"],
    "move": lambda p: ["move", p, "System2", "--into", "Inner"],
    "place": lambda p: ["place", p, "System2", "--at", "1", "1"],
    "align": lambda p: ["align", p, "System1", "System2", "--to", "top"],
    "annotate": lambda p: ["annotate", p, "Valid up to 80"],
    "route": lambda p: ["route", p, "System1.x1", "System2.x1", "--via", "60,30"],
    "replace": lambda p: ["replace", p, "System2", p.parent / "Third.fmu"],
}
"""Name of a command, and more about it → its words for a system."""

FIRST: dict[str, Callable[[Path], list[object]]] = {
    "connect": COMMANDS["disconnect"],
    "unmap": COMMANDS["map"],
    "unwrap": lambda p: ["wrap", p, "System2", "--as", "Front"],
    "move": lambda p: ["add", p, "--system", "Inner"],
    "duplicate --into": lambda p: ["add", p, "--system", "Inner"],
}
"""Command → the one before it."""

ELSEWHERE = {
    **dict.fromkeys(("rule", "doctor", "example"), "they read no document"),
    "lsp": "tests of documents in editors",
    **dict.fromkeys(("studio", "mcp"), "test_neither_editors_nor_servers_do"),
}


def test_every_command_is_tried():
    assert {name.split()[0] for name in COMMANDS} | set(ELSEWHERE) == set(SUMMARIES)


def packed(plant: Path) -> None:
    """The system as a package beside it, with the same names in its documents; its links are files of their own."""
    with zipfile.ZipFile(plant.parent / "p.ssp", "w") as package:
        for file in plant.rglob("*"):
            if file.is_file() and not file.is_symlink() and "more" not in file.relative_to(plant).parts:
                package.write(file, file.relative_to(plant).as_posix())


@pytest.fixture
def received(outside):
    """A folder of somebody else: a system, results of it, and a study."""
    folder = outside.parent / "received"
    plant = copied(folder / "plant")
    (folder / "a.toml").write_text(STUDY, encoding="utf-8")
    ssptool.simulate(plant, output=folder / "r.csv", stop_time=0.05, settings_file=False)
    shutil.copy(SYSTEM / "resources" / "System2.fmu", folder / "Third.fmu")
    (folder / "ssptool.toml").write_text(SETTINGS, encoding="utf-8")
    (plant / "ssptool.toml").write_text(SETTINGS, encoding="utf-8")
    return folder


def with_a_run(received: Path, name: str) -> Path:
    """The same folder inside of it, with results of its own system."""
    folder = received / name
    shutil.copytree(received, folder, ignore=shutil.ignore_patterns("up", "absolute", "r.csv*"))
    ssptool.simulate(folder / "plant", output=folder / "r.csv", stop_time=0.05, settings_file=False)
    return folder


def refer(plant: Path, kind: str, way: str, outside: Path) -> None:
    ending, before, after = DOCUMENTS[kind]
    file = plant / "SystemStructure.ssd"
    text = file.read_text(encoding="utf-8")
    assert before in text
    name = named(outside / f"canary.{ending}", plant, way)
    file.write_text(text.replace(before, after.replace("OUT", name), 1), encoding="utf-8")


def commands_for(kind: str, way: str) -> list[str]:
    """All for the first way, and each third one for each other: every command meets every kind, and every way."""
    place = [*DOCUMENTS].index(kind) + WAYS.index(way)
    return [*COMMANDS] if way == WAYS[0] else [*COMMANDS][place % 3 :: 3]


def test_every_command_meets_every_kind_and_every_way():
    met = [(name, kind, way) for kind in DOCUMENTS for way in WAYS for name in commands_for(kind, way)]
    assert {(name, kind) for name, kind, _ in met} == {(name, kind) for name in COMMANDS for kind in DOCUMENTS}
    assert {(name, way) for name, _, way in met} == {(name, way) for name in COMMANDS for way in WAYS}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_no_command_shows_or_changes_a_file_that_a_system_names_outside(received, outside, kind, way):
    plant = received / "plant"
    refer(plant, kind, way, outside)
    packed(plant)
    shutil.copytree(plant, received / "kept", symlinks=True)
    for name in commands_for(kind, way):
        if name in FIRST:
            typed(*FIRST[name](plant))
        done = typed(*COMMANDS[name](plant))
        assert "Traceback" not in done.err, (name, done)
        assert is_silent(done, Path(), received), (name, done)
        shutil.rmtree(plant)
        shutil.copytree(received / "kept", plant, symlinks=True)


@pytest.mark.parametrize("kind", [kind for kind in DOCUMENTS if kind != "dictionary"])  # whose entries nothing shows
def test_these_documents_are_read_where_the_caller_allows_it(received, outside, kind):
    """The test above looks for something that is there to be found."""
    plant = received / "plant"
    refer(plant, kind, "up", outside)
    found = [
        typed(*COMMANDS[name](plant), "--allow-outside", outside)
        for name in ("info --variables", "explain", "draw page", "draw", "parameters", "graph", "plan")
    ]
    assert not is_silent(found, Path())


CALLS: dict[str, dict[str, object]] = {
    **{key: {} for key in ("model", "findings", "parameters", "palette", "runs", "studies", "changes", "stimuli")},
    **{key: {"path": []} for key in ("sheet", "connections")},
    "about": {"element": ["System1"]},
    "targets": {"owner": ["System1"], "names": ["x1"]},
    "suggestions": {"system": []},
    "find": {"words": "m1"},
    "plan": {"settings": {}},
    "start_study": {"file": "a.toml"},
    "open_results": {"file": "r.csv"},
    "preview": {"edits": [{"verb": "rename", "old": "System2", "new": "Second"}]},
    "edit": {"edits": [{"verb": "rename", "old": "System2", "new": "Second"}]},
    "save": {},
}
"""Calls of a page, in their order."""

TOOLS: dict[str, dict[str, object]] = {
    **{key: {"system": "plant"} for key in ("info", "validate", "graph", "plan", "run", "draw")},
    "explain": {"system": "plant", "names": ["System1.m1"]},
    "plot": {"runs": ["r.csv"]},
    "results": {"run": "r.csv"},
    "compare": {"run": "r.csv", "reference": "r.csv"},
    "new": {"system": "fresh", "fmus": ["plant/resources/System1.fmu"], "apply": True},
    "edit": {"system": "plant", "edits": [{"verb": "set", "name": "System1.m1", "value": 3}], "apply": True},
    "fix": {"system": "plant", "apply": True},
    "study": {"file": "a.toml"},
    "export": {"system": "plant", "output": "e.fmu"},
    "report": {"run": "r.csv", "output": "r.html"},
}
"""Tools that read documents."""


def served(folder: Path) -> Any:
    from tests.cli.mcp_client import serving

    (folder / "written").mkdir()
    return serving(
        folder, "--allow-edits", "--results", str(folder / "written"), *(["--no-sandbox"] if missing() else [])
    )


def asked(client: Any, folder: str) -> dict[str, str]:
    """Answers of all tools to questions about a folder of the server."""
    text = re.sub(r'"(plant|fresh|r\.csv|a\.toml)', rf'"{folder}/\1', json.dumps(TOOLS))
    return {
        tool: client.answer(tool, **arguments)
        for tool, arguments in json.loads(re.sub(r'"(e\.fmu|r\.html)"', rf'"{folder}-\1"', text)).items()
    }


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_neither_editors_nor_servers_do(received, outside, kind):
    from ssptool.studio.calls import PageCalls
    from ssptool.studio.session import EditSession

    said: list[object] = []
    ways = ("up", "absolute", "link")
    for way in ways:
        plant = with_a_run(received, way) / "plant"
        refer(plant, kind, way, outside)
        try:
            calls = PageCalls(EditSession(plant), said.append)
        except Exception as refused:
            said.append(refused)
        else:
            for name, arguments in CALLS.items():
                try:
                    said.append(calls.call(name, arguments))
                except Exception as refused:
                    said.append(refused)
            calls.close()
    with served(received) as client:
        assert set(client.tools()) == {*TOOLS, "rule", "more"}
        for way in ways:
            said.append(asked(client, way))
            with suppress(Exception):  # the error of an address has no text of a file either
                said.append(client.read(f"ssptool://systems/{way}/plant"))
    assert is_silent(said, received)


def test_these_calls_are_understood(received):
    """The test above is refused because of what the document names, and for no other reason."""
    from ssptool.studio.calls import PageCalls
    from ssptool.studio.session import EditSession

    with_a_run(received, "up")
    with served(received) as client:
        for tool, answer in asked(client, "up").items():
            assert "is_error=False" in answer, (tool, answer)
    calls = PageCalls(EditSession(received / "plant"), lambda _: None)
    for name, arguments in CALLS.items():
        calls.call(name, arguments)
    calls.close()


CHANGES: dict[str, dict[str, object]] = {
    "system": {"arguments": {"system": "plant/"}},
    "inputs": {"arguments": {"inputs": "canary.csv"}},
    "parameters": {"arguments": {"parameters": ["canary.ssv"]}},
    "scenario": {"arguments": {"scenario": "canary.yaml"}},
    "saved": {"arguments": {"saved": "canary.json"}},
    "log": {"settings": {"fmu_log": "canary.csv"}},
}


@pytest.mark.parametrize("way", ("up", "absolute", "link"))
@pytest.mark.parametrize("key", CHANGES)
def test_no_manifest_does(received, outside, key, way):
    file = received / "r.csv.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    ((table, changes),) = CHANGES[key].items()
    for name, value in changes.items():
        text = value[0] if isinstance(value, list) else value
        place = outside / text.rstrip("/")
        found = str(received / named(place, received, way)) if way != "absolute" else str(place)
        manifest[table][name] = [found] if isinstance(value, list) else found
    manifest["inputs"] = []
    manifest["system"] = NAME
    file.write_text(json.dumps(manifest), encoding="utf-8")
    for words in (
        ["reproduce", received / "r.csv"],
        ["report", received / "r.csv", "-o", "x.html"],
        ["plot", received / "r.csv", "-o", "x.svg"],
        ["compare", received / "r.csv", received / "r.csv"],
    ):
        done = typed(*words)
        assert "Traceback" not in done.err
        if key == "system" and words[0] in ("reproduce", "report"):
            assert done.code != 0 and "outside" in done.err.replace("\n", " "), done
        assert CANARY not in "".join(told(done, Path(), received))
    assert not (Path() / "x.html").exists() or key != "system"


@pytest.mark.parametrize("way", ("up", "absolute", "link"))
def test_no_study_names_a_system_outside(received, outside, way):
    name = named(outside / "plant", received, way)
    study = received / "a.toml"
    study.write_text(STUDY.replace('"plant"', f'"{name}"'), encoding="utf-8")
    for words in (["study", study], ["study", "calibrate", study]):
        done = typed(*words)
        assert done.code != 0
        assert "outside the folder of the study" in done.err.replace("\n", " ")
        assert NAME not in done.err
    with pytest.raises(ssptool.exceptions.BadData, match="outside the folder of the study"):
        ssptool.study(ssptool.studies.read_study(study), "results")
    assert ssptool.study(study, "allowed", allow_outside=outside).status.ok


@pytest.fixture
def results(received):
    """Results of a study in Python, as they are received."""
    pytest.importorskip("pyarrow")
    table = {
        "system": str(received / "plant"),
        "settings": {"stop_time": 0.05, "step_size": 0.01},
        "factors": {"System2.k2": [5.0]},
        "results": {"peak": 'max("System1.x1")'},
    }
    assert ssptool.study(table, received / "k.study").status.ok
    return received / "k.study"


def change(results: Path, outside: Path, key: str) -> None:
    file = results / "study.json"
    definition = json.loads(file.read_text(encoding="utf-8"))
    stated = definition["study"]
    definition["folder"] = "/"  # which a stranger may say
    match key:
        case "system":
            stated["system"] = definition["system"] = str(outside / "plant")
        case "source":
            definition["source"] = str(outside / "study.toml")
        case "log":
            stated["settings"]["fmu_log"] = str(outside / "log.csv")
        case "inputs" | "parameters":
            stated[key] = [str(outside / ("canary.csv" if key == "inputs" else "canary.ssv"))]
        case "scenario":
            stated[key] = str(outside / "canary.yaml")
        case "table":
            stated["design"] = {"kind": "table", "file": str(outside / "canary.table.csv")}
    file.write_text(json.dumps(definition), encoding="utf-8")


@pytest.mark.parametrize("key", ["system", "source", "log", "inputs", "parameters", "scenario", "table"])
def test_no_results_of_a_study_do(results, outside, key):
    change(results, outside, key)
    for words in (["study", "resume", results], ["reproduce", f"{results}#0"], ["report", results, "-o", "x.html"]):
        done = typed(*words)
        assert "Traceback" not in done.err, done
        assert (
            words[0] == "report" or (words[0], key) in (("reproduce", "source"), ("reproduce", "log")) or done.code
        ), done
        said = "".join(told(done, Path(), results))
        assert CANARY not in said
        assert NAME not in said or key != "system"
    allowed = typed("study", "resume", results, "--allow-outside", outside)
    assert "lies outside" not in allowed.err


def test_a_study_of_a_system_elsewhere_is_resumed_if_nothing_has_changed(received, outside, tmp_path):
    """As after `ssptool sweep`: whoever has the results knew the files."""
    pytest.importorskip("pyarrow")
    assert ssptool.sweep(received / "plant", {"System2.k2": [5.0]}, output="a.sweep", stop_time=0.05).status.ok
    assert ssptool.studies.resume_study("a.sweep").status.ok
    values = received / "plant" / "resources" / "dual_mass_oscillator.ssv"
    values.write_text(values.read_text(encoding="utf-8").replace('value="1"', 'value="1.5"'), encoding="utf-8")
    with pytest.raises(ssptool.exceptions.BadData, match="--allow-outside"):
        ssptool.studies.resume_study("a.sweep")


def test_the_system_of_a_result_is_read_elsewhere_if_nothing_has_changed(received, tmp_path):
    ssptool.simulate(received / "plant", output="r.csv", stop_time=0.05, settings_file=False)
    assert ssptool.reproduce("r.csv").same
    values = received / "plant" / "resources" / "dual_mass_oscillator.ssv"
    values.write_text(values.read_text(encoding="utf-8").replace('value="1"', 'value="1.5"'), encoding="utf-8")
    with pytest.raises(ssptool.exceptions.CannotReproduce, match="--system"):
        ssptool.reproduce("r.csv")
    assert not ssptool.reproduce("r.csv", system=received / "plant").same


@pytest.mark.parametrize("way", ("up", "absolute", "link"))
def test_no_study_does_in_an_editor(received, outside, way):
    from ssptool.language_server.run_files import RunFile, run_file_findings

    name = named(outside / "plant", received, way)
    text = STUDY.replace('"plant"', f'"{name}"').replace("System2.k2", "System2.nothing")
    found = run_file_findings(received / "a.toml", text, RunFile.STUDY, {})
    assert [one.message.split(":")[0] for one in found] == ["system"]
    assert is_silent(found)
