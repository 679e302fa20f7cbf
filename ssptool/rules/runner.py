"""Apply rules to files, packages and structures, and apply the fixes of findings."""

import codecs
import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast, overload

from ssptool.arguments import SYSTEM_ENDINGS
from ssptool.confinement import is_outside
from ssptool.documents import ssc, ssd
from ssptool.documents.archive import DEFAULT_STRUCTURE, LONE_SUFFIXES, Archive
from ssptool.documents.diagnostics import Diagnostic, InvalidDocument, Position, Severity, error
from ssptool.documents.document import garbage_collection_paused
from ssptool.documents.element import Element, siblings_counted_once
from ssptool.documents.foreign_files import ArchiveLimits
from ssptool.documents.storage import NESTING_MARK, RemainingLimits
from ssptool.documents.uri import UP
from ssptool.rules.catalogue import RULES, TOOLS, VERSIONS, Finding, Fix, Repack, Rule, rules_over
from ssptool.rules.chapters import CHAPTERS as CHAPTERS  # imported so that the catalogue is complete
from ssptool.rules.kept import Kept
from ssptool.rules.load import load
from ssptool.rules.report import Excerpt, Report, Skipped, SourceLine, excerpt, in_order
from ssptool.rules.selection import EVERYTHING, Switches
from ssptool.rules.subjects import File, LoneDocument, Package, Structure, Unreadable
from ssptool.work_in_progress import tell
from ssptool.working_directory import absolute

INTERNAL = "INTERNAL"
"""Code of findings about a rule that raised an exception: a bug of ssptool, not an error of the document."""


