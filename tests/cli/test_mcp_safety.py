"""The folder of `ssptool mcp` is its world: no way out of it, nothing written without leave, errors in sentences."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

import ssptool
from ssptool.cli.mcp_server.folder import Folder
from ssptool.errors import WrongUsage
from ssptool.sandbox import missing
from tests.cli.mcp_client import COMMAND, McpClient, serving
from tests.fmus import build as misbehaving
from tests.waiting import PATIENCE

DUAL = Path(__file__).parents[2] / "systems/dual_mass_oscillator"
SECRET = "98765.4321"
OUTSIDE = "lies outside the folder of this server"

OSP = """<?xml version="1.0" encoding="UTF-8"?>
<OspSystemStructure xmlns="http://opensimulationplatform.com/MSMI/OSPSystemStructure" version="0.1">
  <Simulators><Simulator name="System1" source="{source}" stepSize="0.1"/></Simulators>
</OspSystemStructure>
"""


def system(folder: Path, before: str = "", after: str = "") -> Path:
    """The dual-mass oscillator, changed in one place."""
    (folder / "resources").mkdir(parents=True)
    text = (DUAL / "SystemStructure.ssd").read_text()
    assert before in text
    (folder / "SystemStructure.ssd").write_text(text.replace(before, after) if before else text)
    for name in ("System1.fmu", "System2.fmu", "dual_mass_oscillator.ssv"):
        shutil.copy(DUAL / "resources" / name, folder / "resources")
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`world` is the folder that is served; what is beside it must stay unknown."""
    place = tmp_path_factory.mktemp("safety")
    world, outside = place / "world", place / "outside"
    plain = system(world / "plain")
    shutil.copytree(plain, outside / "other")
    values = (plain / "resources/dual_mass_oscillator.ssv").read_text()
    (outside / "secret.ssv").write_text(values.replace('value="1"', f'value="{SECRET}"'))
    (outside / "secret.csv").write_text(f"time,System1.x1\n0,{SECRET}\n1,{SECRET}\n")
    (outside / "secret.yaml").write_text(f"events: [{SECRET}]\n")
    (place / "ssptool.toml").write_text("this is not TOML, and would end every command")
    bound = 'source="resources/dual_mass_oscillator.ssv"'
    system(world / "up", bound, 'source="../../outside/secret.ssv"')
    (system(world / "link") / "resources/dual_mass_oscillator.ssv").unlink()
    (world / "link/resources/dual_mass_oscillator.ssv").symlink_to(outside / "secret.ssv")
    (world / "elsewhere").symlink_to(outside / "other")
    (world / "linked.csv").symlink_to(outside / "secret.csv")
    (world / "beside.csv").write_text("time,System1.x1\n0,1\n1,1\n")
    (world / "osp").mkdir()
    source = (outside / "other/resources/System1.fmu").as_posix()
    (world / "osp/OspSystemStructure.xml").write_text(OSP.format(source=source))
    (world / "osp_link").mkdir()
    (world / "osp_link/OspSystemStructure.xml").symlink_to(world.parent / "outside/other/SystemStructure.ssd")
    allowing = system(world / "allowing", bound, 'source="../outside/secret.ssv"')
    shutil.make_archive(str(world / "allowing"), "zip", allowing)
    (world / "allowing.zip").rename(world / "allowing.ssp")
    shutil.rmtree(allowing)
    (world / "ssptool.toml").write_text(f'allow-outside = ["{outside.as_posix()}"]\n')
    return place


@pytest.fixture(scope="module")
def client(place: Path) -> Iterator[McpClient]:
    """A read-only server, which leaves every file as it was."""
    before = contents(place)
    with serving(place / "world", *(["--no-sandbox"] if missing() else [])) as client:
        yield client
    assert contents(place) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()}


@pytest.mark.parametrize(
    "path", ["../outside/other", "elsewhere", "plain/../../outside/other", "{place}/outside/other"]
)
@pytest.mark.parametrize("tool", ["info", "validate", "graph", "plan", "run", "fix"])
def test_no_system_outside(client, place, tool, path):
    assert OUTSIDE in client.refused(tool, system=path.format(place=place))


