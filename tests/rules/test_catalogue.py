"""Every rule of the catalogue has a page, a source, documents that violate it, and documents that do not.

The corpus is `<CODE>/fail-*` and `<CODE>/pass-*`: an SSD, or a folder with a whole package. A line that a failing
document is expected to be blamed for ends in `<!-- expect CODE -->`.
"""

import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ssptool.documents.diagnostics import Diagnostic
from ssptool.rules.catalogue import RULES
from ssptool.rules.runner import check_path
from ssptool.rules.selection import EVERYTHING, RuleChoice, Switches

HERE = Path(__file__).parent
CASES = sorted(path for path in HERE.glob("*-*/*") if path.name.startswith(("fail-", "pass-")))
PASSING = [case for case in CASES if case.name.startswith("pass-")]
EXPECTED = re.compile(r"<!-- expect ([A-Z0-9\-]+) -->")


def name(case: Path) -> str:
    return f"{case.parent.name}/{case.stem}"


def reported(path: Path, code: str) -> list[Diagnostic]:
    """What a rule finds; a limit of other tools with all of them in mind."""
    switches = Switches((RuleChoice(tools=tuple(RULES[code].tools)),)) if code in RULES else EVERYTHING
    return [found for found in check_path(path, switches=switches, unguarded=True).diagnostics if found.code == code]


def marked(package: Path, code: str) -> set[tuple[str, int]]:
    """File and line of every expectation in a package."""
    return {
        (path.relative_to(package).as_posix(), number)
        for path in [*package.rglob("*.ss?"), *package.rglob("*.xml"), *package.rglob("*.csv")]
        for number, line in enumerate(path.read_text(errors="replace").split("\n"), 1)
        if code in EXPECTED.findall(line)
    }


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_rule_blames_the_marked_lines_and_nothing_else(case: Path, package: Callable[[Path], Path]):
    code, folder = case.parent.name, package(case)
    found, expected = reported(folder, code), marked(folder, code)
    if case.name.startswith("pass-"):
        assert found == []
    elif expected:
        assert {(one.position.file, one.position.line) for one in found} == expected
    else:
        assert found, "a package without documents to mark is blamed as a whole"


@pytest.mark.parametrize("case", PASSING, ids=name)
def test_passing_documents_have_no_errors_at_all(case: Path, package: Callable[[Path], Path]):
    assert [str(error) for error in check_path(package(case), unguarded=True).errors] == []


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_rule_has_a_page_with_a_sentence_and_a_fix_and_a_source(code: str):
    rule = RULES[code]
    assert rule.title.endswith(".") or rule.title.endswith(":")
    assert "Fix: " in rule.page
    assert rule.source


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_rule_has_failing_and_passing_cases(code: str):
    names = {case.name.partition("-")[0] for case in CASES if case.parent.name == code}
    assert names == {"fail", "pass"} or code in {**ZIPS, **READABLE_ZIPS}, f"add tests/rules/{code}/fail-… and pass-…"


def test_every_case_is_of_a_rule():
    assert {case.parent.name for case in CASES} <= set(RULES)


# What only a zip can violate is built here, entry by entry.


