"""Compile FMUs with C or C++ sources and without a library for this platform; results are stored in a cache of the
user.

The FMU itself is never changed: the cache contains a copy with the library, with a name that depends on the content of
the FMU, the compiler and the options. Sources are those that the model description lists (FMI 2.0 §2.2.3) or
`sources/buildDescription.xml` (FMI 3.0 §2.5.1.1).

Sources and options are untrusted. Options are only used if they are known to start no program and to read only files of
the FMU. The compiler runs in a sandbox as good as this system has one, because sources can include any file.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree

from ssptool.child_processes import child_environment, interpreter
from ssptool.documents.foreign_files import UNREADABLE_ZIP, ForeignZip, read_bytes
from ssptool.documents.uri import unsafe
from ssptool.errors import MissingPackage
from ssptool.fmu.description import FmuDescription, Interface, UnreadableFmu, UnusableFmu
from ssptool.fmu.model_description_xml import (
    BINARIES,
    MODEL_DESCRIPTION,
    UnusableXml,
    fmu_entries,
    library_entry,
    model_description,
    parse_model_description,
    source_line,
    this_platform,
)
from ssptool.foreign_text import strict_json
from ssptool.sandbox import closes_files, missing_layers
from ssptool.tempfiles import TemporaryFolder

SOURCES = "sources/"
BUILD_DESCRIPTION = "sources/buildDescription.xml"
_CXX = {".cpp", ".cc", ".cxx", ".c++", ".C"}
_OPTIONS = ("-O2", "-fPIC", "-w")
_FLAGS = (
    *("asynchronous-unwind-tables", "builtin", "common", "data-sections", "delete-null-pointer-checks", "exceptions"),
    *(
        "fast-math",
        "finite-math-only",
        "float-store",
        "function-sections",
        "gnu89-inline",
        "inline",
        "inline-functions",
    ),
    *("math-errno", "ms-extensions", "associative-math", "reciprocal-math", "signed-zeros", "trapping-math"),
    *("unsafe-math-optimizations", "rounding-math", "omit-frame-pointer", "openmp", "openmp-simd", "permissive", "pic"),
    *("PIC", "plt", "rtti", "semantic-interposition", "short-enums", "signed-char", "unsigned-char", "strict-aliasing"),
    *("single-precision-constant", "stack-protector", "stack-protector-strong", "stack-protector-all", "wrapv"),
    *("strict-overflow", "threadsafe-statics", "tree-vectorize", "unroll-loops", "visibility-inlines-hidden"),
)
_KNOWN_OPTIONS = re.compile(
    r"-[DU][A-Za-z_]\w*(\([\w, ]*\))?(=[^\n]*)?"
    r"|-std=[a-z0-9+:]+|-ansi|-pedantic(-errors)?|-O([0-3sgz]|fast)?|-g[0-3]?|-w|-pthread"
    r"|-W[A-Za-z0-9][A-Za-z0-9+-]*(=[A-Za-z0-9-]+)?"  # no commas, because options such as `-Wl,` pass options on
    rf"|-f(no-)?({'|'.join(_FLAGS)})|-f(visibility|fp-contract|excess-precision|tls-model)=[a-z-]+"
    r"|-m(32|64|fma|f16c|sse[a-z0-9.]*|avx[a-z0-9]*|(arch|tune|cpu|fpmath)=[a-z0-9+.-]+)"
)
"""Options of the GNU compiler and of clang that a build description may contain, in addition to `-I` with a folder of
the FMU.
"""
_INCLUDE = re.compile(r"-I.+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LIBRARY = re.compile(r"[A-Za-z0-9_+.-]+")
_SEARCHED = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "SDKROOT")
_SHOWN = 5
"""Number of compiler errors in a message."""


@dataclass(frozen=True, slots=True)
class SourceSet:
    """Files compiled with the same options; names are relative to the folder `sources`."""

    files: tuple[str, ...]
    language: str = ""
    definitions: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Build:
    """The source sets of one library `identifier`, and the lines of the build description with the libraries that it
    needs.
    """

    identifier: str
    sets: tuple[SourceSet, ...]
    libraries: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Compiler:
    """The compilers of this machine, with their version texts."""

    c: str
    cxx: str | None
    version: str

    def of(self, file: str, source_set: SourceSet) -> str | None:
        plus = Path(file).suffix in _CXX or source_set.language.startswith("C++")
        return self.cxx if plus else self.c


@dataclass(frozen=True, slots=True)
class CompiledFmu:
    """A copy of an FMU with a library for this platform; `fresh`: true if it was compiled just now."""

    path: Path
    compiler: str
    fresh: bool


def can_be_compiled(names: Collection[str], major: int) -> bool:
    """True if an FMU with these entries has sources, and since FMI 3.0 also a list of them."""
    listed = major < 3 or BUILD_DESCRIPTION in names
    return listed and any(name.startswith(SOURCES) and Path(name).suffix in _CXX | {".c"} for name in names)


def lacks_library(path: Path, description: FmuDescription) -> bool:
    """True if an FMU (zip or folder) has no library for this platform."""
    folder = f"{BINARIES}{this_platform(description.fmi_major)}/"
    try:
        return not any(name.startswith(folder) for name in fmu_entries(path))
    except UNREADABLE_ZIP:
        return False  # loading it reports the problem


def compiled_fmu(path: Path, description: FmuDescription) -> CompiledFmu:
    """A copy of the FMU at `path` with a library for this platform, from the cache or compiled now.

    Raises
    ------
    UnusableFmu
        There is no compiler, the FMU lists no sources, or the compiler rejects them.
    UnreadableFmu
        The FMU cannot be unpacked.
    """
    compiler = _compiler(path)
    kept = cache_folder() / f"{path.stem}-{_key(path, compiler)}.fmu"
    if kept.is_file():
        return CompiledFmu(kept, compiler.version, fresh=False)
    scratch = TemporaryFolder()
    try:
        folder = Path(scratch.name) / "fmu"
        _unpack(path, folder)
        log = kept.with_suffix(".log")
        builds = _builds(path, folder, description)
        kept.parent.mkdir(parents=True, exist_ok=True)
        for build in builds:
            _build(path, folder, build, description.fmi_major, compiler, log)
        packed = kept.with_name(f"{kept.name}.{os.getpid()}")
        _pack(folder, packed)
        packed.replace(kept)
    finally:
        scratch.cleanup()
    return CompiledFmu(kept, compiler.version, fresh=True)


def cache_folder() -> Path:
    """Folder of compiled FMUs, which may be deleted at any time; SSPTOOL_CACHE sets another folder."""
    if own := os.environ.get("SSPTOOL_CACHE"):
        return Path(own)
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "ssptool" / "fmus"


def available_compiler() -> Compiler:
    """The compilers of this machine, or those in CC and CXX. Raises MissingPackage."""
    c = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    cxx = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if c is None:
        advice = "install gcc or clang, or name a compiler in the environment variable CC"
        raise MissingPackage(f"this machine has no C compiler (cc, gcc, clang): {advice}")
    try:
        said = subprocess.run([c, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as problem:
        raise MissingPackage(f"the C compiler {c} cannot be started: {problem}") from problem
    return Compiler(c, cxx, said.partition("\n")[0].strip())


def _compiler(path: Path) -> Compiler:
    try:
        return available_compiler()
    except MissingPackage as problem:
        raise UnusableFmu(path, str(problem)) from problem


def _key(path: Path, compiler: Compiler) -> str:
    """Hash of the FMU, the compiler and everything else that the library depends on."""
    content = hashlib.sha256()
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    for file in files:
        content.update(file.relative_to(path).as_posix().encode() if path.is_dir() else b"")
        content.update(read_bytes(file))
    for text in (compiler.c, compiler.cxx or "", compiler.version, *_OPTIONS, platform.machine()):
        content.update(text.encode() + b"\0")
    return content.hexdigest()[:16]


def _unpack(path: Path, folder: Path) -> None:
    if path.is_dir():
        shutil.copytree(path, folder)
        return
    try:
        with ForeignZip(path) as packed:
            packed.unpack(folder)
    except UNREADABLE_ZIP as problem:
        raise UnreadableFmu(path, str(problem)) from problem


def _pack(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as packed:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                packed.write(file, file.relative_to(folder).as_posix())


def _builds(path: Path, folder: Path, description: FmuDescription) -> tuple[Build, ...]:
    """Builds for both interfaces; all sources exist."""
    interfaces = [one for one in (description.co_simulation, description.model_exchange) if one is not None]
    identifiers = tuple(dict.fromkeys(one.model_identifier for one in interfaces))
    stated = folder / BUILD_DESCRIPTION
    try:
        if stated.is_file():
            builds = tuple(_of_build_description(path, stated.read_bytes(), identifiers, description.fmi_major))
        else:
            builds = tuple(_of_model_description(folder, interfaces))
    except (UnusableXml, etree.XMLSyntaxError) as problem:
        raise UnusableFmu(path, f"its list of sources cannot be read: {problem}") from problem
    if unlisted := [name for name in identifiers if name not in {build.identifier for build in builds}]:
        raise UnusableFmu(path, _unlisted(unlisted[0], stated.is_file(), description.fmi_major))
    for identifier in identifiers:
        if not _IDENTIFIER.fullmatch(identifier):  # name of the library
            raise UnusableFmu(path, f"modelIdentifier is {identifier!r}, which is not an identifier of C")
    for name in (name for build in builds for one in build.sets for name in (*one.files, *one.includes)):
        if (reason := unsafe(name)) or not (folder / SOURCES / name).exists():
            raise UnusableFmu(path, f"the source {name!r} {reason or 'is listed, but is not in the FMU'}")
    return builds


def _unlisted(identifier: str, built: bool, major: int) -> str:
    advice = "ask for an FMU with a binary for this platform"
    if major >= 3 and not built:
        return f"the FMU has no {BUILD_DESCRIPTION}, which lists the sources in FMI 3.0; {advice}"
    where = BUILD_DESCRIPTION if built else f"SourceFiles of {MODEL_DESCRIPTION}"
    return f"{where} lists no sources of {identifier}; {advice}"


def _of_model_description(folder: Path, interfaces: Iterable[Interface]) -> Iterator[Build]:
    root = parse_model_description(model_description(folder))
    listed: dict[str, dict[str, None]] = {}
    for tag in ("CoSimulation", "ModelExchange"):
        node = root.find(tag)
        if node is not None:
            names = [file.get("name", "") for file in node.iterfind("SourceFiles/File")]
            listed.setdefault(node.get("modelIdentifier", ""), {}).update(dict.fromkeys(names))
    for identifier in {one.model_identifier: None for one in interfaces}:
        if files := tuple(listed.get(identifier, ())):
            yield Build(identifier, (SourceSet(files),))


def _of_build_description(path: Path, content: bytes, identifiers: Iterable[str], major: int) -> Iterator[Build]:
    root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    for identifier in identifiers:
        for node in root.iterfind("BuildConfiguration"):
            fits = node.get("platform") in (None, this_platform(3), this_platform(major))
            if node.get("modelIdentifier") == identifier and fits:
                sets = tuple(_source_set(path, one) for one in node.iterfind("SourceFileSet"))
                yield Build(identifier, sets, _libraries(path, node))
                break


def _source_set(path: Path, node: etree._Element) -> SourceSet:
    definitions = (
        f"-D{each.get('name')}" + (f"={each.get('value')}" if each.get("value") is not None else "")
        for each in node.iterfind("PreprocessorDefinition")
        if each.get("optional") not in ("true", "1")
    )
    own = node.get("compiler") in ("gcc", "clang")
    stated = node.get("compilerOptions", "").split() if own else ()
    return SourceSet(
        tuple(each.get("name", "") for each in node.iterfind("SourceFile")),
        node.get("language", ""),
        tuple(_known(path, one) for one in definitions),
        (
            *(each.get("name", "") for each in node.iterfind("IncludeDirectory")),
            *(one.removeprefix("-I") for one in stated if _INCLUDE.fullmatch(one)),
        ),
        tuple(_known(path, one) for one in stated if not _INCLUDE.fullmatch(one)),
    )


def _known(path: Path, option: str) -> str:
    """Check an option for the compiler. Raises UnusableFmu."""
    if not _KNOWN_OPTIONS.fullmatch(option):
        raise UnusableFmu(
            path,
            f"{BUILD_DESCRIPTION} states the compiler option {option!r}, which ssptool does not pass on, because it is "
            "not known to be harmless; ask for an FMU without it, or with a binary for this platform",
        )
    return option


def _libraries(path: Path, node: etree._Element) -> Mapping[str, int]:
    lines = {}
    for each in node.iterfind("Library"):
        name = each.get("name", "")
        if each.get("external") not in ("true", "1"):
            raise UnusableFmu(path, f"its sources need the static library {name!r}, which is not supported")
        if not _LIBRARY.fullmatch(name):
            raise UnusableFmu(path, f"its sources need the library {name!r}, which is not a name of a library")
        lines[name] = source_line(each)
    return lines


def _build(path: Path, folder: Path, build: Build, major: int, compiler: Compiler, log: Path) -> None:
    import fmpy  # imported here for the same reason as in `read_description`

    headers = Path(fmpy.__file__).parent / "c-code"
    work = folder.parent / "objects"
    work.mkdir(exist_ok=True)
    objects, linker = [], compiler.c
    # According to the headers of FMI, names of functions may start with the name of the model, as required in static
    # libraries.
    prefix = (f"-DFMI{major}_OVERRIDE_FUNCTION_PREFIX",)
    for number, (source_set, file) in enumerate((one, file) for one in build.sets for file in one.files):
        program = compiler.of(file, source_set)
        if program is None:
            raise UnusableFmu(path, f"this machine has no C++ compiler for {file}: install g++, or name one in CXX")
        linker = program if program != compiler.c else linker
        made = work / f"{build.identifier}-{number}.o"
        includes = [f"-I{folder / SOURCES / each}" for each in ("", *source_set.includes)]
        options = (*_OPTIONS, *_standard(source_set), *source_set.options, *prefix, *source_set.definitions)
        source = str(folder / SOURCES / file)
        command = [program, *options, *includes, f"-idirafter{headers}", "-c", source, "-o", str(made)]
        _call(path, command, file, folder, log)
        objects.append(str(made))
    target = folder / library_entry(major, build.identifier)
    target.parent.mkdir(parents=True, exist_ok=True)
    libraries = [f"-l{name}" for name in build.libraries]
    command = [linker, "-shared", *objects, "-o", str(target), *libraries, "-lm"]
    _call(path, command, target.name, folder, log, build)


def _standard(source_set: SourceSet) -> tuple[str, ...]:
    """Option for the language standard with GNU extensions, which sources use without stating it."""
    found = re.fullmatch(r"C(\+\+)?(\d\d)", source_set.language)
    return (f"-std=gnu{found[1] or ''}{found[2]}",) if found else ()


def _call(path: Path, command: list[str], what: str, folder: Path, log: Path, build: Build | None = None) -> None:
    """Run the compiler, or the linker of a build. Raises UnusableFmu."""
    done = _ran(command, folder)
    if done.returncode == 0:
        return
    log.write_text(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    if build is not None and (absent := _missing_library(done.stderr, build.libraries)):
        name, line = absent
        raise UnusableFmu(
            path,
            f"{BUILD_DESCRIPTION}:{line}: its sources need the library {name!r}, which the linker does not find; "
            "install it with its development files, or ask for an FMU with a binary for this platform\n"
            f"  all of it: {log}",
        )
    lines = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
    shown = "".join(f"\n  {line.replace(str(folder), '').lstrip('/')}" for line in lines[:_SHOWN])
    raise UnusableFmu(path, f"{Path(command[0]).name} refuses {what}:{shown}\n  all of it: {log}")


def _missing_library(said: str, libraries: Mapping[str, int]) -> tuple[str, int] | None:
    """The first library that a linker does not find, with its line; GNU ld, lld and the linkers of macOS quote it
    differently.
    """
    for text in said.splitlines():
        for name, line in libraries.items():
            if re.search(
                rf"(cannot find|unable to find|not found).*(-l:?|library ['\"]?){re.escape(name)}(?![\w.+-])", text
            ):
                return name, line
    return None


def _ran(command: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a compiler in the folder of an unpacked FMU, without a terminal, and in a sandbox as good as the system has.

    In the sandbox it can read the system, its own files and folders in environment variables, and write next to the
    FMU.
    """
    environment, beside, lacking = child_environment(), folder.parent, [*missing_layers()]
    if closes_files(lacking):
        searched = [Path(one) for name in _SEARCHED for one in os.environ.get(name, "").split(os.pathsep) if one]
        readable = [*map(str, (*_program_folders(command[0]), *searched))]
        box = strict_json([readable, [str(beside)], lacking])
        command = [*interpreter("from ssptool.sandbox import enter; enter()"), box, *command]
        environment |= dict.fromkeys(("TMPDIR", "HOME", "XDG_CACHE_HOME"), str(beside))
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        start_new_session=True,
    )


def _program_folders(program: str) -> list[Path]:
    """Folders of a compiler that is not installed with the system: its own folder, and the parent of its `bin`."""
    named = Path(shutil.which(program) or program).absolute()
    folders = {file.parent for file in (named, named.resolve())}
    wholes = {folder.parent if folder.name == "bin" else folder for folder in folders}
    return [*folders, *(whole for whole in wholes if not Path.home().is_relative_to(whole))]


def compilation_notes(found: Mapping[str, CompiledFmu]) -> tuple[str, ...]:
    """Notes on components whose FMUs were compiled."""
    return tuple(
        f"{name}: the FMU was {'compiled' if one.fresh else 'compiled before'} from its sources ({one.compiler}), "
        f"{one.path}"
        for name, one in found.items()
    )
