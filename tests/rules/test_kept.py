"""A check that uses what the one before has left finds what a check without it finds."""

import random
import re
import shutil
from pathlib import Path

import pytest

from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.rules.kept import Kept
from ssptool.rules.runner import CheckedArchive, check_with_fixes, over_whole

SYSTEMS = Path(__file__).parents[2] / "systems"
DOCUMENTS = (".ssd", ".ssv", ".ssm", ".ssb")
VALUE = re.compile(r'(?<=[a-zA-Z])="([^"]*)"')
ELEMENT = re.compile(r"<(ssd:Connection|ssd:Connector|ssd:Component|ssv:Parameter)\b[^<>]*?(/>|>.*?</\1>)", re.DOTALL)


NAMES = ("dual_mass_oscillator", "flyball_governor", "mass_spring_damper", "rotational_spring_mass_damper")


@pytest.fixture(params=NAMES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(SYSTEMS / request.param, tmp_path / "system"))


def checked(folder: Path, edits: dict[str, str], kept: Kept | None) -> CheckedArchive | None:
    try:
        with Archive.open(folder) as archive:
            for name, text in edits.items():
                archive.put(name, text.encode())
            return check_with_fixes(archive, kept=kept, unguarded=True)
    except InvalidDocument:
        return None


def edited(text: str, chance: random.Random) -> str:
    """A text after one edit: of the value of an attribute, or an element more or less."""
    values, elements = list(VALUE.finditer(text)), list(ELEMENT.finditer(text))
    match chance.choice(("value", "shift", "element") if elements else ("value", "shift")):
        case "value":
            one, other = chance.choice(values), chance.choice(values)
            return text[: one.start(1)] + chance.choice((other[1], one[1] + "x", "")) + text[one.end(1) :]
        case "shift":
            line = chance.choice([found.end() for found in re.finditer(r">\n", text)])
            return text[:line] + "<!-- a line more -->\n" + text[line:]
        case _:
            one = chance.choice(elements)
            return text[: one.start()] + chance.choice(("", one[0] + one[0])) + text[one.end() :]


def test_a_check_with_what_the_last_one_left_finds_the_same_after_any_edit(folder: Path) -> None:
    chance, kept = random.Random("typing"), Kept()
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.suffix in DOCUMENTS]
    texts: dict[str, str] = {}
    for _ in range(25):
        name = chance.choice(names)
        before = texts.get(name) or (folder / name).read_text(encoding="utf-8")
        texts[name] = edited(before, chance)
        one, other = checked(folder, texts, kept), checked(folder, texts, None)
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert one.report == other.report
            assert one.fixes.keys() == other.fixes.keys()
        if chance.random() < 0.5 or other is None:
            texts[name] = before  # most edits are wrong; wrong ones must not hide the next


def test_a_changed_fmu_is_read_again(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(SYSTEMS / "dual_mass_oscillator", tmp_path / "system"))
    kept = Kept()
    first = checked(folder, {}, kept)
    assert first is not None
    assert not first.report.errors
    shutil.copy(folder / "resources" / "System2.fmu", folder / "resources" / "System1.fmu")
    second = checked(folder, {}, kept)
    assert second is not None
    assert second.report == checked(folder, {}, None).report  # type: ignore[union-attr]
    assert "FMU-004" in {one.code for one in second.report.errors}


def test_findings_in_elements_come_early_and_the_others_need_not_be_waited_for() -> None:
    early: list[CheckedArchive] = []
    with Archive.open(SYSTEMS / "dual_mass_oscillator") as archive:
        text = archive.read(archive.default).decode()
        wrong = text.replace('startConnector="F"', 'startConnector="G"', 1)
        archive.put(archive.default, wrong.encode())
        whole = check_with_fixes(archive, early=lambda found: bool(early.append(found)) or True)
        shortened = check_with_fixes(archive, early=lambda found: False)
    assert "SSD-CONN-002" in {one.code for one in early[0].report.diagnostics}
    later = set(whole.report.diagnostics) - set(early[0].report.diagnostics)
    assert later
    assert all(over_whole(one.code) for one in later)
    assert shortened.report == early[0].report


def test_a_link_that_leads_out_is_refused_as_often_as_it_is_read(tmp_path: Path) -> None:
    folder, kept = tmp_path / "system", Kept()
    shutil.copytree(SYSTEMS / "dual_mass_oscillator", folder)
    inside, outside = folder / "resources" / "System1.fmu", tmp_path / "System1.fmu"
    assert checked(folder, {}, kept) is not None
    shutil.move(inside, outside)
    inside.symlink_to(outside)
    for _ in range(2):
        found = checked(folder, {}, kept)
        assert found is not None
        assert {"PKG-101", "FMU-001"} <= {one.code for one in found.report.errors}