@pytest.mark.parametrize(
    "arguments",
    [
        {"parameters": ["../outside/secret.ssv"]},
        {"inputs": "../outside/secret.csv"},
        {"inputs": "linked.csv"},
        {"scenario": "../outside/secret.yaml"},
    ],
)
@pytest.mark.parametrize("tool", ["plan", "run"])
def test_no_files_of_runs_outside(client, tool, arguments):
    answer = client.refused(tool, system="plain", **arguments)
    assert OUTSIDE in answer and SECRET not in answer


@pytest.mark.parametrize("path", ["linked.csv", "../outside/secret.csv", "{place}/outside/secret.csv"])
def test_no_results_outside(client, place, path):
    path = path.format(place=place)
    for answer in (client.refused("results", run=path), client.refused("compare", run="beside.csv", reference=path)):
        assert OUTSIDE in answer and SECRET not in answer


@pytest.mark.parametrize(
    "edit",
    [
        {"verb": "add", "fmus": ["../outside/other/resources/System1.fmu"], "name": "Third"},
        {"verb": "add", "fmus": ["plain/resources/System1.fmu", "../outside/secret.csv"]},
        {"verb": "bind", "file": "../outside/secret.ssv"},
        {"verb": "bind", "file": "resources/dual_mass_oscillator.ssv", "mapping": "../outside/secret.ssm"},
        {"verb": "replace", "component": "System1", "fmu": "../outside/other/resources/System1.fmu"},
        {"verb": "add_dictionary", "name": "bus", "file": "../outside/secret.ssb"},
        {"verb": "paste", "source": "../outside/other", "elements": ["System1"]},
    ],
)
def test_no_files_of_edits_outside(client, edit):
    assert OUTSIDE in client.refused("edit", system="plain", edits=[edit])


@pytest.mark.parametrize("name", ["up", "link", "allowing.ssp"])
def test_no_references_of_documents_outside(client, name):
    """Settings in the folder, which a client may have written, allow nothing outside either."""
    assert "error" in client.call("validate", system=name)
    answers = [client.ask("explain", system=name, names=["System1.m1"])[0], client.ask("run", system=name)[0]]
    assert all(SECRET not in answer for answer in answers)
    assert "has an error" in answers[1] or "errors and cannot be run" in answers[1]


def test_no_fmus_outside_of_other_formats(client):
    assert "System1.fmu" in client.call("validate", system="osp", page_bytes=9000)
    assert "has an error and cannot be run" in client.refused("run", system="osp")
    assert OUTSIDE in client.refused("validate", system="osp_link")


STUDY = {"factors": {"System1.c1": [0.1, 0.2]}, "results": {"peak": 'max("System1.x1")'}}


@pytest.mark.parametrize(
    "more",
    [
        {"parameters": ["../outside/secret.ssv"]},
        {"inputs": "linked.csv"},
        {"scenario": "{place}/outside/secret.yaml"},
        {"factors": {"set": {"parameters": True, "values": ["../outside/secret.ssv", "../outside/secret.ssv"]}}},
        {"factors": {"System1": {"fmu": "System1", "values": ["../outside/other/resources/System1.fmu"]}}},
        {"design": {"kind": "table", "file": "../outside/secret.csv"}, "factors": {}},
        {"file": "../outside/study.toml", "factors": {}, "results": {}, "system": ""},
    ],
)
def test_no_files_of_studies_outside(client, place, more):
    arguments = {"system": "plain", **STUDY, **more}
    if "scenario" in more:
        arguments["scenario"] = more["scenario"].format(place=place)
    answer = client.refused("study", **arguments, page_bytes=9000)
    assert OUTSIDE in answer
    assert SECRET not in answer


def test_studies_exports_and_reports_write_nothing_without_leave(client):
    """The fixture compares all files at the end."""
    assert "--results" in client.refused("study", system="plain", **STUDY, output="a")
    assert "--results" in client.refused("export", system="plain", output="a.fmu")
    assert "fmu_log" in client.refused("study", system="plain", **STUDY, settings={"fmu_log": "a.csv"})
    run = client.call("run", system="plain", settings={"stop_time": 0.01}).split()[-1]
    assert "--results" in client.refused("report", run=run, output="a.html")
    told = client.call("study", system="plain", **STUDY, settings={"stop_time": 0.01}, page_bytes=9000)
    assert "2 of 2 runs completed" in told


