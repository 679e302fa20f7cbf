"""Power bonds: pairs of signals of two components whose product is a power."""

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import TypeAlias

from ssptool.engine.kernel.calls import REAL_TYPES, Floats
from ssptool.engine.recording.iteration_log import IterationLog
from ssptool.engine.settings import Settings
from ssptool.errors import NAMED, ContradictingSettings, in_other_case, similar_names
from ssptool.fmu.terminals import Terminal
from ssptool.fmu.units import Exponents, PhysicalUnit, named
from ssptool.network.network import FlatComponent, Network, Signal, Wire

Units: TypeAlias = Mapping[str, PhysicalUnit]
NO_UNITS: Units = MappingProxyType({})

WATT = Exponents(kg=1, m=2, s=-3)


@dataclass(frozen=True, slots=True)
class PowerBond:
    """Two outputs that two components exchange.

    `first` is an output of one component (such as a velocity), `second` one of the other (such as the force on it).
    Signs are such that their product is the power that flows into the component of `first`. `into_second` is the input
    that `first` is connected to, `into_first` the input that `second` is connected to; scales are the factors of these
    wires. Factors convert the product of output and input of each component from the units of its FMU to watts; both
    products have the same sign. `nominal` [W].
    """

    first: Signal
    second: Signal
    into_first: Signal
    into_second: Signal
    first_factor: float
    second_factor: float
    first_scale: float
    second_scale: float
    nominal: float

    def __str__(self) -> str:
        return f"{self.first},{self.second}"


def declared_bonds(
    network: Network, pairs: Sequence[tuple[str, str]], units: Units = NO_UNITS
) -> tuple[PowerBond, ...]:
    """Bonds by the names of their signals. `units` define units that FMUs state by name only.

    Raises
    ------
    ContradictingSettings
        A name is not that of an output, the two components do not exchange the signals, or the product is not a power.
    """
    return tuple(_declared(network, first, second, units) for first, second in pairs)


def bonds_of_terminals(
    network: Network, terminals: Mapping[str, Mapping[str, Terminal]], units: Units = NO_UNITS
) -> tuple[PowerBond, ...]:
    """Power bonds of connected terminals: each terminal has one output and one input, connected to the output of the
    other terminal, and the products are powers.

    `terminals` are those of each component, by name.
    """
    groups = {
        name: [{member.variable for member in terminal.members} for terminal in own.values()]
        for name, own in terminals.items()
        if own
    }
    return tuple(
        bond
        for pairs in _exchanges(network, groups)
        for out, back in pairs
        if _of_one({out.source.variable, back.destination.variable}, groups[out.source.component])
        and _of_one({out.destination.variable, back.source.variable}, groups[back.source.component])
        for bond in _if_power(network, out, back, units)
    )


def bonds_of_units(network: Network, units: Units = NO_UNITS) -> tuple[PowerBond, ...]:
    """Power bonds that can be recognized by units alone: outputs that two components exchange, and whose product has
    the unit of a power with no other pair of them.
    """
    found: list[PowerBond] = []
    for pairs in _exchanges(network, network.components):
        bonds = [bond for out, back in pairs for bond in _if_power(network, out, back, units)]
        ends = Counter(end for bond in bonds for end in (bond.first, bond.second))
        found += [bond for bond in bonds if ends[bond.first] == ends[bond.second] == 1]
    return tuple(found)


def _exchanges(network: Network, among: Container[str]) -> Iterator[Iterable[tuple[Wire, Wire]]]:
    """Pairs of wires, there and back, of each two components among these that feed each other."""
    between: dict[tuple[str, str], list[Wire]] = defaultdict(list)
    for wire in network.wires:
        if wire.source.component in among and wire.destination.component in among:
            between[wire.source.component, wire.destination.component].append(wire)
    for (one, other), there in between.items():
        if one < other and (other, one) in between:  # each pair once
            yield product(there, between[other, one])


def _of_one(variables: set[str], terminals: Sequence[set[str]]) -> bool:
    return any(variables <= members for members in terminals)


def _declared(network: Network, first: str, second: str, units: Units) -> PowerBond:
    name = f"{first},{second}"
    one, other = (_output(network, name, text) for text in (first, second))
    there, back = _wire(network, name, one, other), _wire(network, name, other, one)
    if one.component == other.component:
        raise ContradictingSettings(
            f"power bond {name}", "both are outputs of one component", "name one output of each of two components"
        )
    return _bond(network, there, back, units)


def _output(network: Network, bond: str, text: str) -> Signal:
    outputs = {str(wire.source): wire.source for wire in network.wires if wire.source.component}
    own = text if text in outputs else in_other_case(text, outputs)
    if own is not None:
        return outputs[own]
    near = similar_names(text, outputs) or tuple(outputs)[:NAMED]
    raise ContradictingSettings(
        f"power bond {bond}",
        f"{text!r} is not a connected output",
        f"connected outputs are {', '.join(near) or 'none'}",
    )


def _wire(network: Network, bond: str, source: Signal, partner: Signal) -> Wire:
    for wire in network.wires:
        if wire.source == source and wire.destination.component == partner.component:
            return wire
    raise ContradictingSettings(
        f"power bond {bond}",
        f"{source} is not connected to {partner.component}",
        "a bond is two signals that two components exchange, one in each direction",
    )


def _if_power(network: Network, there: Wire, back: Wire, units: Units) -> Iterator[PowerBond]:
    try:
        yield _bond(network, there, back, units)
    except ContradictingSettings:
        return