def plain(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(HERE / "SSD-GEO-010" / "pass-none.ssd", "SystemStructure.ssd")


def truncated(path: Path) -> None:
    plain(path)
    path.write_bytes(path.read_bytes()[:-40])


def text(path: Path) -> None:
    path.write_text("not an archive")


def bzip2(path: Path) -> None:
    plain(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("resources/a.ssv", "a" * 100)


def encrypted(path: Path) -> None:
    """Sets the flag bit of the first entry, in its local header and in the directory."""
    plain(path)
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.index(signature) + offset
        (flags,) = struct.unpack_from("<H", content, place)
        struct.pack_into("<H", content, place, flags | 1)
    path.write_bytes(content)


def with_entry(name: str) -> Callable[[Path], None]:
    def build(path: Path) -> None:
        plain(path)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(name, "text")

    return build


def bomb(path: Path) -> None:
    plain(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("resources/zeros.bin", bytes(32 * 2**20))


def split(path: Path) -> None:
    """Says in its end record that it is the second of several disks."""
    plain(path)
    content = bytearray(path.read_bytes())
    struct.pack_into("<H", content, content.rindex(b"PK\x05\x06") + 4, 1)
    path.write_bytes(content)


def zip64(path: Path) -> None:
    plain(path)
    with zipfile.ZipFile(path, "a") as archive, archive.open("resources/a.ssv", "w", force_zip64=True) as entry:
        entry.write(b"text")


def unmarked(path: Path) -> None:
    """A name in UTF-8 that is not marked as such: the flag is cleared in the local header and in the directory."""
    with_entry("resources/Straße.ssv")(path)
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.rindex(signature) + offset
        (flags,) = struct.unpack_from("<H", content, place)
        struct.pack_into("<H", content, place, flags & ~0x800)
    path.write_bytes(content)


def composed(path: Path) -> None:
    plain(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("resources/\u00e9.ssv", "text")
        archive.writestr("resources/e\u0301.ssv", "text")


def surrogates(path: Path) -> None:
    """A name of two surrogates in what looks like UTF-8, not marked as such."""
    name = b"resources/" + b"\xed\xa0\xbd\xed\xb8\x80"
    plain(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("resources/" + "x" * 6, "text")
    path.write_bytes(path.read_bytes().replace(b"resources/xxxxxx", name))


ZIPS = {
    "PKG-001": [truncated, text],
    "PKG-002": [bzip2],
    "PKG-003": [encrypted],
    "PKG-020": [with_entry("../outside.txt"), with_entry("/absolute.txt"), with_entry("a\\..\\..\\b")],
    "PKG-021": [with_entry("./SystemStructure.ssd"), with_entry("SystemStructure.ssd/a")],
    "PKG-024": [bomb],
}


@pytest.mark.parametrize(("code", "build"), [(code, build) for code, builds in ZIPS.items() for build in builds])
def test_an_archive_that_cannot_be_opened_is_reported(code: str, build: Callable[[Path], None], tmp_path: Path):
    path = tmp_path / "package.ssp"
    build(path)
    report = check_path(path, unguarded=True)
    assert [found.code for found in report.errors] == [code]
    assert not report.ok


def test_a_plain_zip_is_opened(tmp_path: Path):
    plain(tmp_path / "package.ssp")
    assert check_path(tmp_path / "package.ssp", unguarded=True).diagnostics == ()


READABLE_ZIPS = {
    "PKG-004": [split],
    "PKG-005": [zip64],
    "PKG-006": [with_entry("resources/Straße.ssv"), unmarked],
    "PKG-007": [unmarked],
    "PKG-008": [composed, surrogates],
    "PKG-103": [with_entry(name) for name in ("./resources/a.ssv", "resources//a.ssv", "resources\\a.ssv")],
    "PKG-102": [with_entry(f"resources/{name}") for name in ("nul.ssv", "a:b", "a.", "b ", "a?", "x" * 256)],
}


@pytest.mark.parametrize(
    ("code", "build"), [(code, build) for code, builds in READABLE_ZIPS.items() for build in builds]
)
def test_what_readers_of_zips_may_stumble_over_is_reported(code: str, build: Callable[[Path], None], tmp_path: Path):
    path = tmp_path / "package.ssp"
    build(path)
    assert code in {found.code for found in check_path(path, unguarded=True).diagnostics}


def test_what_is_wrong_in_a_package_inside_is_reported_with_its_place(package: Callable[[Path], Path], tmp_path: Path):
    case = tmp_path / "case.ssd"
    passing = (HERE / "SSD-COMP-006" / "pass-default.ssd").read_text()
    case.write_text(passing.replace("Inner.ssp", "Faulty.ssp"))
    folder = package(case)
    found = {(one.code, one.position.file, one.position.line) for one in check_path(folder, unguarded=True).diagnostics}
    assert ("SSD-CONN-001", "resources/Faulty.ssp!SystemStructure.ssd", 14) in found
    assert ("PKG-016", "resources/Faulty.ssp!stray.txt", 0) in found
    report = check_path(folder)
    assert "resources/Faulty.ssp!SystemStructure.ssd" in report.files
    wrong = next(one for one in report.diagnostics if one.code == "SSD-CONN-001")
    assert "nobody" in report.excerpts[wrong.position].text
    assert report.on_disk(wrong.position.file) == (folder / "resources" / "Faulty.ssp").as_posix()


def test_a_package_inside_without_default_structure_is_reported(package: Callable[[Path], Path], tmp_path: Path):
    case = tmp_path / "case.ssd"
    passing = (HERE / "SSD-COMP-006" / "pass-default.ssd").read_text()
    case.write_text(passing.replace("Inner.ssp", "Headless.ssp"))
    found = {(one.code, one.position.file) for one in check_path(package(case), unguarded=True).errors}
    assert found == {("PKG-009", "resources/Headless.ssp")}


def test_problems_of_a_model_description_have_their_line_in_it(package: Callable[[Path], Path]):
    report = check_path(package(HERE / "FMU-101" / "fail-no-start.ssd"), unguarded=True)
    found = [one for one in report.diagnostics if one.code == "FMU-101"]
    assert [(one.position.file, one.position.line) for one in found] == [
        ("resources/Careless.fmu!modelDescription.xml", 5)
    ]
    assert 'name="u"' in report.excerpts[found[0].position].text
