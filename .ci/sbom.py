"""The parts of ssptool with versions and licences: compiled into its libraries, or needed beside it.

`python .ci/sbom.py FOLDER` writes a bill of materials (CycloneDX 1.6) and the licences of what is compiled in, for
wheels; `python .ci/sbom.py --page` prints docs/licences.md. Both tell of the environment that they run in.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = re.search(r'"(.+)"', (ROOT / "ssptool" / "version.py").read_text(encoding="utf-8"))[1]  # type: ignore[index]


class Part(NamedTuple):
    """A package. `extra` is empty for what every installation needs; `texts` are files with its licence."""

    name: str
    version: str
    licence: str
    extra: str = ""
    texts: tuple[Path, ...] = ()


# -- packages that are needed beside ssptool ------------------------------------------------------------------------


def needed() -> list[Part]:
    """Packages that an installation brings, with those that they need, in the order of the extras."""
    found: dict[str, Part] = {}
    for extra in ("", *PROJECT["optional-dependencies"]):
        stated = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
        waiting = [Requirement(text) for text in stated]
        while waiting:
            wanted = waiting.pop(0)
            name = canonicalize_name(wanted.name)
            if name in found or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
                continue
            try:
                one = distribution(name)
            except PackageNotFoundError:
                found[name] = Part(name, "", "", extra)
                continue
            found[name] = Part(name, one.version, licence(one), extra)
            waiting += _requirements(one, wanted.extras)
    return list(found.values())


def _requirements(one: Distribution, extras: set[str]) -> Iterator[Requirement]:
    for text in one.requires or ():
        each = Requirement(text)
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            each.marker = None
            yield each


SPELT = {
    "LGPLv3+": "LGPL-3.0-or-later",
    **dict.fromkeys(("MIT License", "MIT-License", "The MIT License"), "MIT"),
    **dict.fromkeys(("BSD", "BSD License", "3-Clause BSD License", "New BSD", "BSD 3-Clause"), "BSD-3-Clause"),
    **dict.fromkeys(("Apache 2.0", "Apache License 2.0", "Apache Software License", "Apache License"), "Apache-2.0"),
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "ISC License (ISCL)": "ISC",
}
"""Licences as packages spell them → as SPDX does."""


def licence(one: Distribution) -> str:
    """The licence of a package by SPDX, if its metadata name one, or bring the text of a common one."""
    stated = one.metadata
    named = [stated.get("License-Expression"), (stated.get("License") or "").split("\n")[0]]
    named += [
        text.rpartition(" :: ")[2] for text in stated.get_all("Classifier") or () if text.startswith("License ::")
    ]
    for text in filter(None, named):
        try:
            return canonicalize_license_expression(SPELT.get(text, text))
        except InvalidLicenseExpression:
            continue
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in _licence_files(one) if file.is_file())
    return next(filter(None, map(_licence_of_text, texts)), "not stated")


_BEGINNINGS = {
    "Apache License Version 2.0": "Apache-2.0",
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software": "MIT",
    "Mozilla Public License Version 2.0": "MPL-2.0",
    "Redistribution and use in source and binary forms, with or without modification": "BSD-2-Clause",
}
"""Sentences with which licences begin; that of a package stands before those of what it contains."""


def _licence_of_text(text: str) -> str:
    plain = " ".join(text.split())
    places = {plain.find(sentence): name for sentence, name in _BEGINNINGS.items() if sentence in plain}
    if not places:
        return ""
    begin = min(places)
    conditions = plain[begin : plain.find("THIS SOFTWARE IS PROVIDED", begin)]
    third = places[begin] == "BSD-2-Clause" and "Neither the name" in conditions
    return "BSD-3-Clause" if third else places[begin]


# -- what is compiled in --------------------------------------------------------------------------------------------


def compiled_in() -> list[Part]:
    """What the libraries of ssptool contain beside its own code; with zig also the C++ library."""
    nanobind = distribution("nanobind")
    headers = Path(str(nanobind.locate_file("nanobind/ext/robin_map/include/tsl")))
    parts = [
        Part("nanobind", nanobind.version, "BSD-3-Clause", texts=_licence_files(nanobind)),
        Part("robin-map", _robin_map_version(headers), "MIT", texts=(headers / "robin_map.h",)),
        _installed("nlohmann-json", "MIT"),
    ]
    try:
        zig = distribution("ziglang")
    except PackageNotFoundError:
        return parts
    libraries = Path(str(zig.locate_file("ziglang/lib")))
    texts = tuple(libraries / name / "LICENSE.TXT" for name in ("libcxx", "libcxxabi", "libunwind"))
    runtime = Part("llvm-runtime-libraries", f"zig {zig.version}", "Apache-2.0 WITH LLVM-exception", texts=texts)
    mingw = Part("mingw-w64", f"zig {zig.version}", "ZPL-2.1", texts=(libraries / "libc/mingw/COPYING",))
    return [*parts, runtime, mingw]


def _installed(name: str, known_licence: str) -> Part:
    one = distribution(name)
    return Part(name, one.version, known_licence, texts=_licence_files(one))


def _licence_files(one: Distribution) -> tuple[Path, ...]:
    files = [file for file in one.files or () if "licenses" in file.parts]
    return tuple(Path(str(one.locate_file(file))) for file in files)


def _robin_map_version(headers: Path) -> str:
    text = (headers / "robin_growth_policy.h").read_text(encoding="utf-8")
    return ".".join(re.findall(r"TSL_RH_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))


# -- written --------------------------------------------------------------------------------------------------------


def write(folder: Path) -> None:
    """Write `sboms/ssptool.cdx.json` and `licenses/compiled_in/` into a folder."""
    (folder / "sboms").mkdir(parents=True, exist_ok=True)
    (folder / "sboms" / "ssptool.cdx.json").write_text(bill(), encoding="utf-8")
    licences = folder / "licenses" / "compiled_in"
    licences.mkdir(parents=True, exist_ok=True)
    for part in compiled_in():
        text = "\n".join(_licence_text(file) for file in part.texts)
        (licences / f"{part.name}.txt").write_text(text, encoding="utf-8")


def _licence_text(file: Path) -> str:
    """A file, or the first comment of a header."""
    text = file.read_text(encoding="utf-8")
    return text if file.suffix != ".h" else text[: text.index("*/") + 2] + "\n"


def bill() -> str:
    """The bill of materials; without a time, so that the same parts give the same bytes."""
    from cyclonedx.contrib.license.factories import LicenseFactory
    from cyclonedx.model import Property
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentScope, ComponentType
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    def component(part: Part, role: str) -> Component:
        return Component(
            name=part.name,
            version=part.version or None,
            bom_ref=f"{role} {part.name}@{part.version}".replace(" ", "-"),
            scope=ComponentScope.OPTIONAL if part.extra else ComponentScope.REQUIRED,
            licenses=[LicenseFactory().make_from_string(part.licence)] if part.licence else (),
            purl=PackageURL("pypi", None, part.name, part.version or None) if role == "needed" else None,
            properties=[Property(name="ssptool:role", value=f"{role}{f' by {part.extra}' if part.extra else ''}")],
        )

    itself = Component(
        name="ssptool",
        version=VERSION,
        type=ComponentType.APPLICATION,
        bom_ref=f"ssptool@{VERSION}",
        licenses=[LicenseFactory().make_from_string(PROJECT["license"])],
        purl=PackageURL("pypi", None, "ssptool", VERSION),
    )
    inside = [component(part, "compiled in") for part in compiled_in()]
    beside = [component(part, "needed") for part in needed()]
    made = Bom(components=[*inside, *beside])
    made.metadata.component = itself
    made.register_dependency(itself, [*inside, *beside])
    content = json.loads(JsonV1Dot6(made).output_as_string())
    del content["serialNumber"], content["metadata"]["timestamp"]
    return json.dumps(content, indent=2) + "\n"


HEAD = """# Licences