class ValidationRun:
    """One pass over a package.

    `unguarded`: exceptions in rules are raised, for tests; otherwise an exception becomes a finding, and the other
    rules are applied. `tools` are the tools whose limits are checked; `kept` are data of earlier passes over the
    package.
    """

    def __init__(self, *, unguarded: bool, tools: Collection[str] = (), kept: Kept | None = None) -> None:
        self._unguarded = unguarded
        self._tools = tools
        self._kept = kept
        self._selected: dict[tuple[type, str], tuple[Rule, ...]] = {}
        self._files: dict[str, File] = {}
        self.fixes: dict[Diagnostic, Fix] = {}
        """Automatic fixes of findings."""

    def parts(self, package: Package) -> set[Diagnostic]:
        """Findings of the rules over files and elements."""
        self._files = {file.name: file for file in package.files}
        return set(self._parts(package))

    def wholes(self, package: Package) -> set[Diagnostic]:
        """Findings of the rules over structures and packages; call it after `parts`."""
        return set(self._wholes(package))

    def unreadable(self, unreadable: Unreadable) -> Iterator[Diagnostic]:
        """Problems that prevented opening a file; unchanged if no rule has their code."""
        yield from self._apply(Unreadable, "", unreadable)
        yield from (problem for problem in unreadable.problems if problem.code not in RULES)

    def _parts(self, package: Package) -> Iterator[Diagnostic]:
        for file in package.files:
            if file.problems:
                yield from self.unreadable(Unreadable(file.problems, package.archive, file.name))
            else:
                yield from self._apply(File, file.version, file)
        for structure in package.structures:
            for root in structure.roots() if structure.file.valid else ():
                yield from self._document(root, structure)

    def _wholes(self, package: Package) -> Iterator[Diagnostic]:
        structures = [structure for structure in package.structures if structure.file.valid]
        if not package.alone:
            versions = [structure.version for structure in structures]
            yield from self._apply(Package, max(versions, default=""), package)
        for structure in structures:
            if not isinstance(structure, LoneDocument):
                yield from self._apply(Structure, structure.version, structure)
            tell("checking rules")  # after the FMUs

    def _document(self, root: ssc.TopLevel, structure: Structure) -> Iterator[Diagnostic]:
        version, foreign = root.get("version", ""), structure.foreign(root)
        tags = tuple(self._judged(version))

        def judge(element: Element) -> Iterator[Diagnostic]:
            kind = Element if element in foreign else element.element_class
            return self._apply(kind, version, element, structure)

        if self._kept is None:
            for element in cast(Iterator[Element], root.iter(*tags)):
                yield from judge(element)
            return
        clean = self._kept.clean_components(structure, self._tools)
        component: Element | None = None
        for element in cast(Iterator[Element], root.iter(*tags)):
            if component is not None and component in element.iterancestors(component.tag):
                continue
            if not isinstance(element, ssd.Component) or element in foreign:
                yield from judge(element)
                continue
            component, key = element, clean.key(element, structure)
            if key not in clean:
                found = [one for inner in component.iter(*tags) for one in judge(cast(Element, inner))]
                yield from found
                if key is not None and not found:
                    clean.add(key)

    def _judged(self, version: str, kind: type[Element] = Element) -> Iterator[str]:
        """Tags of the elements that rules apply to."""
        for below in kind.kinds():
            if below.qualified_name and self._rules(below, version):
                yield below.qualified_name

    def _apply(self, kind: type, version: str, subject: Any, *context: Structure) -> Iterator[Diagnostic]:
        for rule in self._rules(kind, version):
            try:
                for finding in rule.find(subject, *context):
                    diagnostic = self._stamped(rule, version, finding)
                    if finding.fix is not None:
                        self.fixes.setdefault(diagnostic, finding.fix)
                    yield diagnostic
            except Exception as problem:
                if self._unguarded:
                    raise
                yield _internal(rule, subject, problem)

    def _rules(self, kind: type, version: str) -> tuple[Rule, ...]:
        """The rules over values of a kind that apply to a version of SSP, and to the tools."""
        if (kind, version) not in self._selected:
            rules = (rule for rule in rules_over(kind) if version not in VERSIONS or version in rule.severity)
            self._selected[kind, version] = tuple(filter(self._concerns, rules))
        return self._selected[kind, version]

    def _concerns(self, rule: Rule) -> bool:
        return not rule.tools or not rule.tools.keys().isdisjoint(self._tools)

    def _stamped(self, rule: Rule, version: str, finding: Finding) -> Diagnostic:
        severity = rule.severity.get(version) or max(rule.severity.values(), key=_weight)
        place = self._position(finding.place, finding.attribute)
        effects = [f"{TOOLS[tool]} {rule.tools[tool]}" for tool in rule.tools if tool in self._tools]
        message = f"{finding.message}: {'; '.join(effects)}" if effects else finding.message
        return Diagnostic(rule.code, finding.severity or severity, place, message, finding.advice)

    def _position(self, place: Element | Position, attribute: str) -> Position:
        if isinstance(place, Position):
            return place
        position = place.position
        file = self._files.get(position.file)
        line = file.document.line_of(place) if file is not None and file.document is not None else position.line
        address = f"{position.address.rstrip('/')}/@{attribute}" if attribute else position.address
        return Position(position.file, line, address)


def over_whole(code: str) -> bool:
    """True if the rule of a finding checks structures or packages as a whole."""
    return code in RULES and RULES[code].subject in (Structure, Package)


def _weight(severity: Severity) -> int:
    return [Severity.INFO, Severity.WARNING, Severity.ERROR].index(severity)


def _internal(rule: Rule, subject: Any, problem: Exception) -> Diagnostic:
    """Finding about a rule that raised an exception."""
    position = subject.position if isinstance(subject, Element) else Position("")
    message = f"the rule {rule.code} could not be applied: {type(problem).__name__}: {problem}"
    advice = "this is a fault of ssptool: please report it; all other rules were applied"
    return Diagnostic(INTERNAL, Severity.WARNING, position, message, advice)


MOST_LINES = 30
"""Number of lines after the name of an element that are searched for its attributes."""


