"""Damaged documents and archives end in findings: never in a traceback, a hang or runaway memory.

Some thousands by default; as many as the environment variable SSPTOOL_FUZZ says with `make fuzz`.
"""

import copy
import io
import os
import random
import re
import resource
import shutil
import signal
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from lxml import etree

import ssptool
from ssptool.documents.diagnostics import InvalidDocument, Severity
from ssptool.rules.runner import INTERNAL, check_path
from tests.rules.conftest import add_fmus

HERE = Path(__file__).parent
COUNT = int(os.environ.get("SSPTOOL_FUZZ", "2000"))
PARTS = 20
LONGEST = 20
"""Seconds of processor time for one package, whatever else the machine does; most take some hundredths."""
MOST_MEMORY = 2 * 2**30
"""Bytes of address space beyond what the process has at the start: a check that needs more raises MemoryError."""

CASES = sorted(HERE.glob("*-*/*"))
NUMBERS = ["0", "-1", "1e400", "-1e400", "NaN", "INF", "9" * 40, "1e-400", "0x10", "-0", "4294967296", "2147483648", ""]
TEXTS = [
    "",
    " ",
    "☃",
    "a" * 5000,
    "../" * 40 + "x",
    "%",
    "%00",
    "#",
    "a#b",
    "..",
    ".",
    "//",
    "x.ssp#y",
    "\t\n",
    "!",
    "a!b",
]
WORDS = [*NUMBERS, *TEXTS, "resources/Mass.fmu", "resources/Inner.ssp#VariantB.ssd", "SystemStructure.ssd", "#root"]
XML = (".ssd", ".ssv", ".ssm", ".ssb", ".xml")


@contextmanager
def limited() -> Iterator[None]:
    """Stop what takes too long, or too much memory."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"not ready after {LONGEST} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST_MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def flipped(content: bytes, chance: random.Random) -> bytes:
    """Some bytes replaced, removed or repeated."""
    damaged = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        if not damaged:
            break
        at = chance.randrange(len(damaged))
        match chance.randrange(4):
            case 0:
                damaged[at] ^= 1 << chance.randrange(8)
            case 1:
                damaged[at] = chance.choice(b"\x00\xff<>&\"'=/\xed\x80 ")
            case 2:
                del damaged[at : at + chance.randint(1, 200)]
            case _:
                damaged[at:at] = damaged[at : at + chance.randint(1, 200)]
    return bytes(damaged)


def renumbered(content: bytes, chance: random.Random) -> bytes:
    """A number replaced by one that is none, or is too large."""
    numbers = list(re.finditer(rb"(?<=[\"' ])-?\d[\d.eE+-]*(?=[\"' ])", content))
    if not numbers:
        return flipped(content, chance)
    place = chance.choice(numbers)
    return content[: place.start()] + chance.choice(NUMBERS).encode() + content[place.end() :]


def rewired(content: bytes, chance: random.Random) -> bytes:
    """Attributes with the values of others, elements repeated and deleted: often still valid by the schema."""
    try:
        root = etree.fromstring(content)
    except etree.XMLSyntaxError:
        return flipped(content, chance)
    for _ in range(chance.randint(1, 6)):
        elements = [element for element in root.iter() if isinstance(element.tag, str)]
        element = chance.choice(elements)
        parent = element.getparent()
        names = [name for name in sorted(element.attrib) if name != "version"]
        if names and chance.random() < 0.8:
            name = chance.choice(names)
            values = [value for other in elements if (value := other.get(name)) is not None]
            kinds = ["input", "output", "inout", "parameter", "local", "constant", "unspecified", "structuralParameter"]
            element.set(name, chance.choice([*values, *(kinds if name == "kind" else ["x", "1", "2.5", "Root"])]))
        elif parent is not None and chance.random() < 0.5:
            parent.remove(element)
        elif parent is not None:
            element.addnext(copy.deepcopy(element))
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")


def rebuilt(content: bytes, chance: random.Random) -> bytes:
    """Elements moved, repeated, nested and deleted, attributes dropped and replaced."""
    try:
        root = etree.fromstring(content)
    except etree.XMLSyntaxError:
        return flipped(content, chance)
    for _ in range(chance.randint(1, 4)):
        disturb([element for element in root.iter() if isinstance(element.tag, str)], chance)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")


def disturb(elements: list[etree._Element], chance: random.Random) -> None:
    element, other = chance.choice(elements), chance.choice(elements)
    parent = element.getparent()
    names = sorted(element.attrib)
    match chance.choice(["set", "set", "unset", "delete", "repeat", "move", "rename", "deep"]):
        case "set" if names:
            values = [*WORDS, *other.attrib.values()]
            element.set(chance.choice(names), re.sub("[\x00-\x08]", "", chance.choice(values)))
        case "unset" if names:
            del element.attrib[chance.choice(names)]
        case "delete" if parent is not None:
            parent.remove(element)
        case "repeat" if parent is not None:
            for _ in range(chance.choice([1, 1, 30])):
                parent.append(copy.deepcopy(element))
        case "move":
            other.append(copy.deepcopy(element))
        case "rename":
            element.tag = other.tag
        case "deep" if len(elements) < 200:
            inner = element
            for _ in range(chance.choice([5, 120])):
                outer = etree.SubElement(inner, element.tag, dict(element.attrib))
                inner = outer
        case _:
            element.attrib.clear()


def damage(folder: Path, chance: random.Random) -> None:
    """Damage one to three files of a package: documents in all ways, FMUs and packages byte by byte."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in chance.sample(files, min(len(files), chance.randint(1, 3))):
        ways = (
            [flipped, renumbered, rebuilt, rebuilt, rewired, rewired, rewired, rewired]
            if path.suffix in XML
            else [flipped]
        )
        content = path.read_bytes()
        if path.suffix == ".fmu" and chance.random() < 0.7:
            content = in_fmu(content, chance)
        else:
            content = chance.choice(ways)(content, chance)
        path.write_bytes(content)


