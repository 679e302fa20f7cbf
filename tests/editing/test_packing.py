"""Packages and folders, and the variants in them: nothing is overwritten, lost or written elsewhere unasked."""

import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

import ssptool
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.editing.changes import EditError
from ssptool.errors import UnknownName
from tests.network.packages import bindings, component, model, package, ssd, ssv

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
MODEL = model('input u Real start="0"; output y Real; parameter k Real start="1"')
ONE = f"<ssd:Elements>{component('A', 'M', 'input u Real')}</ssd:Elements>"
NESTED = '<ssd:Elements><ssd:Component name="S" type="application/x-ssp-definition" source="{}"/></ssd:Elements>'


def named(name: str, system: str = ONE, version: str = "2.0") -> str:
    return ssd(system, version).replace('name="test"', f'name="{name}"')


@pytest.fixture
def folder(tmp_path) -> Path:
    """A package with three variants, not packed."""
    variants = {"B.ssd": named("Blue"), "R.ssd": named("Red")}
    return package(tmp_path / "p", named("Default"), {"M": MODEL}, variants).path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- Pack ---


def test_equal_folders_make_equal_packages_whenever_they_were_written(tmp_path, folder):
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    for number, path in enumerate(sorted(other.rglob("*"), reverse=True)):
        os.utime(path, (10**9 + number, 10**9 + number))
    first, second = ssptool.pack(folder, tmp_path / "1.ssp"), ssptool.pack(other, tmp_path / "2.ssp")
    assert first.path.read_bytes() == second.path.read_bytes()


