"""All files that the runs of a study need, in one file, which is sent to workers and stored with the results."""

import hashlib
import io
import pickle
import posixpath
import zipfile
from collections.abc import Container, Iterable, Iterator, Set
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ssptool.child_processes import dumps
from ssptool.documents.archive import DEFAULT_STRUCTURE, Archive
from ssptool.documents.storage import NESTING_MARK
from ssptool.documents.uri import UP
from ssptool.network.tree import fmu_entry
from ssptool.rules.load import load
from ssptool.rules.selection import EVERYTHING, RuleChoice, Switches
from ssptool.studies.definition import FactorRole, Points, Study
from ssptool.studies.designs import Levels

_STUDY = "study.pickle"
_EARLIEST = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Bundle:
    """Content of a bundle. `digest` is its SHA-256; `files` has those of the files that runs use, by name; `unused` has
    those of other files, such as a README, and variants that no run uses.
    """

    content: bytes
    digest: str
    files: dict[str, str]
    unused: frozenset[str]


def pack(study: Study, points: Points, signals: tuple[str, ...]) -> Bundle:
    """Pack everything that a run needs. Raises OSError for a file that cannot be read."""
    with Archive.open(study.system, outside=study.switches.outside) as archive:
        used = _used(archive, study)
        files = dict(_system_files(archive, study, used))
        # Deep enough that the folder also has room for files around the system.
        root = "/".join(["system", *["in"] * max(name.count(UP) for name in files)])
        named: dict[str, Path | bytes] = {posixpath.normpath(f"{root}/{name}"): path for name, path in files.items()}
        unused = {posixpath.normpath(f"{root}/{name}") for name in files if not _is_used(name, used)}
        system = archive.default if study.system.suffix.lower() == ".ssd" else ""
        system = next(iter(files)) if archive.is_fmu else system
        moved = {"parameters": study.parameters, "inputs": study.inputs}
        moved["scenario"] = () if study.scenario is None else (study.scenario,)
        places: dict[str, tuple[Path, ...]] = {}
        for key, paths in moved.items():
            places[key] = tuple(Path(f"{key}/{number}/{path.name}") for number, path in enumerate(paths))
            named |= {str(place): path for place, path in zip(places[key], paths, strict=True)}
        values = {text: f"values/{number}/{Path(text).name}" for number, text in enumerate(_value_files(study, points))}
        named |= {place: study.file(text) for text, place in values.items()}
        moved_study = replace(
            study,
            system=Path(root) / system,
            parameters=places["parameters"],
            inputs=places["inputs"],
            scenario=places["scenario"][0] if places["scenario"] else None,
            source="",
            lines={},
            switches=EVERYTHING,
            files=values,
            # The points are sent with the tasks.
            factors=study.factors,
            design=type(study.design)() if study.design.word == "table" else study.design,
        )
        return _packed(named, dumps((moved_study, signals)), unused)


def unpack(content: bytes, folder: Path) -> tuple[Study, tuple[str, ...]]:
    """Unpack the files into a folder; returns the study there, and the signals to record."""
    study: Study
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        study, signals = pickle.loads(packed.read(_STUDY))  # not from a folder that other users may write to
        packed.extractall(folder, [name for name in packed.namelist() if name != _STUDY])
    return (
        replace(
            study,
            system=folder / study.system,
            parameters=tuple(folder / path for path in study.parameters),
            inputs=tuple(folder / path for path in study.inputs),
            scenario=None if study.scenario is None else folder / study.scenario,
            source=str(folder / "study.toml"),
            # Files around the system are part of the bundle.
            switches=Switches((RuleChoice(allow_outside=(folder,)),)),
        ),
        signals,
    )


def _used(archive: Archive, study: Study) -> set[str]:
    """Entries that runs read: documents of the used variants, FMUs and tables; for nested packages the file."""
    if archive.is_fmu:
        return {name for name, _ in _system_files(archive, study, ())}
    varied = any(factor.role is FactorRole.VARIANT for factor in study.factors)
    package = load(archive, None if varied else archive.structure(study.variant).name)
    needed = {fmu_entry(archive, entry) for structure in package.structures for entry in structure.fmu_files}
    needed |= {file.name for file in package.files}
    needed |= {entry for structure in package.structures for entry in structure.tables()}
    needed |= {DEFAULT_STRUCTURE} if archive.is_generated else set()
    return {name.partition(NESTING_MARK)[0] for name in needed}


def _is_used(name: str, used: Container[str]) -> bool:
    """True if a file is one of these entries, or lies in one that is a folder."""
    return name in used or any(str(folder) in used for folder in PurePosixPath(name).parents)


def _system_files(archive: Archive, study: Study, used: Iterable[str]) -> Iterator[tuple[str, Path | bytes]]:
    """Files by name: the entries of the archive and files around it; for a lone SSD the files that it needs; for an FMU
    the FMU; for a system of another format its structure and FMUs.
    """
    if archive.is_fmu:
        yield from ((name, archive.local_path(name)) for name in archive.names() if name != archive.default)
        return
    if archive.is_generated:
        yield DEFAULT_STRUCTURE, archive.structure().to_bytes()
        yield from ((name, archive.local_path(name)) for name in archive.names() if name != archive.default)
        return
    lone = study.system.suffix.lower() == ".ssd"
    names = {*archive.names(), *(name for name in used if lone or name.startswith(UP))}
    for name in sorted(names):
        yield name, archive.local_path(name)


def _value_files(study: Study, points: Points) -> Iterable[str]:
    roles = (FactorRole.FMU, FactorRole.PARAMETERS)
    columns = (
        factor.source.values if isinstance(factor.source, Levels) else points.columns[factor.name]
        for factor in study.factors
        if factor.role in roles
    )
    return dict.fromkeys(str(value) for column in columns for value in column)


def _packed(named: dict[str, Path | bytes], study: bytes, unused: Set[str]) -> Bundle:
    buffer, digests = io.BytesIO(), {}
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, content in sorted(_files(named)):
            if name not in unused:
                digests[name] = hashlib.sha256(content).hexdigest()
            packed.writestr(zipfile.ZipInfo(name, _EARLIEST), content)
        packed.writestr(zipfile.ZipInfo(_STUDY, _EARLIEST), study)
    content = buffer.getvalue()
    return Bundle(content, hashlib.sha256(content).hexdigest(), digests, frozenset(unused))


def _files(named: dict[str, Path | bytes]) -> Iterator[tuple[str, bytes]]:
    """Contents of files, and of the files in folders (unpacked FMUs)."""
    for name, one in named.items():
        if isinstance(one, bytes):
            yield name, one
        elif one.is_dir():
            inside = (file for file in one.rglob("*") if file.is_file())
            yield from ((f"{name}/{file.relative_to(one).as_posix()}", file.read_bytes()) for file in inside)
        else:
            yield name, one.read_bytes()
