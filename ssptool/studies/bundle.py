"""All files that the runs of a study need, in one file, which is sent to workers and stored with the results."""

import hashlib
import io
import pickle
import posixpath
import zipfile
from collections.abc import Iterable, Set
from dataclasses import dataclass, replace
from pathlib import Path

from ssptool.child_processes import dumps
from ssptool.documents.archive import Archive
from ssptool.documents.uri import UP
from ssptool.rules.selection import EVERYTHING, RuleChoice, Switches
from ssptool.rules.used_files import contents, is_used, system_files, used_entries
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
        varied = any(factor.role is FactorRole.VARIANT for factor in study.factors)
        structure = None if varied or archive.is_fmu else archive.structure(study.variant).name
        used = used_entries(archive, study.system, structure)
        files = dict(system_files(archive, study.system, used))
        # Deep enough that the folder also has room for files around the system.
        root = "/".join(["system", *["in"] * max(name.count(UP) for name in files)])
        named: dict[str, Path | bytes] = {posixpath.normpath(f"{root}/{name}"): path for name, path in files.items()}
        unused = {posixpath.normpath(f"{root}/{name}") for name in files if not is_used(name, used)}
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
        for name, content in sorted(contents(named)):
            if name not in unused:
                digests[name] = hashlib.sha256(content).hexdigest()
            packed.writestr(zipfile.ZipInfo(name, _EARLIEST), content)
        packed.writestr(zipfile.ZipInfo(_STUDY, _EARLIEST), study)
    content = buffer.getvalue()
    return Bundle(content, hashlib.sha256(content).hexdigest(), digests, frozenset(unused))