def check_path(
    path: Path | str,
    variant: str | None = None,
    *,
    switches: Switches = EVERYTHING,
    unguarded: bool = False,
    outside: Sequence[Path] = (),
) -> Report:
    """Check a zip, a folder, a lone SSD, or a lone SSV, SSM or SSB. No FMU binary is loaded.

    Parameters
    ----------
    path
        Path of the zip, folder or document.
    variant
        The only system structure to check; None: all at the root, and everything that they refer to.
    switches
        Selection of the findings to show.
    unguarded
        Raise exceptions of rules, instead of reporting them with the code INTERNAL.
    outside
        Folders outside of the zip whose files it may read.

    Raises
    ------
    FileNotFoundError
        `path` does not exist.
    UnknownName
        The archive has no such variant.
    """
    path = Path(path)
    try:
        archive = open_checked(path, outside, inside=True, reading=True)
    except InvalidDocument as problem:
        return report_of_unreadable(path, problem, switches=switches, unguarded=unguarded)
    with archive:
        return check(archive, variant, switches=switches, unguarded=unguarded)


def report_of_unreadable(
    path: Path, problem: InvalidDocument, *, switches: Switches = EVERYTHING, unguarded: bool = False
) -> Report:
    """Report on a path that cannot be opened as a system."""
    found = set(ValidationRun(unguarded=unguarded).unreadable(Unreadable(problem.diagnostics)))
    judged = switches.apply(_sorted(found))
    folder = str(path) if absolute(path).is_dir() else None
    return Report(str(path), judged.listed, withheld=judged.withheld, unaccepted=judged.unaccepted, folder=folder)


ROOTS_OF_SYSTEMS = (DEFAULT_STRUCTURE, "OspSystemStructure.xml", "modelDescription.xml")
"""Files at the root of a folder that make it a system or an unpacked FMU."""
_PARTS_OF_SYSTEMS = ("resources", "documentation", "extra", "binaries", "sources")
_SEARCHED = (*SYSTEM_ENDINGS, *LONE_SUFFIXES)


def found_in(path: Path) -> tuple[Path, ...]:
    """Subjects of a path: itself, or the systems and documents in a folder that is not a system.

    A folder that is a system counts as one subject, with all its content. Hidden folders are left out, as well as FMUs
    next to or below an .ssd, because they belong to it. A folder without documents is checked as a system.
    """
    if not path.is_dir() or _is_system(path) or (path / "resources").is_dir():
        return (path,)
    found: list[Path] = []
    _search(path, found, owned=False)
    return tuple(found) or (path,)


def _is_system(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ROOTS_OF_SYSTEMS)


def _search(folder: Path, found: list[Path], *, owned: bool) -> None:
    system = _is_system(folder)
    entries = sorted(one for one in folder.iterdir() if not is_outside(one))
    if system:
        found.append(folder)
        entries = [one for one in entries if one.is_dir() and one.name not in _PARTS_OF_SYSTEMS]
    files = [one for one in entries if one.suffix.lower() in _SEARCHED and one.is_file()]
    owned = owned or system or any(one.suffix.lower() == ".ssd" for one in files)
    found += [one for one in files if not (owned and one.suffix.lower() == ".fmu")]
    for one in entries:
        if one.is_dir() and not one.is_symlink() and not one.name.startswith("."):
            _search(one, found, owned=owned)


def open_checked(
    path: Path | str,
    outside: Sequence[Path] = (),
    *,
    exclusive: bool = False,
    inside: bool = False,
    reading: bool = False,
) -> Archive:
    """Open a system, or a single document. Raises as `Archive.open`."""
    if Path(path).suffix.lower() in LONE_SUFFIXES and not absolute(Path(path)).is_dir():
        return Archive.of_document(path, exclusive=exclusive, reading=reading)
    return Archive.open(path, outside=outside, exclusive=exclusive, inside=inside, reading=reading)


def check(
    archive: Archive, variant: str | None = None, *, switches: Switches = EVERYTHING, unguarded: bool = False
) -> Report:
    """Check an open archive; see `check_path`."""
    return check_with_fixes(archive, variant, switches=switches, unguarded=unguarded).report


class CheckedArchive(NamedTuple):
    """A report with the fixes of its findings. Each fix can be applied as long as no other one was."""

    report: Report
    fixes: Mapping[Diagnostic, Fix]