def test_packing_and_unpacking_gives_the_same_files(tmp_path, folder):
    packed = ssptool.pack(folder)
    assert packed.path == tmp_path / "p.ssp"
    unpacked = ssptool.unpack(packed.path, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(folder)
    assert set(unpacked.names) == set(packed.names) == set(contents(folder))
    assert ssptool.validate(packed.path).ok == ssptool.validate(folder).ok


def test_what_is_for_the_authors_only_is_left_out_and_named(tmp_path, folder):
    for name in ("README.md", "ssptool.toml", ".git/config", ".git/refs/x", "resources/.cache", "resources/README.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("" if name.endswith(".toml") else "x")
    packed = ssptool.pack(folder)
    assert [each.name for each in packed.left_out] == [".git", "README.md", "resources/.cache", "ssptool.toml"]
    with zipfile.ZipFile(packed.path) as zip_:
        assert set(zip_.namelist()) == {
            *("SystemStructure.ssd", "B.ssd", "R.ssd", "resources/M.fmu", "resources/README.md")
        }
    assert (folder / "README.md").exists()


WRITTEN = (
    "log.jsonl",
    "p.png",
    "r.csv",
    "r.csv.json",
    "r.h5",
    "r.html",
    "r.mat",
    "r.mf4",
    "r.parquet",
    "x.study/runs/0.parquet",
)


def test_what_commands_write_beside_a_system_is_no_part_of_a_package_unless_it_refers_to_it(folder):
    """`table.csv` is the source of a component, `notes.txt` nothing that a command writes."""
    stay = ("table.csv", "notes.txt", "resources/s.csv", "resources/s.csv.json")
    for name in (*WRITTEN, *stay):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("time,y\n0,1\n")
    table = '<ssd:Component name="T" type="text/csv" source="table.csv"/>'
    (folder / "SystemStructure.ssd").write_text(named("Default", f"<ssd:Elements>{table}</ssd:Elements>"))
    found = [str(each.position) for each in ssptool.validate(folder).diagnostics if each.code == "PKG-016"]
    assert found == ["notes.txt", "table.csv"]
    packed = ssptool.pack(folder)
    assert [each.name for each in packed.left_out] == list(WRITTEN)
    assert set(stay) < set(packed.names)


def test_a_hidden_file_that_is_needed_stops_packing(tmp_path, folder):
    (folder / "resources" / ".k.ssv").write_text(ssv("A.k Real value='2'"))
    (folder / "SystemStructure.ssd").write_text(named("Default", bindings('source="resources/.k.ssv"') + ONE))
    with pytest.raises(ssptool.exceptions.BrokenEdit, match=r"URI-002.*\.k\.ssv"):
        ssptool.pack(folder)
    assert not (tmp_path / "p.ssp").exists()
    assert ssptool.pack(folder, force=True).path.exists()


def test_errors_that_were_there_before_do_not_stop_packing(folder):
    (folder / "resources" / "M.fmu").unlink()
    assert not ssptool.validate(folder).ok
    (folder / "README.md").write_text("x")
    assert ssptool.pack(folder).path.exists()


def test_packing_replaces_a_package_but_nothing_else(tmp_path, folder):
    first = ssptool.pack(folder).path.read_bytes()
    (folder / "resources" / "new.txt").write_text("x")
    assert ssptool.pack(folder).path.read_bytes() != first
    for target in (tmp_path, tmp_path / "x.zip", folder / "inside.ssp"):
        with pytest.raises(EditError):
            ssptool.pack(folder, target)


@pytest.mark.parametrize("make", [lambda path: os.mkfifo(path), lambda path: path.symlink_to("nowhere")])
def test_what_is_no_file_is_refused_by_name(tmp_path, folder, make):
    make(folder / "resources" / "odd")
    with pytest.raises(EditError, match="resources/odd"):
        ssptool.pack(folder)
    assert not (tmp_path / "p.ssp").exists()


def test_a_link_to_a_folder_is_refused_by_name(tmp_path, folder):
    (tmp_path / "elsewhere").mkdir()
    (folder / "resources" / "linked").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EditError, match="resources/linked': a link to a folder"):
        ssptool.pack(folder)


@pytest.mark.skipif(os.name == "nt", reason="there such names do not exist")
def test_a_name_that_no_package_may_have_is_refused(folder):
    (folder / "resources" / "a\\b.txt").write_text("x")
    with pytest.raises(EditError, match="backslash"):
        ssptool.pack(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere such names cannot be made")
def test_a_name_that_is_not_utf_8_is_refused(folder):
    (folder / "resources" / os.fsdecode(b"Stra\xdfe.txt")).write_text("x")
    with pytest.raises(EditError, match="not UTF-8"):
        ssptool.pack(folder)


def test_only_a_folder_with_a_structure_can_be_packed(tmp_path, folder):
    with pytest.raises(EditError, match="not a folder"):
        ssptool.pack(folder / "SystemStructure.ssd")
    with pytest.raises(InvalidDocument, match="PKG-009"):
        ssptool.pack(folder / "resources")
    with pytest.raises(FileNotFoundError):
        ssptool.pack(tmp_path / "nowhere")


# --- Unpack ---


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path, folder):
    packed = ssptool.pack(folder).path
    before = contents(folder)
    with pytest.raises(FileExistsError, match="--force"):
        ssptool.unpack(packed)
    assert contents(folder) == before
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileExistsError):
        ssptool.unpack(packed, tmp_path / "file", force=True)


def test_with_force_other_files_stay_and_are_named(folder):
    packed = ssptool.pack(folder).path
    (folder / "SystemStructure.ssd").write_text("broken")
    (folder / "notes.txt").write_text("mine")
    unpacked = ssptool.unpack(packed, force=True)
    assert unpacked.kept == ("notes.txt",)
    assert (folder / "notes.txt").read_text() == "mine"
    assert "broken" not in (folder / "SystemStructure.ssd").read_text()


def test_the_folder_is_called_after_the_package_whatever_dots_it_has(tmp_path, folder):
    packed = ssptool.pack(folder, tmp_path / "x.v1.ssp").path
    assert ssptool.unpack(packed).folder == tmp_path / "x.v1"
    assert (tmp_path / "x.v1" / "SystemStructure.ssd").is_file()


