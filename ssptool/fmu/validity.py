"""Check a model description against FMI, by the schemas and checks of FMPy and some of our own."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from lxml import etree

from ssptool.fmu.description import FmuDescription, UnreadableFmu
from ssptool.fmu.model_description_xml import (
    CachedByContent,
    model_description,
    parse_model_description,
    source_line,
    unreadable_reason,
)
from ssptool.fmu.model_variables import read_model_description
from ssptool.fmu.read_description import description_from_xml, frozen_description, read_description

_SCHEMAS = {
    "1": "fmi1/fmiModelDescription.xsd",
    "2": "fmi2/fmi2ModelDescription.xsd",
    "3": "fmi3/fmi3ModelDescription.xsd",
}
_LINE = re.compile(r" \(line (\d+)\)")
# FMPy's parser of structured names takes milliseconds for each of them. Here are the same names as a regular
# expression (FMI 2.0.4 §2.2.9, FMI 3.0 §2.4.7.5); like FMPy it takes a quotation mark, a backslash and white space in
# a quoted identifier as they are, which the standard has as escapes only.
_QUOTED = r"""'(?:[\w!#$%&()*+,\-./:;<>=?@\[\]^{}|~ "\\\t\n\f\r]|\\')+'"""
_INDICES = r"\[\d+(?:,\d+)*\]"
_PART = rf"(?:[A-Za-z_]\w*|{_QUOTED})(?:{_INDICES})?"
_IDENTIFIER = rf"{_PART}(?:\.{_PART})*"
_STRUCTURED_NAME = re.compile(rf"{_IDENTIFIER}|der\({_IDENTIFIER}(?:,\d+)?\)", re.ASCII)


class DescriptionProblem(NamedTuple):
    """One thing that is wrong with a model description; `line` is 0 if no line is to blame."""

    line: int
    message: str


def read_and_check(path: Path) -> FmuDescription:
    """As `read_description`; one reading serves that and the `description_problems` that are asked for later."""
    description_problems(path)
    return read_description(path)


def description_problems(path: Path) -> tuple[DescriptionProblem, ...]:
    """What is wrong with the model description of an FMU (a zip, or an unpacked folder).

    By the XML Schema; and if that is satisfied, names, start values, causalities and variabilities, units and the
    model structure.

    Raises
    ------
    UnreadableFmu
        As `read_description` does.
    """
    try:
        return _problems(model_description(path))
    # FMPy raises plain `Exception` and whatever Python raises.
    except Exception as error:
        raise UnreadableFmu(path, unreadable_reason(error)) from error


@CachedByContent
def _problems(content: bytes) -> tuple[DescriptionProblem, ...]:
    # Imported here for the reason that `read_description` has.
    from fmpy.validation import validate_model_description

    root = parse_model_description(content)
    schema = _schema(root.get("fmiVersion", "")[:1])
    if not schema.validate(root):
        return tuple(DescriptionProblem(entry.line, entry.message) for entry in cast(Iterable[Any], schema.error_log))
    raw = read_model_description(root)
    description_from_xml.remember(content, frozen_description(raw, root))
    flat = raw.variableNamingConvention == "flat"
    names = tuple(_illegal_names(raw))
    stated = [variable for variable in raw.modelVariables if not variable.alias]
    aliases = len(stated) < len(raw.modelVariables)
    found = validate_model_description(raw, validate_variable_names=flat, validate_model_structure=not aliases)
    if aliases:
        # FMPy demands that aliases of outputs, too, are initial unknowns; FMI 3.0 §2.4.8 lists variables, not names.
        raw.modelVariables = stated
        structural = validate_model_description(raw, validate_model_structure=True)
        known = set(found)
        found += [message for message in structural if message not in known]
    more = _dependency_problems(root) if root.get("fmiVersion") == "1.0" else ()
    return (*names, *map(_problem, found), *more)


def is_structured(name: str) -> bool:
    """Whether a variable name obeys the naming convention "structured"."""
    return _STRUCTURED_NAME.fullmatch(name) is not None


def _illegal_names(raw: Any) -> Iterator[DescriptionProblem]:
    """Names that break the naming convention "structured", in the words of FMPy."""
    for variable in raw.modelVariables if raw.variableNamingConvention != "flat" else ():
        if not is_structured(variable.name):
            message = f'"{variable.name}" is not a legal variable name for naming convention "structured".'
            yield DescriptionProblem(variable.sourceline, message)


def _dependency_problems(root: etree._Element) -> Iterator[DescriptionProblem]:
    """FMI 1.0: what is wrong with direct dependencies, which FMPy does not read."""
    variables = {node.get("name", ""): node for node in root.iterfind("ModelVariables/*")}
    for name, node in variables.items():
        stated = node.find("DirectDependency")
        if stated is not None and node.get("causality") != "output":
            yield DescriptionProblem(
                source_line(stated), f'Variable "{name}" has a DirectDependency, but is not an output.'
            )
        for one in () if stated is None else stated.iterfind("Name"):
            known = variables.get((one.text or "").strip())
            if known is None or known.get("causality") != "input":
                message = f'The DirectDependency of variable "{name}" names "{one.text}", which is not an input.'
                yield DescriptionProblem(source_line(one), message)


@cache
def _schema(major: str) -> etree.XMLSchema:
    import fmpy

    return etree.XMLSchema(etree.parse(Path(fmpy.__file__).parent / "schema" / _SCHEMAS[major]))


def _problem(message: str) -> DescriptionProblem:
    place = _LINE.search(message)
    return DescriptionProblem(int(place[1]) if place else 0, _LINE.sub("", message))