def in_fmu(content: bytes, chance: random.Random) -> bytes:
    """The FMU with a damaged model description or terminals."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as fmu:
            entries = {name: fmu.read(name) for name in fmu.namelist()}
    except zipfile.BadZipFile:
        return content
    name = chance.choice(sorted(entries))
    entries[name] = chance.choice([flipped, renumbered, rebuilt, rewired, rewired])(entries[name], chance)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as fmu:
        for name, data in entries.items():
            fmu.writestr(name, data)
    return packed.getvalue()


def zipped(folder: Path, path: Path, chance: random.Random) -> None:
    with zipfile.ZipFile(path, "w", chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(folder).as_posix())
    if chance.random() < 0.7:
        path.write_bytes(flipped(path.read_bytes(), chance))


def prepare(case: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if case.is_dir():
        shutil.copytree(case, folder, ignore_dangling_symlinks=True)  # a case of PKG-101 has one
    else:
        folder.mkdir()
        shutil.copy(case, folder / "SystemStructure.ssd")
    add_fmus(folder)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of time and memory as Linux has them")
@pytest.mark.parametrize("part", range(PARTS))
def test_damage_ends_in_findings(part: int, tmp_path: Path):
    chance = random.Random(part)
    for number in range(COUNT // PARTS):
        folder, subject = tmp_path / "package", tmp_path / "package"
        prepare(chance.choice(CASES), folder)
        damage(folder, chance)
        if chance.random() < 0.3:
            subject = tmp_path / "package.ssp"
            zipped(folder, subject, chance)
        try:
            with limited():
                report = check_path(subject)
                if any(report.fixable.values()) or chance.random() < 0.1:
                    mend(subject)
        except Exception as problem:
            kept = keep(subject, tmp_path, part, number)
            raise AssertionError(f"{type(problem).__name__}: {problem}; see {kept}") from problem
        faults = [str(one) for one in report.diagnostics if one.code == INTERNAL]
        assert not faults, f"{faults[0]}; see {keep(subject, tmp_path, part, number)}"
        assert all(isinstance(one.severity, Severity) and one.message for one in report.diagnostics)


def mend(subject: Path) -> None:
    """Apply all fixes, guesses as well, and write nothing; an archive that cannot be opened may say so."""
    with suppress(InvalidDocument):
        ssptool.fix(subject, unsafe=True, save=False)


def keep(subject: Path, tmp_path: Path, part: int, number: int) -> Path:
    """A copy of the package that showed a fault."""
    kept = tmp_path / f"fault-{part}-{number}{subject.suffix}"
    (shutil.copytree if subject.is_dir() else shutil.copy)(subject, kept)
    return kept


def test_the_limits_work():
    with pytest.raises(MemoryError), limited():
        bytearray(2 * MOST_MEMORY)


Damage = Callable[[bytes, random.Random], bytes]


@pytest.mark.parametrize("way", [flipped, renumbered, rebuilt, rewired])
def test_damage_is_repeatable(way: Damage):
    content = (HERE / "SSD-CONN-004" / "fail-two-outputs.ssd").read_bytes()
    assert way(content, random.Random(1)) == way(content, random.Random(1)) != content
