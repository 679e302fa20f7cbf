"""The connectors of a component, taken from the model description of its FMU."""

from collections.abc import Collection, Iterator
from itertools import zip_longest

from ssptool.documents import ssc, ssd
from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.editing.definitions import Root, use_enumeration, use_unit
from ssptool.editing.numbers import number_text
from ssptool.fmu.description import Causality, FmuDescription, Variable
from ssptool.fmu.units import named

SIGNALS = (Causality.INPUT, Causality.OUTPUT)
PARAMETERS = (Causality.PARAMETER, Causality.CALCULATED_PARAMETER, Causality.STRUCTURAL_PARAMETER)

_KINDS = {
    Causality.INPUT: Kind.INPUT,
    Causality.OUTPUT: Kind.OUTPUT,
    Causality.PARAMETER: Kind.PARAMETER,
    Causality.CALCULATED_PARAMETER: Kind.CALCULATED_PARAMETER,
    Causality.STRUCTURAL_PARAMETER: Kind.STRUCTURAL_PARAMETER,
}
# The types of FMI 1.0 and 2.0; the other types of FMI 3.0 came with SSP 2.0.
_TYPES_1 = {
    "Float64": ssc.Real,
    "Int32": ssc.Integer,
    "Boolean": ssc.Boolean,
    "String": ssc.String,
    "Binary": ssc.Binary,
}
_TYPES = {kind.__name__: kind for kind in ssc.TYPES}


def connectors_of(fmu: FmuDescription, causalities: Collection[Causality], root: Root) -> list[ssd.Connector]:
    """New connectors for the variables of these causalities, in the order of the model description.

    Units and enumerations that they name are defined in the document.

    """
    variables = [variable for variable in fmu.variables.values() if variable.causality in causalities]
    names = {variable.name for variable in variables}
    made = [_connector(variable, names, fmu, root) for variable in variables]
    arrange(made)
    return made


def _connector(variable: Variable, names: Collection[str], fmu: FmuDescription, root: Root) -> ssd.Connector:
    """`names` are those of all the connectors that the element gets, to which this one can refer."""
    connector = ssd.Connector.new(name=variable.name, kind=_KINDS[variable.causality])
    if variable.description:
        connector.description = variable.description
    connector.add(signal_type(variable, fmu, root))
    for size, parameter in zip_longest(variable.shape, variable.sizes):
        by_parameter = parameter in names
        connector.add(ssc.Dimension.new(size_connector=parameter) if by_parameter else ssc.Dimension.new(size=size))
    for clock in variable.clocks:
        if clock in names:
            connector.add(ssd.Clock.new(name=clock))
    return connector


def signal_type(variable: Variable, fmu: FmuDescription, root: Root) -> ssc.SignalType:
    """The type of a connector for a variable, in the words of the document's version of SSP."""
    if variable.type == "Enumeration":
        name = variable.declared_type or variable.name
        return ssc.Enumeration.new(name=use_enumeration(root, name, variable.items))
    made: ssc.SignalType = (_TYPES_1 if root.version == "1.0" else _TYPES)[variable.type].new()
    if isinstance(made, ssc.FloatingPoint):
        made.unit = use_unit(root, named(fmu.units, variable.unit))
    elif isinstance(made, ssc.Binary):
        made.mime_type = variable.mime_type
    elif isinstance(made, ssc.Clock):
        known = {declared.name for declared in ssc.Clock.attributes().values()}
        for name, text in variable.clock:
            if name in known:
                made.set(name, text)
    return made


def state_types(component: ssd.Component, fmu: FmuDescription, root: Root) -> None:
    """Give connectors without a type that of the FMU's variable; units and enumerations are defined in the document."""
    for connector in component.connectors:
        variable = fmu.variables.get(connector.name)
        if variable is not None and connector.type is None:
            connector.type = signal_type(variable, fmu, root)


def arrange(connectors: list[ssd.Connector]) -> None:
    """Inputs and parameters on the left side of the box, what comes out on the right, evenly from the top."""
    entering = (Kind.INPUT, Kind.PARAMETER, Kind.STRUCTURAL_PARAMETER)
    for x, side in (
        (0.0, [each for each in connectors if each.kind in entering]),
        (1.0, [each for each in connectors if each.kind not in entering]),
    ):
        for connector, y in zip(side, _heights(len(side)), strict=True):
            connector.geometry = ssd.ConnectorGeometry.new()
            connector.geometry.set("x", number_text(x))
            connector.geometry.set("y", number_text(y))


def _heights(count: int) -> Iterator[float]:
    return (round(1 - (number + 1) / (count + 1), 3) for number in range(count))