def _bond(network: Network, there: Wire, back: Wire, units: Units) -> PowerBond:
    name = f"{there.source},{back.source}"
    one, other = network.components[there.source.component], network.components[back.source.component]
    first_factor = _watts(name, one, there.source, back.destination, units)
    second_factor = _watts(name, other, back.source, there.destination, units)
    first_scale, second_scale = (_scale(name, wire) for wire in (back, there))
    ratio = (second_factor * second_scale) / (first_factor * first_scale)
    if not math.isclose(abs(ratio), 1.0, rel_tol=1e-6):
        raise ContradictingSettings(
            f"power bond {name}",
            f"{other.name} receives {ratio:g} times the power that {one.name} delivers",
            "transformations on the connections of a bond must not change the power",
        )
    nominal = one.description.variables[there.source.variable].nominal
    nominal *= one.description.variables[back.destination.variable].nominal
    return PowerBond(
        first=there.source,
        second=back.source,
        into_first=back.destination,
        into_second=there.destination,
        first_factor=first_factor,
        second_factor=math.copysign(second_factor, ratio),
        first_scale=first_scale,
        second_scale=second_scale,
        nominal=nominal * first_factor,
    )


def _scale(bond: str, wire: Wire) -> float:
    conversion = wire.conversion
    if conversion.offset or conversion.table or not conversion.factor:
        raise ContradictingSettings(
            f"power bond {bond}",
            f"{wire.source} arrives at {wire.destination} as {conversion}",
            "the connections of a bond may have a factor only",
        )
    return conversion.factor


def _watts(bond: str, component: FlatComponent, output: Signal, input: Signal, defined: Units) -> float:
    """1 [unit of the output] · [unit of the input] of a component in watts; a radian counts as 1."""
    units = [_unit(bond, component, signal, defined) for signal in (output, input)]
    exponents = [unit.exponents for unit in units if unit.exponents is not None]
    total = [sum(each) for each in zip(*(one._replace(rad=0) for one in exponents), strict=True)]
    if tuple(total) != tuple(WATT):
        raise ContradictingSettings(
            f"power bond {bond}",
            f"the product of {output} [{units[0].name}] and {input} [{units[1].name}] is not a power",
            "its unit must be W in SI units, as of N and m/s, N.m and rad/s, V and A",
        )
    return units[0].factor * units[1].factor


def _unit(bond: str, component: FlatComponent, signal: Signal, defined: Units) -> PhysicalUnit:
    variable = component.description.variables[signal.variable]
    if variable.type not in REAL_TYPES or variable.shape:
        kind = "an array" if variable.shape else f"of type {variable.type}"
        raise ContradictingSettings(
            f"power bond {bond}", f"{signal} is {kind}", "name scalars that are real numbers, or elements of arrays"
        )
    name = variable.unit
    unit = named(component.description.units, name)
    if name is not None and unit is not None and not unit.defined:
        unit = defined.get(name, unit)
    if unit is None or unit.exponents is None or unit.offset:
        stated = "no unit" if name is None else f"the unit {name}, which is not defined as a multiple of SI units"
        raise ContradictingSettings(
            f"power bond {bond}",
            f"{signal} has {stated}",
            "define it in the FMU or among the units of the SSD, so that power can be told from other products",
        )
    return unit


def bonds_of(
    network: Network, settings: Settings, found: Sequence[PowerBond], integrated: Container[str], units: Units
) -> tuple[PowerBond, ...]:
    """Declared power bonds (default: those `found`), as far as they can be monitored.

    Raises
    ------
    ContradictingSettings
        A declared bond is not a power bond, is not used, or cannot be monitored.
    """
    declared = declared_bonds(network, settings.power_bonds, units)
    _check_use(declared, integrated, settings)
    return declared or tuple(bond for bond in found if not _hidden(bond, integrated, settings))


def _check_use(bonds: Sequence[PowerBond], integrated: Container[str], settings: Settings) -> None:
    """Raise `ContradictingSettings` if declared bonds have no use, or cannot be monitored."""
    if bonds and settings.adaptive is None:
        raise ContradictingSettings(
            "power bonds with a fixed step size",
            "they are used to choose the step size",
            "add --adaptive, or leave them out",
        )
    for bond in bonds:
        if name := _hidden(bond, integrated, settings):
            raise ContradictingSettings(
                f"power bond {bond}",
                f"{name} is integrated as model exchange, or does several steps within a macro step, so its "
                "power is not known at communication points",
                "bonds connect components of co-simulation with one step per macro step",
            )


def _hidden(bond: PowerBond, integrated: Container[str], settings: Settings) -> str:
    """The component of a bond whose inputs over a macro step the master does not choose; empty if there is none."""
    for signal in (bond.first, bond.second):
        if signal.component in integrated or settings.substeps.get(signal.component, 1) != 1:
            return signal.component
    return ""


def log_energies(
    log: IterationLog, bonds: Sequence[PowerBond], facts: tuple[float, float], carried: Floats, residual: Floats
) -> None:
    """Log a macro step: its end [s] and its error (1 is allowed), and for each bond the energy that went through it and
    its residual [J].
    """
    end, error = facts
    names = list(map(str, bonds))
    energies, residuals = (dict(zip(names, one.tolist(), strict=True)) for one in (carried, residual))
    log.write((end, "power bonds", 1, error, error <= 1.0), energies, residuals)