def test_links_that_lead_out_are_not_searched(client):
    assert "elsewhere" not in client.call("info")


def test_nothing_is_written_without_leave(client):
    """The fixture compares all files at the end."""
    edits = [{"verb": "set", "name": "System1.m1", "value": 2}]
    assert "--allow-edits" in client.refused("edit", system="plain", edits=edits, apply=True)
    assert "--allow-edits" in client.refused("fix", system="plain", apply=True)
    assert "--results" in client.refused("run", system="plain", output="a.csv")
    assert client.call("edit", system="plain", edits=edits).startswith("dry run")


def test_edits_that_bring_errors_are_refused_with_their_diff(client):
    edits: list[dict[str, Any]] = [
        {"verb": "add_connector", "name": "speed", "kind": "output", "unit": "m/s"},
        {"verb": "connect", "a": "System1.x1", "b": "speed"},
    ]
    answer = client.refused("edit", system="plain", edits=edits)
    assert answer.startswith("error: ")


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("validat", {}, "there is no tool 'validat'; did you mean validate?"),
        ("run", {"system": "plain", "timeot": 1}, "run has no argument 'timeot'; did you mean timeout?"),
        ("rule", {}, "rule needs the argument 'code'"),
        ("rule", {"code": "X-1"}, "X-1"),
        ("info", {"system": "plan"}, "plan does not exist"),
        ("run", {"system": "plain", "settings": {"log_loops": "a.csv"}}, "settings has no argument 'log_loops'"),
        ("run", {"system": "plain", "settings": {"master": "jacoby"}}, "jacobi"),
        ("explain", {"system": "plain", "names": ["System1.q"]}, "the system has no variable 'System1.q'"),
        ("edit", {"system": "plain", "edits": [{"verb": "conect"}]}, "did you mean connect"),
        ("edit", {"system": "plain", "edits": [{"verb": "connect", "a": "A.y"}]}, "connect needs the argument 'b'"),
        ("edit", {"system": "plain", "edits": [{"verb": "rename", "old": "A", "new": "B"}]}, "error: "),
        ("results", {"run": "run77"}, "run77 is neither a run nor a result file"),
        ("results", {"run": "plain/SystemStructure.ssd"}, "error: "),
        ("more", {"cursor": "page9:9"}, "there is no page 'page9:9'"),
        ("info", {"page_bytes": 1}, "page_bytes"),
        ("info", {"system": "a\0b"}, "cannot be a path"),
        ("edit", {"system": "plain", "edits": [{"verb": "add", "fmus": ["a\0.fmu"]}]}, "cannot be a path"),
        ("edit", {"system": "plain", "edits": [{"verb": "remove", "names": ["A"]}], "shared": "x"}, "shared: input"),
    ],
)
def test_errors_are_sentences(client, tool, arguments, said):
    answer = client.refused(tool, **arguments)
    assert answer.startswith("error: ") and said in answer and "internal error" not in answer


def test_pages_make_up_the_answer_of_the_command(client, place):
    answer = client.call("info", system="plain", component="System2", page_bytes=600)
    lines = []
    while "\n… lines" in answer:
        page, _, more = answer.rpartition("\n… ")
        lines += page.split("\n")
        answer = client.call("more", cursor=more.split("'")[1], page_bytes=600)
    lines += answer.split("\n")
    command = [COMMAND, "info", "plain", "System2", "--variables", "*"]
    done = subprocess.run(command, cwd=place / "world", capture_output=True, text=True, check=False)
    assert lines == done.stdout.rstrip("\n").split("\n")


def test_pages_of_json_are_json_and_make_up_the_answer(client):
    run = client.call("run", system="plain", settings={"stop_time": 0.01}).split()[-1]
    whole = client.facts("results", run=run, page_bytes=20_000)
    page = client.facts("results", run=run, page_bytes=700)
    found = page["signals"]
    while "more" in page:
        page = client.facts("more", cursor=page["more"].split("'")[1], page_bytes=700)
        found += page["signals"]
    assert found == whole["signals"] and len(found) == 8 and "more" not in whole


