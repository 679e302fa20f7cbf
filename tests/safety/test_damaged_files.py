"""Damaged files get messages that say what is wrong: a short campaign, and faults that `make fuzz` has found."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.errors import UnusableFile
from tests.safety.command_line import typed

ROOT = Path(__file__).parents[2]
SYSTEM = ROOT / "systems" / "dual_mass_oscillator"
DEEP = 100_000
"""Brackets in a row: more than Python follows."""


def test_a_short_campaign_finds_no_fault():
    """Commands have more time than in a long one: machines of tests are slow."""
    arguments = ["--cases", "60", "--seed", "1", "--seconds", "60"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.safety.campaign", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "60 cases" in done.stdout


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for ending in ("csv", "mat", "parquet", "h5"):
        ssptool.simulate(SYSTEM, stop_time=0.05, step_size=0.01, output=folder / f"r.{ending}")
    return folder


@pytest.mark.parametrize(
    "damage",
    [
        {"columns": [{"signal": 1}]},
        {"columns": [{"signal": "x", "unit": []}]},
        {"columns": [None]},
        {"interval": {"start": 0}},
        {"loops": [{}]},
        {"choices": {}},
        {"statistics": {"calls": [{"component": "x"}]}},
        {"statistics": {"steps": "text"}},
        {"statistics": {"real_time_factor": {}}},
        {"notes": "text"},
        {"failure": "text"},
    ],
    ids=lambda damage: next(iter(damage)),
)
def test_a_manifest_with_a_wrong_value_is_refused_and_named(simulated, tmp_path, damage):
    key = next(iter(damage))
    (tmp_path / "r.csv").write_bytes((simulated / "r.csv").read_bytes())
    manifest = json.loads((simulated / "r.csv.json").read_text())
    (tmp_path / "r.csv.json").write_text(json.dumps({**manifest, **damage}))
    done = typed("report", SYSTEM, tmp_path / "r.csv", "--output", tmp_path / "r.html")
    assert done.code == 1, done
    assert "r.csv" in done.err
    assert "is damaged" in done.err
    assert key in done.err


@pytest.mark.parametrize("missing", ["interval", "status", "created"])
def test_a_report_says_that_a_manifest_is_incomplete(simulated, tmp_path, missing):
    (tmp_path / "r.csv").write_bytes((simulated / "r.csv").read_bytes())
    manifest = json.loads((simulated / "r.csv.json").read_text())
    del manifest[missing]
    (tmp_path / "r.csv.json").write_text(json.dumps(manifest))
    assert typed("report", SYSTEM, tmp_path / "r.csv", "--output", tmp_path / "r.html").code == 0
    assert "The manifest of the run is incomplete." in (tmp_path / "r.html").read_text()


def test_a_manifest_nested_without_end_is_refused(simulated, tmp_path):
    (tmp_path / "r.csv").write_bytes((simulated / "r.csv").read_bytes())
    (tmp_path / "r.csv.json").write_text("[" * DEEP)
    done = typed("report", SYSTEM, tmp_path / "r.csv", "--output", tmp_path / "r.html")
    assert done.code == 1
    assert "nested deeper than the limit of 100 levels" in done.err


def test_a_mat_file_that_declares_more_than_it_can_hold_is_not_read(simulated, tmp_path):
    """The number of columns of the trajectories, which a matrix of level 4 states at its beginning."""
    content = bytearray((simulated / "r.mat").read_bytes())
    name = content.rfind(b"data_2\0")
    columns = name - 20 + 8
    content[columns : columns + 4] = (2**31 - 1).to_bytes(4, "little")
    (tmp_path / "r.mat").write_bytes(content)
    done = typed("compare", tmp_path / "r.mat", simulated / "r.csv")
    assert done.code == 1
    assert "r.mat" in done.err
    assert "more than a file of this size can have" in done.err


def saved(path: Path) -> dict[str, np.ndarray]:
    with ssptool.Simulation(SYSTEM, stop_time=0.05, step_size=0.01) as simulation:
        simulation.step()
        simulation.save(path)
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


def restored(path: Path) -> None:
    with ssptool.Simulation(SYSTEM, stop_time=0.05, step_size=0.01, saved=path) as simulation:
        simulation.step()


def test_a_saved_state_with_an_array_of_another_shape_is_refused(tmp_path):
    """Masters rely on the shapes of what they have saved; numpy's archives know no checksum over all."""
    path = tmp_path / "state.npz"
    arrays = saved(path)
    restored(path)
    for name in arrays.keys() - {"facts"}:
        with path.open("wb") as file:
            np.savez_compressed(file, **{**arrays, name: np.zeros((2, 2, 2))})
        with pytest.raises(UnusableFile, match="not the one that was saved"):
            restored(path)


@pytest.mark.parametrize("change", [{"steps": 1.5}, {"steps": []}, {"steps": 2}, {"plan": {}}], ids=str)
def test_a_saved_state_with_another_description_is_refused(tmp_path, change):
    """A number of steps that is none was noticed one step later only, as a fault of ssptool."""
    path = tmp_path / "state.npz"
    arrays = saved(path)
    facts = json.loads(arrays["facts"].tobytes())
    assert set(change) <= set(facts)
    arrays["facts"] = np.frombuffer(json.dumps({**facts, **change}).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)
    with pytest.raises(UnusableFile, match="not the one that was saved"):
        restored(path)


def test_a_saved_state_with_an_encrypted_entry_is_refused(tmp_path):
    path = tmp_path / "state.npz"
    saved(path)
    content = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = content.index(b"facts.npy", content.index(signature))
        start = content.rindex(signature, 0, place)
        content[start + flags] |= 1
    path.write_bytes(content)
    with pytest.raises(UnusableFile, match=r"state\.npz"):
        restored(path)


