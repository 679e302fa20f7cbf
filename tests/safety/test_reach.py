"""Nothing that a document says reaches beyond its folder, whichever command reads it."""

import base64
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ssptool
from ssptool.sandbox import missing
from tests.safety.command_line import typed

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
    "fix": lambda p: ["validate", p, "--fix"],
    "info": lambda p: ["info", p],
    "variables": lambda p: ["info", p, "--variables", "*"],
    "graph": lambda p: ["graph", p],
    "draw": lambda p: ["draw", p, "-o", "d.svg"],
    "page": lambda p: ["draw", p, "-o", "d.html"],
    "explain": lambda p: ["explain", p, "System1.m1"],
    "parameters": lambda p: ["parameters", p],
    "plan": lambda p: ["plan", p],
    "run": lambda p: ["run", p, "--stop-time", "0.05", "-o", "r.csv"],
    "study": lambda p: ["study", p.parent / "a.toml", "-o", "a.study"],
    "study new": lambda p: ["study", "new", p],
    "sweep": lambda p: ["sweep", p, "System2.k2=5", "--stop-time", "0.05"],
    "export": lambda p: ["export", p, "e.fmu"],
    "pack": lambda p: ["pack", p, "p.ssp"],
    "convert": lambda p: ["upgrade", p, "--output", "u"],
    "diff": lambda p: ["diff", SYSTEM, p],
    "report": lambda p: ["report", p, p.parent / "r.csv", "-o", "r.html"],
    "reproduce": lambda p: ["reproduce", p.parent / "r.csv"],
    "set": lambda p: ["set", p, "System1.m1=3"],
    "rename": lambda p: ["rename", p, "System2", "Second"],
    "add": lambda p: ["add", p, SYSTEM / "resources" / "System2.fmu", "--name", "Third"],
    "remove": lambda p: ["remove", p, "System2"],
}


@pytest.fixture
def received(outside):
    """A folder of somebody else: a system, results of it, and a study."""
    folder = outside.parent / "received"
    plant = copied(folder / "plant")
    (folder / "a.toml").write_text(STUDY, encoding="utf-8")
    ssptool.simulate(plant, output=folder / "r.csv", stop_time=0.05, settings_file=False)
    (folder / "ssptool.toml").write_text(SETTINGS, encoding="utf-8")
    (plant / "ssptool.toml").write_text(SETTINGS, encoding="utf-8")
    return folder


def refer(plant: Path, kind: str, way: str, outside: Path) -> None:
    ending, before, after = DOCUMENTS[kind]
    file = plant / "SystemStructure.ssd"
    text = file.read_text(encoding="utf-8")
    assert before in text
    name = named(outside / f"canary.{ending}", plant, way)
    file.write_text(text.replace(before, after.replace("OUT", name), 1), encoding="utf-8")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_no_command_shows_or_changes_a_file_that_a_system_names_outside(received, outside, kind, way):
    plant = received / "plant"
    refer(plant, kind, way, outside)
    shutil.copytree(plant, received / "kept", symlinks=True)
    for name, words in COMMANDS.items():
        done = typed(*words(plant))
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
        for name in ("variables", "explain", "page", "draw", "parameters", "graph", "plan")
    ]
    assert not is_silent(found, Path())


@pytest.mark.parametrize("way", ("up", "absolute", "link"))
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_neither_editors_nor_servers_do(received, outside, kind, way):
    from ssptool.studio.calls import PageCalls
    from ssptool.studio.session import EditSession
    from tests.cli.mcp_client import serving

    plant = received / "plant"
    refer(plant, kind, way, outside)
    said: list[object] = []
    try:
        calls = PageCalls(EditSession(plant), said.append)
    except Exception as refused:
        said.append(refused)
    else:
        for name, arguments in (
            ("model", {}),
            ("findings", {}),
            ("sheet", {"path": []}),
            ("parameters", {"path": []}),
            ("plan", {}),
            ("stimuli", {}),
        ):
            try:
                said.append(calls.call(name, arguments))
            except Exception as refused:
                said.append(refused)
        calls.close()
    with serving(plant.parent, *(["--no-sandbox"] if missing() else [])) as client:
        for tool in ("info", "validate", "graph", "plan", "run"):
            said.append(client.ask(tool, system="plant"))
    assert is_silent(said, received)


CHANGES: dict[str, dict[str, object]] = {
    "system": {"arguments": {"system": "plant/"}},
    "inputs": {"arguments": {"inputs": "canary.csv"}},
    "parameters": {"arguments": {"parameters": ["canary.ssv"]}},
    "scenario": {"arguments": {"scenario": "canary.yaml"}},
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
    for words in (["reproduce", received / "r.csv"], ["report", received / "r.csv", "-o", "x.html"]):
        done = typed(*words)
        assert "Traceback" not in done.err
        if key == "system":
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
