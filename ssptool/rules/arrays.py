"""Dimensions of connectors, parameters and dictionary entries (SSP 2.0 §4.5.3)."""

from collections.abc import Iterator, Mapping

from ssptool.documents import ssb, ssc, ssd, ssv
from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.network.conversion import is_integer
from ssptool.rules.catalogue import DERIVED, ERROR, MUST, POLICY, TEXT, WARNING, Chapter, Finding, near
from ssptool.rules.links import Declared, declared
from ssptool.rules.subjects import Structure, around, remembered

DIMENSIONS = Chapter(
    "Dimensions of connectors, parameters and dictionary entries (SSP 2.0 §4.5.3)", section="SSP 2.0 §4.5.3"
)


@DIMENSIONS.rule("DIM-001", severity=ERROR, basis=MUST, versions=["2.0"], blocks_run=True)
def one_size(dimension: ssc.Dimension, structure: Structure) -> Iterator[Finding]:
    """The size of a dimension is a number or that of another connector, not both.

    Fix: remove `size` or `sizeConnector`.
    """
    if dimension.size is not None and dimension.size_connector is not None:
        yield Finding(dimension, "both size and sizeConnector are given", "remove one of them", "sizeConnector")


@DIMENSIONS.rule(
    "DIM-002", severity=ERROR, basis=MUST, source="SSP 2.0 §4.5.3, §6.2", versions=["2.0"], blocks_run=True
)
def sized_values(dimension: ssc.Dimension, structure: Structure) -> Iterator[Finding]:
    """The dimensions of parameters and dictionary entries have a fixed size.

    They have no connectors beside them that could give it.

    Fix: write `size`, and no `sizeConnector`.
    """
    if isinstance(dimension.getparent(), ssv.Parameter | ssb.DictionaryEntry):
        if dimension.size_connector is not None:
            yield Finding(dimension, "there are no connectors here", "write size", "sizeConnector")
        elif dimension.size is None:
            yield Finding(dimension, "the dimension has no size", "write size")


@DIMENSIONS.rule("DIM-003", severity=ERROR, basis=TEXT, versions=["2.0"], blocks_run=True)
def sizing_connectors(dimension: ssc.Dimension, structure: Structure) -> Iterator[Finding]:
    """A `sizeConnector` is a structural parameter or constant among the connectors of the same element.

    The size is fixed before the simulation starts.

    Fix: name such a connector.
    """
    siblings = _siblings(dimension, structure)
    name = dimension.size_connector
    if siblings is None or name is None:
        return
    if name not in siblings:
        yield Finding(dimension, f"there is no connector '{name}'", near(name, siblings), "sizeConnector")
    elif (kind := siblings[name].says.kind) not in (Kind.STRUCTURAL_PARAMETER, Kind.CONSTANT):
        message = f"'{name}' is of kind {kind}, not structuralParameter or constant"
        yield Finding(dimension, message, "", "sizeConnector")


@DIMENSIONS.rule(
    "DIM-004",
    severity=ERROR,
    basis=DERIVED,
    source="SSP 2.0 §4.5.3; FMI 3.0 §2.4.7.5",
    versions=["2.0"],
    blocks_run=True,
)
def sizes_are_integers(dimension: ssc.Dimension, structure: Structure) -> Iterator[Finding]:
    """A `sizeConnector` is a single integer.

    Fix: name a connector of an integer type without dimensions.
    """
    sizing = (_siblings(dimension, structure) or {}).get(dimension.size_connector or "")
    if sizing is not None:
        type_name = sizing.says.type_name
        if sizing.says.sizes:
            yield Finding(dimension, f"'{sizing.name}' is an array", "", "sizeConnector")
        elif type_name is not None and not is_integer(type_name):
            yield Finding(dimension, f"'{sizing.name}' is {type_name}, no integer", "", "sizeConnector")


@DIMENSIONS.rule("DIM-005", severity=WARNING, basis=POLICY, versions=["2.0"])
def not_empty(dimension: ssc.Dimension, structure: Structure) -> Iterator[Finding]:
    """The size of a dimension is not zero.

    An array without elements carries nothing.

    Fix: correct the size.
    """
    if dimension.size == 0:
        yield Finding(dimension, "the size is zero", "", "size")


def _siblings(dimension: ssc.Dimension, structure: Structure) -> Mapping[str, Declared] | None:
    """The connectors beside the one that a dimension belongs to; None if it belongs to something else."""
    if not isinstance(dimension.getparent(), ssd.Connector):
        return None
    return _connectors(next(around(dimension, ssd.SystemElement)), structure)


@remembered
def _connectors(element: ssd.SystemElement, structure: Structure) -> Mapping[str, Declared]:
    return {one.name: one for one in declared(element, structure)}