@pytest.mark.parametrize("facts", [b"[]", b"{}", b"[" * DEEP, b'{"format": 6, "plan": {}}'], ids=range(4))
def test_a_saved_state_with_a_damaged_description_is_refused(tmp_path, facts):
    path = tmp_path / "state.npz"
    arrays = {**saved(path), "facts": np.frombuffer(facts, dtype=np.uint8)}
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)
    with pytest.raises(UnusableFile, match=r"state\.npz"):
        restored(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"x = {'[' * DEEP}", "nested deeper than the limit of 100 levels"),
        (f"x = 1{'0' * 400}", "more than 64 bits"),
        (f"[settings]\nstep_size = 1{'0' * 400}", "more than 64 bits"),
    ],
    ids=["deep", "large", "large within"],
)
def test_a_study_file_beyond_what_toml_allows_is_refused(tmp_path, text, reason):
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(ssptool.exceptions.BadData, match=reason) as refused:
        ssptool.study(tmp_path / "s.toml")
    assert "s.toml:1" in str(refused.value)


@pytest.mark.parametrize("key", ["time", "value"])
def test_a_scenario_with_a_number_beyond_all_types_is_refused(tmp_path, key):
    event = {"time": 0.01, "model": "System2", "variable": "x1", "action": "override", "value": 0.1, key: 10**400}
    (tmp_path / "c.yaml").write_text(json.dumps({"events": [event], "end": 0.04}))
    done = typed("plan", SYSTEM, "--scenario", tmp_path / "c.yaml")
    assert done.code == 1
    assert "c.yaml:1" in done.err
    assert key in done.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("study") / "s.study"
    table = {
        "system": str(SYSTEM),
        "settings": {"step_size": 0.01, "stop_time": 0.05},
        "factors": {"System2.k2": [5.0, 10.0]},
        "results": {"peak": 'max("System1.x1")'},
    }
    ssptool.study(table, folder, workers=1)
    return folder


class TestStudyFolder:
    @pytest.mark.parametrize("damage", [{"factors": []}, {"results": {"peak": 1}}, {"runs": "x"}, {"units": 1}])
    def test_a_damaged_definition_is_refused_and_its_value_named(self, folder, tmp_path, damage):
        content = json.loads((folder / "study.json").read_text())
        (tmp_path / "s.study").mkdir()
        (tmp_path / "s.study/study.json").write_text(json.dumps({**content, **damage}))
        done = typed("study", "results", tmp_path / "s.study")
        assert done.code == 1
        assert "study.json is damaged" in done.err
        assert next(iter(damage)) in done.err

    @pytest.mark.parametrize("key", ["units", "design", "study", "files", "version", "nominal"])
    def test_a_definition_that_lacks_something_is_refused(self, folder, tmp_path, key):
        """`plot` read one without units as a bug of ssptool."""
        shutil.copytree(folder, tmp_path / "s.study")
        content = json.loads((folder / "study.json").read_text())
        del content[key]
        (tmp_path / "s.study/study.json").write_text(json.dumps(content))
        for arguments in (["study", "results"], ["plot", "--output", tmp_path / "p.svg"], ["report"]):
            done = typed(*arguments, tmp_path / "s.study")
            assert done.code in (1, 2), done
            assert "study.json is damaged" in done.err and key in done.err

    @pytest.mark.parametrize("column", ["run", "status", "peak", "System2.k2"])
    def test_runs_without_a_column_are_refused(self, folder, tmp_path, column):
        parquet = pytest.importorskip("pyarrow.parquet")

        (tmp_path / "s.study/runs").mkdir(parents=True)
        (tmp_path / "s.study/study.json").write_bytes((folder / "study.json").read_bytes())
        part = next((folder / "runs").glob("*.parquet"))
        parquet.write_table(parquet.read_table(part).drop_columns([column]), tmp_path / "s.study/runs" / part.name)
        done = typed("study", "results", tmp_path / "s.study")
        assert done.code == 1
        assert f"it has no column {column}" in done.err

    @pytest.mark.parametrize("column", ["run", "status", "peak", "System2.k2"])
    def test_runs_whose_column_has_lists_are_refused(self, folder, tmp_path, column):
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        shutil.copytree(folder, tmp_path / "s.study")
        part = next((tmp_path / "s.study/runs").glob("*.parquet"))
        table = parquet.read_table(part)
        lists = arrow.array([[value] for value in table[column].to_pylist()])
        parquet.write_table(table.set_column(table.column_names.index(column), column, lists), part)
        for arguments in (["study", "results"], ["plot", "--output", tmp_path / "p.svg"]):
            done = typed(*arguments, tmp_path / "s.study")
            assert done.code in (1, 2), done
            assert f"{part.name} is damaged: the column {column} is of type list" in done.err


def test_a_mapping_with_a_value_of_another_type_is_a_finding(tmp_path):
    """`plan` read `maybe` as a bug of ssptool."""
    structure = (SYSTEM / "SystemStructure.ssd").read_text()
    end = structure.index("/>", structure.index("<ssd:Connection "))
    mapping = (
        '><ssc:BooleanMappingTransformation><ssc:MapEntry source="maybe" target="true"/>'
        "</ssc:BooleanMappingTransformation></ssd:Connection>"
    )
    (tmp_path / "system").mkdir()
    (tmp_path / "system/SystemStructure.ssd").write_text(structure[:end] + mapping + structure[end + 2 :])
    (tmp_path / "system/resources").symlink_to(SYSTEM / "resources")
    done = typed("plan", tmp_path / "system")
    assert done.code in (1, 2), done
    assert "SystemStructure.ssd:" in done.out + done.err
