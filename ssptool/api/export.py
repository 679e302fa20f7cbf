"""Export of a system as one FMU."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, Unpack

from ssptool.api.check import shows
from ssptool.api.run import SHOWN, RunOptions, opened_plan
from ssptool.arguments import WrongArgument, flag, path, texts, word
from ssptool.engine.assembly.instances import with_libraries
from ssptool.engine.planning.interval import ALONE, NoStopTime
from ssptool.engine.planning.plan import Plan
from ssptool.engine.settings import SettingsOptions
from ssptool.errors import WrongValue
from ssptool.exporting.capabilities import ExportCapability as ExportCapability
from ssptool.exporting.capabilities import ExportInterface, capabilities_in
from ssptool.exporting.description import VERSIONS
from ssptool.exporting.exposed import exported_variables
from ssptool.exporting.package import ExportedFmu as ExportedFmu
from ssptool.exporting.package import export_fmu
from ssptool.exporting.refusals import export_problems, plan_to_export
from ssptool.exporting.runtimes import RuntimeNotBuilt as RuntimeNotBuilt
from ssptool.option_words import InterfaceWord
from ssptool.public_calls import public


class Exportable(NamedTuple):
    """Capabilities of the exported FMU of a planned run, or the reason why the system cannot be exported."""

    capabilities: tuple[ExportCapability, ...]
    problems: tuple[str, ...]


@public
def exportable(plan: Plan, *, fmi: int = 2) -> Exportable:
    """List the capabilities of the FMU that `export` would create for this plan, each with its reason.

    Parameters
    ----------
    fmi
        Version of FMI that names the capability flags: 2 or 3.

    Examples
    --------
    >>> ssptool.exportable(ssptool.plan("systems/dual_mass_oscillator")).capabilities
    """
    version, plan = _version(fmi), plan_to_export(plan)
    problems = export_problems(plan, exported_variables(plan, (), version), version)
    return Exportable(capabilities_in(plan, version), tuple(map(str, problems)))


def _version(fmi: int) -> int:
    found = next((known for known in VERSIONS if known == fmi), None)  # 3.0 is 3
    if found is None:
        raise WrongArgument("fmi", fmi, " or ".join(map(str, VERSIONS)))
    return found


@public
@shows(SHOWN, RunOptions, SettingsOptions)
def export(
    system: Path | str,
    fmu: Path | str,
    *,
    fmi: int = 2,
    interface: InterfaceWord = "cs",
    expose: str | Sequence[str] = (),
    platforms: str | Sequence[str] = (),
    compile: bool = False,
    **options: Unpack[RunOptions],
) -> ExportedFmu:
    """Export a system as one FMU.

    For co-simulation, the FMU couples the components as `simulate` does with the same settings. At communication
    points it has the same values: bit for bit, or within the tolerance if it integrates components of model exchange.
    For model exchange, the importer integrates the states of all components. The other arguments are those of
    `simulate`.

    Parameters
    ----------
    fmu
        FMU to write. An existing file is replaced.
    fmi
        2: FMI 2.0; 3: FMI 3.0, with variables of all numeric types.
    interface
        "cs": co-simulation; "me": model exchange; "both". For "me" and "both", all components must offer model
        exchange; co-simulation then integrates them as with `implementation="me"`.
    expose
        Expose parameters and signals of components that match these patterns of full names, such as "System1.*", as
        variables of the FMU. Connectors of the system are always variables of the FMU. The default for a system
        without connectors is the outputs of its components.
    platforms
        Include linux64, aarch64-linux, win64, darwin64 or aarch64-darwin (default: all platforms that every component
        supports). ssptool compiles libraries for platforms other than this one (extra `export`).

    Raises
    ------
    Unsupported
        The system or the settings use a feature that exported FMUs do not support, or a component lacks a library.
    UnknownName
        A pattern matches no variable of a component.
    UnknownName
        ssptool does not support a platform.
    RuntimeNotBuilt
        The library for another platform cannot be compiled on this machine.

    Examples
    --------
    >>> ssptool.export("systems/dual_mass_oscillator", "oscillator.fmu", expose="System1.m1")
    """
    target = path("fmu", fmu)
    if target.suffix.lower() != ".fmu":
        raise WrongValue(f"the exported file must end in .fmu, found {target.name}")
    version = _version(fmi)
    kind = word("interface", interface, ExportInterface)
    if kind is not ExportInterface.CS:
        options = {**options, "implementation": "me"}
    with ExitStack() as stack:
        try:
            archive, plan, *_ = stack.enter_context(opened_plan(export, system, options))
        except NoStopTime as problem:  # an importer chooses it
            options = {**options, "stop_time": problem.start + ALONE}
            archive, plan, *_ = stack.enter_context(opened_plan(export, system, options))
        plan = plan_to_export(plan)
        plan, sources = with_libraries(plan, archive) if flag("compile", compile) else (plan, archive)
        patterns = texts("expose", expose, "a pattern such as 'System1.*'")
        wanted = texts("platforms", platforms, "a platform such as 'win64'")
        return export_fmu(
            plan, archive, sources, target, expose=patterns, fmi=version, interface=kind, platforms=wanted
        )
