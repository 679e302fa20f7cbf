"""Links in a foreign folder: nothing follows one that leads out, but one that the user names is followed."""

import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import ssptool
from ssptool.documents import foreign_files
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.editing.changes import EditError
from ssptool.errors import WrongUsage
from tests.safety.command_line import typed

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
SECRET = "the key of the user"
ICON = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><text>{SECRET}</text></svg>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "key.svg").write_text(ICON)
    return shutil.copytree(SYSTEM, tmp_path / "foreign" / "system")


def linked_file(folder: Path) -> str:
    (folder / "resources" / "mechanism.svg").unlink()
    (folder / "resources" / "mechanism.svg").symlink_to("../../../key.svg")
    return "resources/mechanism.svg"


def linked_by_absolute_path(folder: Path) -> str:
    (folder / "resources" / "key.svg").symlink_to(folder.parents[1] / "key.svg")
    return "resources/key.svg"


def linked_by_a_link(folder: Path) -> str:
    (folder / "extra").mkdir()
    (folder / "extra" / "second").symlink_to("../../../key.svg")
    (folder / "resources" / "key.svg").symlink_to("../extra/second")
    return "resources/key.svg"


def linked_folder(folder: Path) -> str:
    (folder / "resources" / "sub").symlink_to("../../..")
    return "resources/sub/key.svg"


LINKS = (linked_file, linked_by_absolute_path, linked_by_a_link, linked_folder)


def with_icon(folder: Path, source: str) -> None:
    structure = folder / "SystemStructure.ssd"
    text = structure.read_text(encoding="utf-8")
    structure.write_text(text.replace("<ssd:ElementGeometry ", f'<ssd:ElementGeometry iconSource="{source}" ', 1))


@pytest.mark.parametrize("link", LINKS)
def test_a_link_that_leads_out_is_a_finding_and_is_neither_packed_nor_drawn(folder, tmp_path, link):
    source = link(folder)
    with_icon(folder, source)
    found = [one for one in ssptool.validate(folder).errors if one.code == "PKG-101"]
    assert any(source.startswith(one.position.file) for one in found)
    assert str(tmp_path) in found[0].message
    assert "copy of the file" in found[0].advice
    with pytest.raises(EditError, match="link"):
        ssptool.pack(folder, tmp_path / "packed.ssp")
    assert not (tmp_path / "packed.ssp").exists()
    with pytest.raises(InvalidDocument, match="link points outside"):
        ssptool.draw(folder).save(tmp_path / "drawn.svg")

    validated = typed("validate", folder)
    assert validated.code == 1
    assert "PKG-101" in validated.out
    packed = typed("pack", folder, tmp_path / "packed.ssp")
    assert packed.code == 1
    assert "cannot be packed" in packed.err
    assert not (tmp_path / "packed.ssp").exists()
    drawn = typed("draw", folder, "-o", tmp_path / "typed.svg")
    assert drawn.code == 1
    assert "PKG-101" in drawn.err
    assert not (tmp_path / "typed.svg").exists()


@pytest.mark.parametrize("link", LINKS)
def test_no_entry_is_read_through_a_link_that_leads_out(folder, link):
    name = link(folder)
    with Archive.open(folder) as archive:
        for read in (archive.read, archive.local_path):
            with pytest.raises(InvalidDocument, match="points outside the folder"):
                read(name)


@pytest.mark.parametrize("name", ["SystemStructure.ssd", "resources/dual_mass_oscillator.ssv", "resources/System1.fmu"])
def test_documents_and_fmus_behind_links_that_lead_out_stop_every_command(folder, tmp_path, name):
    shutil.move(folder / name, tmp_path / "outside")
    (folder / name).symlink_to(tmp_path / "outside")
    before = (tmp_path / "outside").read_bytes()
    for use in (ssptool.plan, ssptool.graph):
        with pytest.raises((ssptool.exceptions.InvalidSystem, InvalidDocument), match="link points outside"):
            use(folder)
    with pytest.raises((InvalidDocument, ssptool.exceptions.WrongUsage)), ssptool.edit(folder) as made:
        made.set("System1.m1", 3)
    for words in (["plan", folder], ["run", folder, "-o", tmp_path / "r.csv"], ["set", folder, "System1.m1=3"]):
        done = typed(*words)
        assert done.code in (1, 2)
        assert "Traceback" not in done.err
    assert not (tmp_path / "r.csv").exists()
    assert (tmp_path / "outside").read_bytes() == before


def test_a_link_that_leads_out_is_read_from_an_allowed_folder(folder, tmp_path):
    (tmp_path / "models").mkdir()
    shutil.move(folder / "resources" / "System1.fmu", tmp_path / "models")
    (folder / "resources" / "System1.fmu").symlink_to(tmp_path / "models" / "System1.fmu")
    assert ssptool.validate(folder).errors
    assert not ssptool.validate(folder, allow_outside=[tmp_path / "models"]).errors
    assert ssptool.plan(folder, allow_outside=[tmp_path / "models"])
    assert typed("plan", folder, "--allow-outside", tmp_path / "models").code == 0


