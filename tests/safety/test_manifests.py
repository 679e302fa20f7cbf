"""Manifests by strangers: `reproduce` takes settings, stimuli and parameters from them, and nothing else."""

import json
import shutil
from pathlib import Path

import pytest

import ssptool
from ssptool.sandbox import missing
from tests.safety.command_line import typed

pytestmark = pytest.mark.one_in(3)

SYSTEMS = Path(__file__).parents[2] / "systems"
CHAIN = SYSTEMS / "mass_spring_damper"
SCENARIO = "events:\n  - {time: 0.02, model: first.mass, variable: F, action: override, value: 4.0}\n"
SECRET = "root:x:0:0:the secret of another folder"


@pytest.fixture
def received(tmp_path, monkeypatch):
    """A folder with a system, a result of it, its inputs and its manifest; it is the working folder."""
    folder = tmp_path / "received"
    folder.mkdir()
    shutil.copytree(CHAIN, folder / "chain")
    (folder / "u.csv").write_text("time,first.mass.F [kN]\n0,0.001\n0.02,0.002\n1,0\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    ssptool.simulate("chain", output="r.csv", inputs="u.csv", stop_time=0.05).unwrap()
    return folder


def change(folder: Path, **changes) -> Path:
    """Change the manifest of the result: keys of its objects, as in `settings={...}`."""
    file = folder / "r.csv.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    for key, values in changes.items():
        manifest[key] = {**manifest[key], **values} if isinstance(values, dict) else values
    file.write_text(json.dumps(manifest), encoding="utf-8")
    return folder / "r.csv"


KEPT = "a file of the user\n"


@pytest.mark.parametrize("where", ["arguments", "settings"])
@pytest.mark.parametrize("name", ["fmu_log", "log_coupling", "log_loops", "output"])
def test_a_manifest_writes_no_file(received, tmp_path, where, name):
    precious = tmp_path / "precious.csv"
    precious.write_text(KEPT, encoding="utf-8")
    done = typed("reproduce", change(received, **{where: {name: str(precious)}}))
    assert precious.read_text(encoding="utf-8") == KEPT
    known = where == "settings" and name != "output"  # of a log that the run wrote for its caller
    assert done.code == (0 if known else 2), done
    assert known or f"'{name}'" in done.err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("env", ["HOME"]),
        ("isolated", False),
        ("sandbox", False),
        ("timeout", 1e9),
        ("memory_limit", 1e9),
        ("keep", True),
        ("progress", "print"),
        ("go_on", "print"),
        ("settings", {"fmu_log": "x.csv"}),
        ("native", False),
        ("realtime", 1e-9),
    ],
)
def test_a_manifest_decides_nothing_about_processes(received, name, value):
    done = typed("reproduce", change(received, arguments={name: value}))
    assert done.code == 2
    assert f"the argument '{name}'" in done.err
    assert "r.csv" in done.err


def test_a_manifest_allows_no_folder_and_no_compiler(received, monkeypatch):
    """Both are arguments of runs that the one who repeats it states: `--allow-outside` and `--compile`."""
    seen = {}

    def simulate(system, **given):
        seen.update(given)
        raise ssptool.exceptions.WrongArgument("stopped", 1, "looked at")

    monkeypatch.setattr("ssptool.api.reproduce.simulate", simulate)
    result = change(received, arguments={"allow_outside": ["/"], "compile": True, "settings_file": "/evil.toml"})
    with pytest.raises(ssptool.exceptions.CannotReproduce):
        ssptool.reproduce(result)
    assert (seen["allow_outside"], seen["compile"], seen["settings_file"]) == ((), False, False)
    with pytest.raises(ssptool.exceptions.CannotReproduce):
        ssptool.reproduce(result, compile=True, allow_outside=[received])
    assert (seen["allow_outside"], seen["compile"]) == ((received,), True)


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        ("arguments", "every", "2"),
        ("arguments", "every", True),
        ("arguments", "output_step", [1]),
        ("arguments", "record", "x"),
        ("arguments", "record", [1]),
        ("arguments", "parameters", "v.ssv"),
        ("arguments", "parameters", [{}]),
        ("arguments", "scenario", 3),
        ("arguments", "scenario", {"events": []}),
        ("arguments", "variant", ["a"]),
        ("arguments", "start_values", {"first.mass.m": {"a": 1}}),
        ("arguments", "start_values", ["first.mass.m"]),
        ("arguments", "inputs", 3),
        ("arguments", "inputs", [["u.csv", 3]]),
        ("arguments", "inputs", {"first.mass.F": [1]}),
        ("arguments", "inputs", {"source": 1, "interpolation": "hold", "columns": {}}),
        ("arguments", "inputs", {"source": "u.csv", "interpolation": [], "columns": {}}),
        ("arguments", "inputs", {"source": "u.csv", "interpolation": "hold", "columns": []}),
        ("arguments", "interpolation", 1),
        ("arguments", "accept", "FMU"),
        ("arguments", "system", None),
        ("settings", "step_size", [1]),
        ("settings", "master", {"a": 1}),
        ("settings", "power_bonds", 7),
        ("settings", "substeps", {"first": "many"}),
        ("settings", "no_setting", 1),
    ],
)
def test_wrong_types_and_unknown_keys_are_named(received, where, name, value):
    done = typed("reproduce", change(received, **{where: {name: value}}))
    assert done.code in (1, 2), done
    assert "Traceback" not in done.err
    assert name in done.err
    assert "r.csv" in done.err or where == "settings"


def test_objects_of_a_manifest_are_objects(received):
    for key in ("arguments", "settings"):
        damaged = change(received, **{key: [1]})
        assert typed("reproduce", damaged).code in (1, 2)


