"""Whether a model description is what FMI says it should be: by its XML Schema, which FMPy brings along, and beyond."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from lxml import etree

from ssptool.fmu.description import UnreadableFmu
from ssptool.fmu.fmpy_files import fmpy_folder
from ssptool.fmu.model_xml import UnusableXml, by_content, line_of, model_description, parse, unreadable_reason
from ssptool.fmu.stated import stated_variables
from ssptool.fmu.structure import model_structure, references
from ssptool.fmu.structure_validity import structure_problems
from ssptool.fmu.variable_validity import Problem, variable_problems

_SCHEMAS = {
    "1": "fmi1/fmiModelDescription.xsd",
    "2": "fmi2/fmi2ModelDescription.xsd",
    "3": "fmi3/fmi3ModelDescription.xsd",
}


def description_problems(path: Path) -> tuple[Problem, ...]:
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
    except (UnusableXml, ValueError) as error:
        raise UnreadableFmu(path, unreadable_reason(error)) from error


@by_content
def _problems(content: bytes) -> tuple[Problem, ...]:
    root = parse(content)
    major = root.get("fmiVersion", "")[:1]
    schema = _schema(major)
    if not schema.validate(root):
        return tuple(Problem(entry.line, entry.message) for entry in cast(Iterable[Any], schema.error_log))
    variables = stated_variables(root)
    problems = variable_problems(root, variables)
    if major == "1":
        nodes = {node.get("name", ""): node for node in root.iterfind("ModelVariables/*")}
        return (*problems, *_dependency_problems(nodes))
    refer = references(int(major), variables)
    return (*problems, *structure_problems(model_structure(root, variables), variables, refer))


def _dependency_problems(variables: Mapping[str, etree._Element]) -> Iterator[Problem]:
    """FMI 1.0: what is wrong with direct dependencies."""
    for name, node in variables.items():
        stated = node.find("DirectDependency")
        if stated is not None and node.get("causality") != "output":
            yield Problem(line_of(stated), f'Variable "{name}" has a DirectDependency, but is not an output.')
        for one in () if stated is None else stated.iterfind("Name"):
            known = variables.get((one.text or "").strip())
            if known is None or known.get("causality") != "input":
                message = f'The DirectDependency of variable "{name}" names "{one.text}", which is not an input.'
                yield Problem(line_of(one), message)


@cache
def _schema(major: str) -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(fmpy_folder() / "schema" / _SCHEMAS[major]))
