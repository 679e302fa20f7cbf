"""Parameter sets (SSP 2.0 §6)."""

import math
from collections.abc import Iterator

from ssptool.documents import ssv
from ssptool.rules.catalogue import DERIVED, ERROR, MUST, POLICY, TEXT, WARNING, Chapter, Finding, near
from ssptool.rules.subjects import Structure, around

PARAMETER_SETS = Chapter("Parameter sets (SSP 2.0 §6)")


@PARAMETER_SETS.rule("SSV-001", severity=ERROR, basis=MUST, source="SSP 2.0 §6.2")
def distinct_parameters(parameters: ssv.ParameterSet, structure: Structure) -> Iterator[Finding]:
    """The parameters of a set have different names.

    Of two values for one name nobody can tell which holds.

    Fix: delete one of them.

    Accepted: the last parameter of a name counts.
    """
    first: dict[str, ssv.Parameter] = {}
    for parameter in parameters.parameters:
        other = first.setdefault(parameter.name, parameter)
        if other is not parameter:
            line = other.position.line
            message = f"the parameter '{parameter.name}' is in line {line} already"
            yield Finding(parameter, message, "delete one of them", "name")


@PARAMETER_SETS.rule("SSV-004", severity=ERROR, basis=DERIVED, source="SSP 2.0 §6.2", versions=["2.0"])
def as_many_values(parameter: ssv.Parameter, structure: Structure) -> Iterator[Finding]:
    """A parameter has as many values as its dimensions say: their product; without dimensions one.

    Fix: add or delete values, or correct the dimensions.

    Accepted: the parameter is left out.
    """
    if isinstance(parameter.type, ssv.Numbers):
        sizes = [dimension.size for dimension in parameter.dimensions]
        wanted, found = math.prod(size or 0 for size in sizes), len(parameter.type.entries)
        if None not in sizes and wanted != found:
            yield Finding(
                parameter.type, f"there are {found} values, where the dimensions ask for {wanted}", "", "value"
            )


@PARAMETER_SETS.rule("SSV-005", severity=ERROR, basis=MUST, source="SSP 2.0 §6.2")
def one_form_of_texts(parameter: ssv.Parameter, structure: Structure) -> Iterator[Finding]:
    """A text, enumeration or binary parameter has its value in the attribute or in `Value` elements, not in both.

    With neither, it has no value.

    Fix: keep one of them.

    Accepted: the `Value` elements count; without any value the parameter is left out.
    """
    if isinstance(parameter.type, ssv.Texts):
        attribute = parameter.type.get("value") is not None
        elements = bool(parameter.type.items_in_children)
        empty_array = any(dimension.size == 0 for dimension in parameter.dimensions)
        if attribute and elements:
            yield Finding(parameter.type, "the value is in the attribute and in Value elements", "", "value")
        elif not attribute and not elements and not empty_array:
            yield Finding(parameter.type, f"'{parameter.name}' has no value", "add the attribute 'value'")


@PARAMETER_SETS.rule("SSV-006", severity=ERROR, basis=MUST, source="SSP 2.0 §6.2", versions=["2.0"])
def texts_of_arrays(parameter: ssv.Parameter, structure: Structure) -> Iterator[Finding]:
    """The texts, items or binaries of an array stand in `Value` elements, as many as the dimensions say.

    One attribute cannot hold several, because they may contain blanks.

    Fix: write one `ssv:Value` for each.

    Accepted: the parameter is left out.
    """
    if isinstance(parameter.type, ssv.Texts):
        sizes = [dimension.size for dimension in parameter.dimensions]
        wanted, found = math.prod(size or 0 for size in sizes), len(parameter.type.entries)
        if None not in sizes and found and wanted != found:
            yield Finding(parameter.type, f"there are {found} values, where the dimensions ask for {wanted}")


@PARAMETER_SETS.rule("SSV-008", severity=WARNING, basis=TEXT, source="SSP 2.0 §6.2")
def values_are_items(parameter: ssv.Parameter, structure: Structure) -> Iterator[Finding]:
    """The value of a parameter that names its enumeration is one of the items.

    Fix: write the name of an item.
    """
    if isinstance(parameter.type, ssv.Enumeration) and parameter.type.name is not None:
        parameters = next(around(parameter, ssv.ParameterSet))
        for enumeration in parameters.enumerations:
            if enumeration.name == parameter.type.name:
                items = [item.name for item in enumeration.items]
                for value in parameter.type.entries:
                    if value not in items:
                        message = f"'{value}' is no item of '{enumeration.name}'"
                        yield Finding(parameter.type, message, near(value, items), "value")


@PARAMETER_SETS.rule("SSV-009", severity=WARNING, basis=POLICY, source="SSP 2.0 §6.2; the schema admits an empty name")
def named_parameters(parameter: ssv.Parameter, structure: Structure) -> Iterator[Finding]:
    """The name of a parameter is not empty.

    It can match nothing, unless a prefix completes it.

    Fix: write the name of a variable.
    """
    if not parameter.name.strip():
        yield Finding(parameter, "the name of the parameter is empty", "", "name")