def test_names_that_lead_out_of_the_folder_are_refused(tmp_path):
    evil = tmp_path / "evil.ssp"
    with zipfile.ZipFile(evil, "w") as zip_:
        zip_.writestr("SystemStructure.ssd", named("x"))
        zip_.writestr("../out.txt", "x")
    with pytest.raises(InvalidDocument, match="PKG-020"):
        ssptool.unpack(evil)
    assert not (tmp_path / "out.txt").exists()
    assert not (tmp_path / "evil").exists()


def test_nothing_is_written_through_a_link_out_of_the_folder(tmp_path, folder):
    packed = ssptool.pack(folder).path
    (tmp_path / "outside").mkdir()
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "resources").symlink_to(tmp_path / "outside")
    with pytest.raises(ssptool.exceptions.WrongUsage, match="link"):
        ssptool.unpack(packed, tmp_path / "target", force=True)
    assert contents(tmp_path / "outside") == {}
    assert not (tmp_path / "target" / "SystemStructure.ssd").exists()


def test_a_damaged_package_leaves_no_half_of_it(tmp_path, folder):
    packed = ssptool.pack(folder).path
    data = bytearray(packed.read_bytes())
    with zipfile.ZipFile(packed) as zip_:
        start = zip_.getinfo("resources/M.fmu").header_offset
    data[start + 60] ^= 0xFF
    packed.write_bytes(bytes(data))
    with pytest.raises(InvalidDocument, match="PKG-001"):
        ssptool.unpack(packed, tmp_path / "again")
    assert not (tmp_path / "again").exists() or contents(tmp_path / "again") == {}


def test_only_packages_can_be_unpacked(tmp_path, folder):
    for path in (folder, folder / "B.ssd"):
        with pytest.raises(EditError, match="not a package"):
            ssptool.unpack(path)
    with pytest.raises(InvalidDocument, match="PKG-001"):
        ssptool.unpack(_text(tmp_path))


def _text(folder: Path) -> Path:
    (folder / "text.ssp").write_text("no zip")
    return folder / "text.ssp"


# --- Variants ---


@pytest.fixture(params=["folder", "zip"])
def system(request, folder) -> Path:
    return folder if request.param == "folder" else ssptool.pack(folder).path


def names(path: Path) -> dict[str, str]:
    return {variant.file: variant.name for variant in ssptool.variants.list_variants(path)}


def test_variants_are_listed_with_the_default_first(system):
    assert list(names(system).items()) == [("SystemStructure.ssd", "Default"), ("B.ssd", "Blue"), ("R.ssd", "Red")]


def test_a_new_variant_is_a_copy_under_its_own_name(system):
    edit = ssptool.variants.add_variant(system, "Dark / blue", like="Blue")
    assert names(system)["Dark_blue.ssd"] == "Dark / blue"
    assert [(each.name, each.before) for each in edit.files] == [("Dark_blue.ssd", None)]
    comparison = ssptool.diff(system, system, variant="Blue", variant_b="Dark / blue")
    assert [fact.fact for difference in comparison.differences for fact in difference.facts] == ["name"]


def test_a_copy_differs_from_its_original_in_the_name_only(folder):
    ssptool.variants.add_variant(folder, "New", file="N.ssd")
    before = (folder / "SystemStructure.ssd").read_text()
    assert (folder / "N.ssd").read_text() == before.replace('name="Default"', 'name="New"')


@pytest.mark.parametrize(
    ("name", "options", "hint"),
    [
        ("Blue", {}, "B.ssd is called 'Blue' already"),
        (" ", {}, "empty"),
        ("New", {"file": "b.SSD"}, "already"),
        ("New", {"file": "../x.ssd"}, "'..'"),
        ("New", {"file": "resources/x.ssd"}, "at the root"),
        ("New", {"file": "x.xml"}, ".ssd"),
    ],
)
def test_a_variant_that_cannot_be_added_is_refused_and_nothing_changes(system, name, options, hint):
    before = names(system)
    with pytest.raises(EditError, match=hint):
        ssptool.variants.add_variant(system, name, **options)
    assert names(system) == before