def test_a_cancelled_run_ends_at_once(client):
    """It would take ten minutes or more, and calls wait for each other."""
    client.give_up(3.0, "run", system="plain", settings={"stop_time": 3000}, timeout=10 * PATIENCE)
    begin = monotonic()
    assert "3000 s" not in client.call("info")
    assert monotonic() - begin < PATIENCE, "not when its own time was over"


def test_a_run_tells_of_its_progress(client):
    told = client.progress("run", system="plain", settings={"stop_time": 2})
    assert told == sorted(told)
    assert 0.0 <= told[0] < 1.0


def test_a_run_ends_when_the_client_is_gone_even_if_its_fmu_answers_no_more(tmp_path):
    folder = tmp_path / "plants"
    folder.mkdir()
    with ssptool.new(folder / "hangs.ssp") as made:
        made.add(misbehaving.build() / "fmi2" / "Misbehaving.fmu", name="M")
        made.set("M.what", misbehaving.HANG)
        made.set("M.when", 0.5)
    server = subprocess.Popen(
        [COMMAND, "mcp", folder, "--no-sandbox"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, text=True
    )
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    call = {
        "name": "run",
        "arguments": {"settings": {"stop_time": 1}, "timeout": 10 * PATIENCE},
        "_meta": {"progressToken": 1},
    }
    assert server.stdin is not None
    assert server.stdout is not None
    for message in (
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
    server.stdout.readline()
    assert "notifications/progress" in server.stdout.readline()  # its FMU has begun
    server.stdin.close()
    with server.stdout:
        assert server.wait(PATIENCE) == 0


def test_a_system_without_a_sandbox_runs_no_fmu(monkeypatch):
    monkeypatch.setattr("ssptool.cli.mcp_server.folder.missing", lambda: "the kernel has none")
    with pytest.raises(WrongUsage, match=r"the kernel has none.*--no-sandbox"):
        Folder().require_sandbox()
    Folder(sandbox=False).require_sandbox()


def test_tools_say_whether_they_write(client):
    tools = client.tools()
    assert all(one.annotations is not None and one.annotations.read_only_hint for one in tools.values())
    assert all(one.description and len(one.description) < 400 for one in tools.values())
    for one in tools.values():
        assert all("description" in facts for facts in one.input_schema["properties"].values())


def test_a_missing_package_and_a_missing_folder_are_named(tmp_path):
    plain: dict[str, Any] = {"capture_output": True, "text": True, "check": False, "stdin": subprocess.DEVNULL}
    run = partial(subprocess.run, cwd=tmp_path, **plain)
    lacking = "import sys; sys.modules['mcp'] = None; sys.argv = ['ssptool', 'mcp']"
    code = f"{lacking}; from ssptool.cli.main import main; main()"
    done = run([sys.executable, "-c", code])
    assert (done.returncode, "pip install 'ssptool[mcp]'" in done.stderr) == (1, True)
    done = run([COMMAND, "mcp", "nowhere"])
    assert (done.returncode, "nowhere is not a folder" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("tool", "argument", "value", "limit"),
    [
        ("validate", "select", ["XML"] * 1_001, "1000"),
        ("validate", "ignore", ["X" * 10_001], "10000"),
        ("plan", "accept", ["XML-001"] * 1_001, "1000"),
        ("plan", "settings", {str(number): 1 for number in range(1_001)}, "1000"),
        ("run", "record", ["*"] * 1_001, "1000"),
        ("run", "start_values", {"x" * 10_001: 1}, "10000"),
        ("explain", "names", ["x"] * 1_001, "1000"),
        ("info", "variables", ["x"] * 1_001, "1000"),
        ("edit", "edits", [{"verb": "set", "name": "System1.m1", "value": "x" * 10_001}], "10000"),
        ("edit", "edits", [{"verb": "remove"}] * 1_001, "1000"),
    ],
)
def test_arguments_have_limits(client, tool, argument, value, limit):
    told = client.refused(tool, **{"system": "plain", argument: value})
    assert argument in told
    assert f"limit of {limit}" in told
    assert len(told) < 30_000