def check_with_fixes(
    archive: Archive,
    variant: str | None = None,
    *,
    switches: Switches = EVERYTHING,
    unguarded: bool = False,
    kept: Kept | None = None,
    early: Callable[[CheckedArchive], bool] | None = None,
) -> CheckedArchive:
    """Check an open archive, and keep the fixes.

    `kept` are data of earlier checks of this system, so that unchanged parts are not checked again. In this case the
    fixes must not edit the documents of the archive; open it again for that.

    `early` gets the findings of the rules over files and elements, before the other rules are applied (`over_whole`),
    and returns true if these are still needed.
    """

    def enough(found: "Found") -> bool:
        return early is not None and not early(_judged(archive, found, switches))

    with garbage_collection_paused():
        found = examine(
            archive,
            variant,
            unguarded=unguarded,
            tools=switches.tools,
            kept=kept,
            enough=None if early is None else enough,
        )
    return _judged(archive, found, switches)


def fixes_of(listed: Iterable[Diagnostic], fixes: Mapping[Diagnostic, Fix]) -> dict[Diagnostic, Fix]:
    """Fixes of listed diagnostics, whose severity may have been raised."""
    known = {_essence(diagnostic): fix for diagnostic, fix in fixes.items()}
    return {diagnostic: known[_essence(diagnostic)] for diagnostic in listed if _essence(diagnostic) in known}


def _essence(diagnostic: Diagnostic) -> tuple[str, Position, str]:
    return diagnostic.code, diagnostic.position, diagnostic.message


@dataclass(frozen=True, slots=True)
class Found:
    """Findings in a package and its nested packages."""

    diagnostics: set[Diagnostic]
    files: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    excerpts: Mapping[Position, Excerpt] = field(default_factory=dict)
    fixes: Mapping[Diagnostic, Fix] = field(default_factory=dict)


def _judged(archive: Archive, found: Found, switches: Switches) -> CheckedArchive:
    listed, withheld, unaccepted = switches.apply(_sorted(found.diagnostics))
    shown = {one.position for one in listed}
    fixes = fixes_of(listed, found.fixes)
    report = Report(
        str(archive.path),
        listed,
        found.files,
        found.skipped,
        MappingProxyType({position: line for position, line in found.excerpts.items() if position in shown}),
        withheld,
        MappingProxyType({one: fix.safe for one, fix in fixes.items() if fix.edits}),
        _folder(archive.path),
        unaccepted=unaccepted,
    )
    return CheckedArchive(report, fixes)


def examine(
    archive: Archive,
    variant: str | None,
    *,
    unguarded: bool = False,
    tools: Collection[str] = (),
    allowance: RemainingLimits | None = None,
    kept: Kept | None = None,
    enough: Callable[[Found], bool] | None = None,
) -> Found:
    """Apply the rules to an archive and to the packages inside it, as far as limits allow.

    `enough` is called after the rules over files and elements; if it returns true, the check ends.
    """
    allowance = allowance or RemainingLimits(ArchiveLimits())
    archive.count_against(allowance)
    with archive.looked_up_once(), siblings_counted_once():
        tell("reading")
        package = load(archive, variant, kept)
        tell("checking rules")
        run = ValidationRun(unguarded=unguarded, tools=tools, kept=kept)
        diagnostics = run.parts(package)
        if enough is not None and enough(_found(package, run, diagnostics)):
            return _found(package, run, diagnostics)
        diagnostics |= run.wholes(package)
        package.forget()
    if kept is not None:
        kept.finish(package)
    inner = [_inside(archive, name, unguarded, tools, allowance) for name in package.packages]
    return _joined([_found(package, run, diagnostics), *inner])


def _found(package: Package, run: ValidationRun, diagnostics: set[Diagnostic]) -> Found:
    found = Found(
        diagnostics,
        tuple(file.name for file in package.files),
        tuple(_skipped(package)),
        _excerpts(package, diagnostics),
        editable(run.fixes, package.archive),
    )
    return _renamed(found, package.archive.stated) if package.archive.is_generated else found


