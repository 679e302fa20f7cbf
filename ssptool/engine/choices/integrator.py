"""Integrator of components of model exchange, with its tolerance."""

import math
from collections.abc import Collection, Iterator, Mapping

from ssptool.engine.failure import UnsupportedCombination
from ssptool.engine.master_names import AUTO
from ssptool.engine.masters.capabilities import Capabilities
from ssptool.engine.masters.master import Master
from ssptool.engine.ode.integrator import Integrator, Method
from ssptool.engine.planning.interval import experiment_place
from ssptool.engine.settings import ASKED, Choice, ExchangeName, InputName, IntegratorName, Settings
from ssptool.errors import WrongValue
from ssptool.network.network import Network

INTEGRATION_TOLERANCE = 1e-6

COUPLED_TOLERANCE = 1e-8
"""Of an integrator that starts anew with every macro step: the errors of all these starts add up."""


def unfollowed(network: Network, settings: Settings, step: float, exchange: Collection[str]) -> Iterator[str]:
    """Notes on what documents state of a run, and what does not become of it.

    `exchange` are the components that are run as model exchange.
    """
    annotated = network.annotated
    yield from annotated.notes
    if annotated.step_size is not None and settings.step_size is not None:
        stated = annotated.step_size
        if not math.isclose(stated.value, step, rel_tol=1e-9):
            yield f"{stated.position}: {stated.by} states a step of {stated.value:g} s; {step:g} s was asked for"
    for name, one in annotated.step_sizes.items():
        if not math.isclose(one.value, step, rel_tol=1e-9) and settings.step_size is None:
            yield (
                f"{one.position}: {one.by} states a step of {one.value:g} s for {name}, which steps with the others by "
                f"{step:g} s (--substeps divides macro steps)"
            )
    if annotated.tolerance is not None and not exchange:
        stated = annotated.tolerance
        yield (
            f"{stated.position}: the tolerance {stated.value:g} of {stated.by} is not used: no component is run as "
            "model exchange"
        )


def choose_integrator(
    capabilities: Mapping[str, Capabilities], settings: Settings, network: Network
) -> tuple[Master, tuple[Choice, ...]]:
    """How a system of model exchange is integrated.

    Raises
    ------
    UnsupportedCombination
        The settings are those of a master that couples steps.
    WrongValue
        The tolerance is not a positive number below 1.
    """
    asked = {
        f"master {settings.master}": settings.master != AUTO,
        f"input {settings.input}": settings.input is not InputName.AUTO,
        "input order": settings.input_order is not None,
        "exchange late": settings.exchange is ExchangeName.LATE,
        f"acceleration {settings.acceleration}": settings.acceleration is not None,
        f"relaxation {settings.relaxation}": settings.relaxation is not None,
        f"iterations {settings.iterations}": settings.iterations is not None,
        "prediction order": settings.prediction_order is not None,
        "adaptive steps": settings.adaptive is not None,
        "power bonds": bool(settings.power_bonds),
        "substeps": bool(settings.substeps),
        "convergence": bool(settings.convergence),
    }
    if found := [name for name, given in asked.items() if given]:
        raise UnsupportedCombination(
            f"{', '.join(found)} with model exchange",
            "one integrator solves all components together, so no steps are coupled",
            f"leave {'it' if len(found) == 1 else 'them'} out, or use --implementation cs",
        )
    master, choices = integrator_of(capabilities, settings, network)
    return master, (Choice("master", master.name, "components of model exchange are one ODE"), *choices)


def refuse_integrator(settings: Settings) -> None:
    """Raise UnsupportedCombination if one is asked for where nothing is integrated."""
    if settings.integrator is not IntegratorName.BDF:
        raise UnsupportedCombination(
            f"integrator {settings.integrator} without model exchange",
            "all components are co-simulated, and integrate themselves",
            "use --implementation me, or leave it out",
        )


def integrator_of(
    capabilities: Mapping[str, Capabilities],
    settings: Settings,
    network: Network,
    default: float = INTEGRATION_TOLERANCE,
) -> tuple[Integrator, tuple[Choice, ...]]:
    """The integrator of components of model exchange.

    Its tolerance is the one asked for, else the one that the system states, else the smallest that the FMUs state and
    `default`.

    Raises
    ------
    WrongValue
        The tolerance is not a positive number below 1.
    """
    tolerance, why, place = _tolerance(capabilities, settings, network, default)
    if not 0 < tolerance < 1:
        raise WrongValue(f"the tolerance of the integrator must be between 0 and 1, found {tolerance:g}")
    lacking = [name for name, can in capabilities.items() if not can.directional_derivatives]
    reason = f"{lacking[0]} has no directional derivatives" if lacking else "all FMUs give them"
    return Integrator(Method[settings.integrator.upper()], tolerance, not lacking), (
        Choice("integrator", settings.integrator, "default" if settings.integrator == IntegratorName.BDF else ASKED),
        Choice("tolerance", f"{tolerance:g}", why, place),
        Choice("jacobian", "finite differences" if lacking else "directional derivatives", reason),
    )


def _tolerance(names: Collection[str], settings: Settings, network: Network, default: float) -> tuple[float, str, str]:
    if settings.tolerance is not None:
        return settings.tolerance, ASKED, ""
    if (stated := network.annotated.tolerance) is not None and stated.value < 1:
        return stated.value, f"stated by {stated.by}", str(stated.position)
    of_fmus = [(network.components[name].description.experiment.tolerance, name) for name in names]
    found = [(tolerance, name) for tolerance, name in of_fmus if tolerance is not None and tolerance > 0]
    if not found:
        return default, "default", ""
    tolerance, name = min(found)
    place = experiment_place(network.components[name])
    if tolerance > default:
        return default, f"default, stricter than the {tolerance:g} that the FMU of {name} recommends", place
    return tolerance, f"recommended by the FMU of {name}", place


def refuse_substeps(capabilities: Mapping[str, Capabilities], settings: Settings) -> None:
    """Raise `UnsupportedCombination` where substeps are asked for of a component of model exchange."""
    for name in capabilities:
        if name in settings.substeps:
            raise UnsupportedCombination(
                f"substeps of {name}, which is run as model exchange",
                "the integrator takes the steps that its tolerance allows",
                f"leave them out, or run {name} as co-simulation",
            )