def test_links_inside_the_folder_and_links_named_by_the_user_are_followed(folder, tmp_path):
    (folder / "resources" / "System1.fmu").rename(folder / "resources" / "model.fmu")
    (folder / "resources" / "System1.fmu").symlink_to("model.fmu")
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "alone.ssd").symlink_to(folder / "SystemStructure.ssd")
    shutil.copytree(folder / "resources", tmp_path / "resources")
    for system in (folder, tmp_path / "link", tmp_path / "alone.ssd"):
        assert not ssptool.validate(system).errors
        assert typed("plan", system).code == 0


def test_an_unpacked_fmu_with_a_link_that_leads_out_is_refused(folder, tmp_path):
    unpacked = folder / "resources" / "System1"
    with zipfile.ZipFile(folder / "resources" / "System1.fmu") as packed:
        packed.extractall(unpacked)
    (folder / "resources" / "System1.fmu").unlink()
    structure = folder / "SystemStructure.ssd"
    structure.write_text(structure.read_text(encoding="utf-8").replace("System1.fmu", "System1"))
    assert ssptool.plan(folder)
    (unpacked / "resources").mkdir(exist_ok=True)
    (unpacked / "resources" / "data").symlink_to(tmp_path / "key.svg")
    with pytest.raises((ssptool.exceptions.InvalidSystem, InvalidDocument), match="link points outside"):
        ssptool.plan(folder)
    with pytest.raises(InvalidDocument, match="link points outside"):
        ssptool.info(unpacked)
    assert typed("info", unpacked).code == 1


def edited(folder: Path) -> None:
    with ssptool.edit(folder) as made:
        made.set("System1.m1", 3)


def edited_by_command(folder: Path) -> None:
    done = typed("set", folder, "System1.m1=3")
    assert done.code in (1, 2)
    assert "link" in done.err
    raise InvalidDocument


@pytest.mark.parametrize("edit", [edited, edited_by_command])
@pytest.mark.parametrize("part", ["resources", "resources/dual_mass_oscillator.ssv", "SystemStructure.ssd"])
def test_nothing_outside_is_written_by_an_edit(folder: Path, tmp_path: Path, part: str, edit: Callable[[Path], None]):
    outside = tmp_path / "outside"
    shutil.move(folder / part, outside)
    (folder / part).symlink_to(outside)
    before = {path: path.read_bytes() for path in (outside, *outside.rglob("*")) if path.is_file()}
    with pytest.raises((InvalidDocument, ssptool.exceptions.WrongUsage)):
        edit(folder)
    assert {path: path.read_bytes() for path in (outside, *outside.rglob("*")) if path.is_file()} == before
    assert (folder / part).is_symlink()


def test_hidden_links_are_no_part_of_a_system(folder, tmp_path):
    (folder / ".venv").mkdir()
    (folder / ".venv" / "python").symlink_to(sys.executable)
    assert not ssptool.validate(folder).errors
    assert ".venv/python" not in ssptool.pack(folder, tmp_path / "packed.ssp").names


def test_what_a_command_writes_by_default_goes_through_no_link(folder, tmp_path, monkeypatch):
    """In a foreign folder the names of results, pictures and packages may be there already, as links."""
    victim = tmp_path / "victim"
    victim.write_text(SECRET)
    here = folder.parent
    for name in ("system.csv", "system.svg", "system.ssp", "r.csv.json"):
        (here / name).symlink_to(victim)
    (tmp_path / "empty").mkdir()
    ssptool.pack(folder, here / "p.ssp")
    (here / "p").symlink_to(tmp_path / "empty")
    monkeypatch.chdir(here)
    for words in (
        ["run", "system", "--stop-time", "0.1"],
        ["run", "system", "--stop-time", "0.1", "-o", "r.csv"],
        ["draw", "system"],
        ["pack", "system"],
        ["unpack", "p.ssp"],
    ):
        done = typed(*words)
        assert done.code == 2
        assert "nobody has asked to write" in done.err
    for write in (ssptool.pack, lambda _: ssptool.unpack("p.ssp")):
        with pytest.raises(WrongUsage, match="is a link to"):
            write(folder)
    with pytest.raises(WrongUsage, match=r"r\.csv\.json is a link to"):
        ssptool.simulate(folder, stop_time=0.1, output=here / "r.csv")
    assert victim.read_text() == SECRET
    assert not (here / "r.csv").exists()
    assert not list((tmp_path / "empty").iterdir())
    (here / "system.csv").unlink()
    (here / "system.csv").symlink_to(tmp_path / "new")
    assert typed("run", "system", "--stop-time", "0.1").code == 2
    assert not (tmp_path / "new").exists() and (here / "system.csv").is_symlink()


def test_a_link_that_appears_after_it_was_looked_for_is_not_written_through(tmp_path, monkeypatch):
    victim, beside = tmp_path / "victim", tmp_path / "r.csv.json"
    victim.write_text(SECRET)
    beside.symlink_to(victim)
    monkeypatch.setattr(foreign_files, "own_output", lambda path: path)
    with pytest.raises(WrongUsage, match="is a link to"):
        foreign_files.write_beside(beside, "written")
    assert victim.read_text() == SECRET


def test_an_output_that_the_user_names_may_be_a_link(folder, tmp_path):
    (tmp_path / "real.csv").write_text("")
    (tmp_path / "named.csv").symlink_to("real.csv")
    assert typed("run", folder, "--stop-time", "0.1", "-o", tmp_path / "named.csv").code == 0
    assert (tmp_path / "named.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("time")