def editable(fixes: Mapping[Diagnostic, Fix], archive: Archive) -> Mapping[Diagnostic, Fix]:
    """Fixes of the archive's own documents, without those in FMUs and nested packages; and of zips to be packed again
    as a whole, whose findings are about an entry.
    """
    own = set(archive.names()) if fixes and not archive.is_generated else set()
    return {
        diagnostic: fix
        for diagnostic, fix in fixes.items()
        if diagnostic.position.file in own
        or any(isinstance(edit, Repack) and edit.archive is archive for edit in fix.edits)
    }


def _inside(archive: Archive, name: str, unguarded: bool, tools: Collection[str], allowance: RemainingLimits) -> Found:
    """Findings in a nested package, to which the same rules apply (SSP 2.0 §3)."""
    limits = allowance.left
    if limits.depth == 0:
        return _not_checked(name, f"packages are nested deeper than {ArchiveLimits().depth} levels")
    if limits.packages < 0:
        return _not_checked(name, f"there are more than {ArchiveLimits().packages} packages inside the package")
    try:
        path = archive.local_path(name)
        with Archive.open(path, limits, reading=archive.reading) as inner:
            allowance.left = replace(limits, depth=limits.depth - 1)
            found = examine(inner, None, unguarded=unguarded, tools=tools, allowance=allowance)
    except InvalidDocument as problem:
        found = Found(set(ValidationRun(unguarded=unguarded).unreadable(Unreadable(problem.diagnostics))))
        return _prefixed(found, name, {Path(name).name, name})
    finally:
        allowance.left = replace(allowance.left, depth=limits.depth)
    return _prefixed(found, name, {path.name})


def _not_checked(name: str, reason: str) -> Found:
    """Error on a package that is not checked because of limits."""
    advice = "take it out of its package and check it by itself, or use fewer packages inside packages"
    found = error("PKG-024", Position(name), f"{reason}, so this one was not checked", advice)
    return Found({found}, skipped=(Skipped(name, reason),))


def _prefixed(found: Found, name: str, whole: Collection[str]) -> Found:
    """The findings with file names relative to the outer archive; `whole` are names of the nested package."""
    return _renamed(found, lambda file: name if file in whole else f"{name}{NESTING_MARK}{file}")


def _renamed(found: Found, name_of: Callable[[str], str]) -> Found:
    """The findings with other file names."""

    def at(position: Position) -> Position:
        return position._replace(file=name_of(position.file))

    return Found(
        {replace(one, position=at(one.position)) for one in found.diagnostics},
        tuple(map(name_of, found.files)),
        tuple(Skipped(name_of(one.file), one.reason) for one in found.skipped),
        {at(position): excerpt for position, excerpt in found.excerpts.items()},
        {replace(one, position=at(one.position)): fix for one, fix in found.fixes.items()},
    )


def _joined(found: list[Found]) -> Found:
    return Found(
        set().union(*(one.diagnostics for one in found)),
        tuple(file for one in found for file in one.files),
        tuple(skipped for one in found for skipped in one.skipped),
        {position: excerpt for one in found for position, excerpt in one.excerpts.items()},
        {diagnostic: fix for one in found for diagnostic, fix in one.fixes.items()},
    )


def _folder(path: Path) -> str | None:
    """Folder of an archive's files on disk; None for a zip. An `.xml` is a system of another format."""
    if absolute(path).is_dir():
        return str(path)
    return str(path.parent) if path.suffix.lower() in (".ssd", ".xml", *LONE_SUFFIXES) else None


