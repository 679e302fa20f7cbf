"""Tools that read and run systems, with the arguments and the output of the commands of the same names."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

import ssptool
from ssptool.arguments import unknown_argument
from ssptool.cli.mcp_server.folder import Folder, plain_path
from ssptool.cli.mcp_server.pages import Answer, FailedAnswer
from ssptool.cli.settings_options import PLANNED
from ssptool.engine.method_names import InitName
from ssptool.engine.run.loops import LoopReport
from ssptool.engine.run.summary import result_text
from ssptool.engine.settings import present_names

System = Annotated[
    str,
    Field(
        description="An .ssp, .ssd or .fmu, or an unpacked folder, by its path in the folder. Default: the only one."
    ),
]
Variant = Annotated[str, Field(description="SSD of the package; default: SystemStructure.ssd.")]
Accept = Annotated[Sequence[str], Field(description="Codes of rules whose errors are accepted, such as SSD-CONN-003.")]
StartValues = Annotated[
    Mapping[str, Any],
    Field(description='Parameters and start values by full name, in the variable\'s unit: {"System1.m1": 2}.'),
]
Parameters = Annotated[Sequence[str], Field(description="Parameter sets (.ssv) applied on top; the last wins.")]
Inputs = Annotated[str, Field(description="CSV file that drives inputs: time first, then full names.")]
Scenario = Annotated[str, Field(description="Scenario file: overrides, biases and resets at times.")]
Settings = Annotated[
    Mapping[str, Any],
    Field(description=f"Settings of the run, as `ssptool run` has options: {', '.join(PLANNED)}."),
]
Patterns = Annotated[Sequence[str], Field(description='Full names or patterns, such as "*.x1".')]


NOTHING: Mapping[str, Any] = {}
TIMEOUT, MEMORY = 60.0, 4096.0
"""Limits of a run: wall time [s] and memory [MiB]."""
_PLAIN = "fixed point"
"""The solver without relaxation, as reports name it."""


def loop_gain(loop: LoopReport) -> float | None:
    """The magnitude by which plain iteration multiplies the residual; None where another solver was at work, or none
    had to.
    """
    *_, last_but_one, last = (0.0, 0.0, *loop.solution.history)
    return last / last_but_one if loop.solution.solver == _PLAIN and last_but_one > 0.0 else None


def keywords(
    variant: str,
    settings: Mapping[str, Any],
    start_values: Mapping[str, Any],
    parameters: Sequence[str],
    inputs: str,
    scenario: str,
    accept: Sequence[str],
    known: Sequence[str] = PLANNED,
) -> dict[str, Any]:
    """Keywords of `simulate` and `plan`, with settings of these names. Raises WrongUsage."""
    settings = present_names(settings)
    for name in settings:
        if name not in known:
            raise unknown_argument("settings", name, known)
    return {
        "variant": variant or None,
        "settings": dict(settings),
        "start_values": dict(start_values),
        "parameters": [plain_path(one) for one in parameters],
        "inputs": plain_path(inputs) if inputs else None,
        "scenario": plain_path(scenario) if scenario else None,
        "accept": list(accept),
    }


class Tools:
    """The tools that need nothing but a folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def info(
        self,
        system: System = "",
        component: Annotated[str, Field(description="List the variables of this component, or nested system.")] = "",
        variables: Annotated[Sequence[str], Field(description='List such variables, e.g. "x*" or "*.x1".')] = (),
        variant: Variant = "",
    ) -> Answer:
        """List components, variants and default experiment of a system, or variables of a component or FMU with type,
        unit, start value and range. Without a system: the systems of the folder, and the runs in memory.
        """
        if not system and len(systems := self._folder.systems()) != 1:
            runs = [f"  {name}  {result!r}" for name, result in self._folder.runs.items()]
            listed = [f"  {one}" for one in systems] or ["  none"]
            return "\n".join(["Systems", *listed, *(["", "Runs in memory", *runs] if runs else [])])
        inventory = ssptool.info(
            self._folder.system(system), component=component or None, variables=list(variables), variant=variant or None
        )
        return ssptool.renderers.INVENTORY_RENDERERS["text"](inventory)

    def validate(
        self,
        system: System = "",
        variant: Annotated[str, Field(description="Check this SSD only; default: all of the package.")] = "",
        select: Annotated[
            Sequence[str], Field(description="Apply only these rules: codes, or beginnings of codes.")
        ] = (),
        ignore: Annotated[Sequence[str], Field(description="All rules but these.")] = (),
        all: Annotated[bool, Field(description="List findings with the same text one by one.")] = False,
    ) -> Answer:
        """Check a system, or a document (.ssv, .ssm, .ssb): errors, warnings and infos with file, line, reason and
        remedy: XML, references, types, units, loops, FMUs. Nothing is run. `rule` explains a code.
        """
        report = ssptool.validate(
            self._folder.system(system), variant=variant or None, select=list(select), ignore=list(ignore)
        )
        return ssptool.renderers.PLAIN_REPORT_RENDERERS["full text" if all else "text"](report)

    def rule(self, code: Annotated[str, Field(description="Code of a finding, such as SSD-CONN-003.")]) -> Answer:
        """Explain a rule: its requirement, its reason, and the fix."""
        return ssptool.renderers.rule_page(code)

    def explain(
        self,
        names: Annotated[
            Sequence[str], Field(description="Full names of variables or connectors: System1.m1. Empty: all.")
        ],
        system: System = "",
        variant: Variant = "",
        start_values: StartValues = NOTHING,
        parameters: Parameters = (),
    ) -> Answer:
        """Explain values. For a parameter or start value: its source (binding, prefix, mapping, unit) and the values
        that it overrides, with file and line. For a connector: source and destinations of its signal, with conversions.
        """
        explained = ssptool.explain(
            self._folder.system(system),
            *names,
            variant=variant or None,
            start_values=dict(start_values),
            parameters=[plain_path(one) for one in parameters],
        )
        return ssptool.renderers.EXPLANATION_RENDERERS["text"](explained)

    def graph(self, system: System = "", variant: Variant = "", accept: Accept = ()) -> Answer:
        """Show components with connectors and units, connections with conversions, component cycles, algebraic loops
        with the dependencies that close them, and the evaluation order.
        """
        shown = ssptool.graph(self._folder.system(system), variant=variant or None, accept=list(accept))
        return ssptool.renderers.GRAPH_RENDERERS["text"](shown)

    def plan(
        self,
        system: System = "",
        variant: Variant = "",
        settings: Settings = NOTHING,
        start_values: StartValues = NOTHING,
        parameters: Parameters = (),
        inputs: Inputs = "",
        scenario: Scenario = "",
        accept: Accept = (),
        loop_gains: Annotated[
            bool,
            Field(description="First the gain of each algebraic loop at the start; loads the FMUs as `run` does."),
        ] = False,
    ) -> Answer:
        """Show the choices of a run (master, step size, solvers) with their reasons, and the sequence of calls. No FMU
        is loaded, unless loop_gains asks for it.
        """
        given = keywords(variant, settings, start_values, parameters, inputs, scenario, accept)
        plan = ssptool.plan(self._folder.system(system), **given)
        return "\n".join([*(self._loop_gains(system, plan, given) if loop_gains else ()), str(plan)])

    def _loop_gains(self, system: str, plan: ssptool.types.Plan, given: Mapping[str, Any]) -> Iterator[str]:
        """The gain of each loop, as plain iteration shows it in an initialization of the FMUs."""
        if not plan.loops:
            yield "Algebraic loops at the start: none\n"
            return
        first = min(plan.interval.stop, plan.interval.start + plan.interval.step)
        settings = {**given["settings"], "init": InitName.FIXED_POINT.value, "stop_time": first}
        result = self._simulated(system, {**given, "settings": settings})
        yield "Algebraic loops at the start"
        for loop in result.initialization.loops:
            gain, signals = loop_gain(loop), ", ".join(map(str, loop.signals))
            unknown = "no gain seen: it has its solution at once, or a component refuses it"
            judged = "of 1 or more: the setting init fixed-point fails, newton may not"
            told = unknown if gain is None else f"gain {gain:.3g}{f' ({judged})' if gain >= 1.0 else ''}"
            yield f"  {{{signals}}}  {told}"
        if not result.initialization.loops and result.failure is not None:
            yield f"  not known: {result.failure}"
        yield ""

    def run(
        self,
        system: System = "",
        variant: Variant = "",
        settings: Settings = NOTHING,
        start_values: StartValues = NOTHING,
        parameters: Parameters = (),
        inputs: Inputs = "",
        scenario: Scenario = "",
        accept: Accept = (),
        record: Patterns = (),
        timeout: Annotated[float, Field(description="Wall time after which the run is ended [s].")] = TIMEOUT,
        memory_limit: Annotated[float, Field(description="Memory that the FMUs may take [MiB].")] = MEMORY,
        accuracy: Annotated[
            Literal["", "off", "check"],
            Field(description="Estimate the error by finer runs: off, check; default: if that takes little time."),
        ] = "",
        output: Annotated[
            str,
            Field(
                description="Also write results: NAME.csv, .parquet, .mat, .h5, .mf4 (needs `ssptool mcp --results`)."
            ),
        ] = "",
    ) -> Answer | FailedAnswer:
        """Initialize and simulate a system. Answers with status, choices, loops, and the name of the run (run1, …), by
        which `results` and `compare` read it: results stay in memory. FMUs run in a process of their own, in a sandbox
        unless the server was started without.
        """
        given = keywords(variant, settings, start_values, parameters, inputs, scenario, accept)
        result = self._simulated(
            system,
            given,
            record=list(record),
            output=self._folder.output(output),
            timeout=timeout,
            memory_limit=memory_limit,
            accuracy=accuracy or None,
        )
        text = f"{result_text(result).rstrip()}\nin memory       {self._folder.keep(result)}"
        return text if result.failure is None else FailedAnswer(text)

    def _simulated(
        self,
        system: str,
        given: Mapping[str, Any],
        *,
        timeout: float = TIMEOUT,
        memory_limit: float = MEMORY,
        **more: Any,
    ) -> ssptool.Result:
        """Run a system in a child process, in the sandbox unless the server was started without. Raises WrongUsage."""
        self._folder.require_sandbox()
        return ssptool.simulate(
            self._folder.system(system),
            **given,
            **more,
            isolated=True,
            timeout=timeout,
            memory_limit=memory_limit,
            sandbox=self._folder.sandbox,
            progress=self._folder.tell,
            go_on=self._folder.go_on,
        )