def elsewhere(tmp_path: Path, name: str, text: str) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize(
    ("argument", "name"), [("inputs", "passwd"), ("scenario", "passwd"), ("parameters", "passwd"), ("inputs", "u.csv")]
)
def test_a_manifest_reads_no_file_of_another_folder(received, tmp_path, argument, name):
    secret = elsewhere(tmp_path, name, SECRET)
    value = [str(secret)] if argument == "parameters" else str(secret)
    result = change(received, arguments={argument: value})
    done = typed("reproduce", result)
    assert done.code == 2
    assert f"names {secret}" in done.err.replace("\n", " ")
    assert f"--allow-outside {secret.parent}" in done.err.replace("\n", " ")
    assert "the secret" not in done.err + done.out
    allowed = typed("reproduce", result, "--allow-outside", secret.parent)
    assert "--allow-outside" not in allowed.err
    (received / "link").symlink_to(secret)
    linked = change(received, arguments={argument: json.loads(json.dumps(value).replace(str(secret), "link"))})
    done = typed("reproduce", linked)
    assert "--allow-outside" in done.err
    assert "the secret" not in done.err + done.out


@pytest.mark.parametrize("file", ["/proc/self/environ", "/dev/zero", "/sys/kernel/uevent_seqnum", "/proc/self/fd/0"])
def test_no_option_lets_a_manifest_read_files_of_the_kernel(received, file):
    if not Path(file).exists():
        pytest.skip("another operating system")
    (received / "link").symlink_to(file)
    for name in (file, "link"):
        result = change(received, arguments={"inputs": name})
        done = typed("reproduce", result, "--allow-outside", "/")
        assert done.code == 2
        assert "never read" in done.err
    manifest = change(received, arguments={"inputs": "u.csv"}, inputs=[{"name": file, "sha256": "0"}])
    assert f"1 input not there: {file}" in typed("reproduce", manifest).out


def test_a_file_that_is_as_in_the_run_is_read_anywhere(received, tmp_path):
    """Whoever wrote its hash into the manifest knew its content."""
    table = elsewhere(tmp_path, "u.csv", (received / "u.csv").read_text(encoding="utf-8"))
    ssptool.simulate("chain", output="r.csv", inputs=str(table), stop_time=0.05).unwrap()
    assert ssptool.reproduce("r.csv").verdict == "same bits"
    table.write_text(table.read_text(encoding="utf-8").replace("0.002", "0.003"), encoding="utf-8")
    with pytest.raises(ssptool.exceptions.CannotReproduce, match=f"--allow-outside {table.parent}"):
        ssptool.reproduce("r.csv")
    again = ssptool.reproduce("r.csv", allow_outside=table.parent)
    assert again.verdict == "differs"
    assert again.reasons == (f"1 input changed since the run: {table}",)


def test_the_repository_around_the_results_may_be_read(received, tmp_path):
    table = elsewhere(tmp_path, "u.csv", (received / "u.csv").read_text(encoding="utf-8").replace("0.002", "0.003"))
    result = change(received, arguments={"inputs": str(table)})
    assert typed("reproduce", result).code == 2
    (tmp_path / ".git").mkdir()
    assert typed("reproduce", result).code == 1


@pytest.mark.parametrize("option", ["--isolated", "--in-process", "--sandbox", "--timeout=60", "--memory-limit=4000"])
def test_whoever_repeats_a_run_says_how_its_fmus_run(received, option):
    if option == "--sandbox" and missing():
        pytest.skip(missing())
    done = typed("reproduce", received / "r.csv", option)
    assert (done.code, "same bits" in done.out) == (0, True), done


def test_a_sandbox_needs_a_process(received):
    with pytest.raises(ssptool.exceptions.ContradictingSettings):
        ssptool.reproduce(received / "r.csv", sandbox=True, isolated=False)


@pytest.fixture
def study(received):
    for module in ("pyarrow", "simpleeval", "distributed"):
        pytest.importorskip(module)
    table = {
        "system": "chain",
        "settings": {"stop_time": 0.05, "step_size": 0.005},
        "factors": {"first.mass.m": [1.5, 2.5]},
        "inputs": ["u.csv"],
        "results": {"end": 'final("first.mass.v")'},
    }
    ssptool.study(table, received / "k.study", workers=1)
    return received / "k.study"


def change_study(study: Path, **changes) -> str:
    file = study / "study.json"
    definition = json.loads(file.read_text(encoding="utf-8"))
    definition["study"] = {**definition["study"], **changes}
    file.write_text(json.dumps(definition), encoding="utf-8")
    return f"{study}#1"


@pytest.mark.parametrize("sandbox", [False, True])
def test_a_run_of_a_study_writes_no_log_when_it_is_repeated(study, tmp_path, sandbox):
    if sandbox and missing():
        pytest.skip(missing())
    precious = tmp_path / "precious-1.csv"
    precious.write_text(KEPT, encoding="utf-8")
    settings = {"stop_time": 0.05, "step_size": 0.005, "fmu_log": str(tmp_path / "precious.csv")}
    run = change_study(study, settings=settings)
    assert ssptool.reproduce(run, sandbox=sandbox).verdict == "same bits"
    assert precious.read_text(encoding="utf-8") == KEPT


@pytest.mark.parametrize("where", ["inputs", "parameters", "scenario", "design"])
def test_a_run_of_a_study_reads_no_file_of_another_folder(study, tmp_path, where):
    secret = elsewhere(tmp_path, "passwd", SECRET)
    value = {"inputs": [str(secret)], "parameters": [str(secret)], "scenario": str(secret)}
    design = {"kind": "table", "file": str(secret)}
    done = typed("reproduce", change_study(study, **{where: design if where == "design" else value[where]}))
    assert done.code == 2, done
    assert f"names {secret}" in done.err.replace("\n", " ")
    assert "the secret" not in done.err + done.out