def _sorted(diagnostics: set[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(diagnostics, key=in_order))


def _skipped(package: Package) -> Iterator[Skipped]:
    for file in package.files:
        if not file.valid:
            what = "cannot be read" if file.document is None else "is not valid"
            yield Skipped(file.name, f"the rules on its content were not applied: the file {what}")


_DOCUMENT = re.compile(
    rb"ssp-standard\.org|<(\w+:)?(SystemStructure|Parameter|Signal|SimulationResource|OspSystemStructure|fmiModel)\w*[\s>/]"
)
"""Pattern in documents of SSP, OSP and FMI, including damaged ones: a reference may point to any file."""

_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""Byte order marks of UTF-16, for excerpts of documents in UTF-16, although that is an error."""


def _excerpts(package: Package, diagnostics: set[Diagnostic]) -> dict[Position, Excerpt]:
    sources = package.lines
    excerpts = {}
    split: dict[tuple[str, int], SourceLine] = {}
    for position in {diagnostic.position for diagnostic in diagnostics if diagnostic.position.line}:
        if position.file not in sources:
            sources[position.file] = [] if position.file.startswith(UP) else _lines(package, position.file)
        lines = sources[position.file]
        if position.line <= len(lines):
            following = lines[position.line : position.line + MOST_LINES]
            at = position.file, position.line
            if at not in split:
                split[at] = SourceLine(lines[position.line - 1])
            excerpts[position] = excerpt(split[at], position, following)
    return excerpts


def _lines(package: Package, file: str) -> Sequence[str]:
    """Lines of a document of the package, split as by XML parsers; empty for files that are not documents."""
    try:
        content = _content(package, file)
    except (LookupError, InvalidDocument):
        return []
    if content.startswith(_UTF_16_MARKS):
        content = content.decode("utf-16", "replace").encode()
    if _DOCUMENT.search(content) is None:
        return []
    return _Lines(content.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n"))


def _content(package: Package, file: str) -> bytes:
    """The bytes of a file; for an open document from memory."""
    if not package.archive.is_generated:
        for one in package.files:
            if one.name == file and one.document is not None:
                return one.document.source
    return package.archive.read(file)


class _Lines(Sequence[str]):
    """Lines of a UTF-8 text, each decoded on access: excerpts need few of very many lines."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        # A line end after the last line starts another one, which is empty.
        self._starts = array("q", accumulate(map(len, (content + b"\n").splitlines(keepends=True)), initial=0))

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        start, end = self._starts[index], self._starts[index + 1] - 1
        return self._content[start:end].decode("utf-8", "replace")


MOST_ROUNDS = 20
"""Largest number of rounds of fixes: one fix may lead to findings of other rules."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Fixed diagnostics in order, and the report of the remaining ones. The edits are in the archive, not yet on
    disk.
    """

    diagnostics: tuple[Diagnostic, ...]
    report: Report


def fix(
    archive: Archive, variant: str | None = None, *, switches: Switches = EVERYTHING, unsafe: bool = False
) -> Fixed:
    """Apply the safe fixes of all listed findings, or with `unsafe` all fixes.

    Documents of nested packages are not changed; fix those packages separately.
    """
    done: list[Diagnostic] = []
    for _ in range(MOST_ROUNDS):
        applied = _round(archive, variant, switches, unsafe)
        if not applied:
            break
        done += applied
    return Fixed(tuple(done), check(archive, variant, switches=switches))


def _round(archive: Archive, variant: str | None, switches: Switches, unsafe: bool) -> list[Diagnostic]:
    """Apply fixes that touch different elements, in the order of files and lines."""
    found = examine(archive, variant, tools=switches.tools)
    listed = switches.apply(found.diagnostics).listed
    own = editable(found.fixes, archive)
    fixes = fixes_of(sorted(listed, key=lambda one: (one.position, one.code, one.message)), own)
    applied, touched = [], set[Element]()
    for diagnostic, fixed in fixes.items():
        if fixed.edits and (fixed.safe or unsafe) and _free(fixed, touched):
            touched |= fixed.touched
            fixed.apply()
            applied.append(diagnostic)
    return applied


def _free(wanted: Fix, touched: set[Element]) -> bool:
    """True if no element of a fix, and no element around it, was edited in this round."""
    around = {ancestor for element in wanted.touched for ancestor in (element, *element.iterancestors())}
    below = {inner for element in wanted.touched for inner in element.iter("*")}
    return touched.isdisjoint(around) and touched.isdisjoint(below)