def test_names_of_files_for_variants_are_free_ones(system):
    for name in ("B", "b", "B!"):
        ssptool.variants.add_variant(system, name)
    assert {"B_2.ssd", "b_3.ssd", "B_4.ssd"} <= names(system).keys()


def test_a_variant_is_removed_with_nothing_else(folder):
    before = contents(folder)
    ssptool.variants.remove_variant(folder, "Blue")
    del before["B.ssd"]
    assert contents(folder) == before


def test_the_default_and_unknown_variants_are_not_removed(system):
    with pytest.raises(EditError, match="'Blue', 'Red'"):
        ssptool.variants.remove_variant(system, "Default")
    with pytest.raises(UnknownName, match="Blue"):
        ssptool.variants.remove_variant(system, "Green")


def test_a_variant_that_another_one_is_made_of_is_not_removed(folder):
    (folder / "R.ssd").write_text(named("Red", NESTED.format("B.ssd")))
    with pytest.raises(ssptool.exceptions.BrokenEdit, match="URI-002"):
        ssptool.variants.remove_variant(folder, "Blue")
    assert (folder / "B.ssd").exists()


def test_another_default_swaps_files_and_both_keep_their_bytes(system):
    with_default, blue = (_bytes(system, name) for name in ("SystemStructure.ssd", "B.ssd"))
    ssptool.variants.set_default_variant(system, "Blue")
    assert names(system) == {"SystemStructure.ssd": "Blue", "Default.ssd": "Default", "R.ssd": "Red"}
    assert _bytes(system, "SystemStructure.ssd") == blue
    assert _bytes(system, "Default.ssd") == with_default
    ssptool.variants.set_default_variant(system, "Default")
    assert names(system)["SystemStructure.ssd"] == "Default"


def _bytes(path: Path, name: str) -> bytes:
    if path.is_dir():
        return (path / name).read_bytes()
    with zipfile.ZipFile(path) as zip_:
        return zip_.read(name)


def test_components_made_of_a_variant_follow_it(folder):
    (folder / "R.ssd").write_text(named("Red", NESTED.format("B.ssd")))
    (folder / "resources" / "inner.ssd").write_text(named("Inner", NESTED.format("../B.ssd")))
    edit = ssptool.variants.set_default_variant(folder, "Blue")
    assert 'source="SystemStructure.ssd"' in (folder / "R.ssd").read_text()
    assert 'source="../SystemStructure.ssd"' in (folder / "resources" / "inner.ssd").read_text()
    assert sum("follows" in note for note in edit.notes) == 2


def test_the_default_can_be_made_the_default(folder):
    before = contents(folder)
    assert "already" in ssptool.variants.set_default_variant(folder, "Default").notes[0]
    assert contents(folder) == before


def test_what_was_wrong_before_does_not_keep_a_variant_from_moving(folder):
    (folder / "resources" / "M.fmu").unlink()
    ssptool.variants.set_default_variant(folder, "Blue")
    assert names(folder)["SystemStructure.ssd"] == "Blue"


def test_looking_at_an_edit_writes_nothing(system):
    before = names(system)
    edits = [
        ssptool.variants.add_variant(system, "New", save=False),
        ssptool.variants.remove_variant(system, "Blue", save=False),
        ssptool.variants.set_default_variant(system, "Blue", save=False),
    ]
    assert names(system) == before
    assert [
        "+++ b/New.ssd" in ssptool.renderers.unified_diff(edits[0].files),
        "--- a/B.ssd" in ssptool.renderers.unified_diff(edits[1].files),
    ]


def test_a_lone_ssd_has_no_variants_to_change(folder):
    with pytest.raises(EditError, match="or the folder"):
        ssptool.variants.add_variant(folder / "SystemStructure.ssd", "New")