<!-- Generated by `make docs` from the packages; do not edit. -->

The licence of ssptool is [BSD-2-Clause](../LICENSE). The first table lists the licences of code that is compiled
into its libraries, and the other tables the licences of packages that are installed with it. Wheels contain this list
with versions as a bill of materials (CycloneDX, in `ssptool-*.dist-info/sboms/`), and the licence texts of compiled-in
code in `ssptool-*.dist-info/licenses/`.
"""


def page() -> Iterator[str]:
    """Lines of docs/licences.md, which names no versions: those differ from one installation to the next."""
    yield HEAD
    yield "## Compiled in\n\n| part | licence |\n|---|---|"
    inside = {part.name: part.licence for part in compiled_in()} | {
        "llvm-runtime-libraries": "Apache-2.0 WITH LLVM-exception (in wheels)",
        "mingw-w64": "ZPL-2.1 (in libraries for Windows)",
        "libstdc++": "GPL-3.0-or-later WITH GCC-exception-3.1 (in libraries that gcc compiles)",
    }
    yield from (f"| {name} | {text} |" for name, text in inside.items())
    packages = needed()
    for extra in ("", *PROJECT["optional-dependencies"]):
        yield f"\n## {f'Extra `{extra}`' if extra else 'Every installation'}\n\n| package | licence |\n|---|---|"
        yield from (f"| {one.name} | {one.licence or 'see the package'} |" for one in packages if one.extra == extra)


if __name__ == "__main__":
    if sys.argv[1] == "--page":
        print("\n".join(page()))
    else:
        write(Path(sys.argv[1]))
