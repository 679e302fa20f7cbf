"""ssptool: validate, understand, initialize and co-simulate systems of FMUs in the SSP format.

The layers, each importing only those to its left:

    documents ← fmu ← network ← rules, drawing, editing ← engine ← results ← studies ← api ← cli

The names below are the public API. They are loaded at first use, so that `import ssptool` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ssptool.version import __version__ as __version__

if TYPE_CHECKING:
    from ssptool.api.acting import BadInputs as BadInputs
    from ssptool.api.acting import BadScenario as BadScenario
    from ssptool.api.acting import Event as Event
    from ssptool.api.acting import Function as Function
    from ssptool.api.acting import Inputs as Inputs
    from ssptool.api.acting import Scenario as Scenario
    from ssptool.api.acting import Table as Table
    from ssptool.api.acting import input_origins as input_origins
    from ssptool.api.calibrating import CalibrationFailed as CalibrationFailed
    from ssptool.api.calibrating import calibrate as calibrate
    from ssptool.api.catalogue import catalogue_page as catalogue_page
    from ssptool.api.catalogue import rule_list as rule_list
    from ssptool.api.catalogue import rule_page as rule_page
    from ssptool.api.comparing import TRACE_COMPARISON_RENDERERS as TRACE_COMPARISON_RENDERERS
    from ssptool.api.comparing import NothingToCompare as NothingToCompare
    from ssptool.api.comparing import Tolerance as Tolerance
    from ssptool.api.comparing import ToleranceFor as ToleranceFor
    from ssptool.api.comparing import compare as compare
    from ssptool.api.drawing import NoSuchSystem as NoSuchSystem
    from ssptool.api.drawing import draw as draw
    from ssptool.api.editing import DIFF_RENDERERS as DIFF_RENDERERS
    from ssptool.api.editing import Editor as Editor
    from ssptool.api.editing import diff as diff
    from ssptool.api.editing import edit as edit
    from ssptool.api.editing import new as new
    from ssptool.api.editing import unified_diff as unified_diff
    from ssptool.api.fixing import fix as fix
    from ssptool.api.migrating import downgrade as downgrade
    from ssptool.api.migrating import upgrade as upgrade
    from ssptool.api.opening import InvalidSystem as InvalidSystem
    from ssptool.api.opening import UnknownArgument as UnknownArgument
    from ssptool.api.opening import WrongArgument as WrongArgument
    from ssptool.api.packing import add_variant as add_variant
    from ssptool.api.packing import convert as convert
    from ssptool.api.packing import list_variants as list_variants
    from ssptool.api.packing import pack as pack
    from ssptool.api.packing import remove_variant as remove_variant
    from ssptool.api.packing import set_default_variant as set_default_variant
    from ssptool.api.packing import unpack as unpack
    from ssptool.api.plotting import check_plot_name as check_plot_name
    from ssptool.api.plotting import plot as plot
    from ssptool.api.reporting import report as report
    from ssptool.api.running import Plan as Plan
    from ssptool.api.running import Result as Result
    from ssptool.api.running import Settings as Settings
    from ssptool.api.running import Trace as Trace
    from ssptool.api.running import plan as plan
    from ssptool.api.running import read_manifest as read_manifest
    from ssptool.api.running import read_trace as read_trace
    from ssptool.api.running import simulate as simulate
    from ssptool.api.saving import BrokenEdit as BrokenEdit
    from ssptool.api.sequencing import call_sequence as call_sequence
    from ssptool.api.stepping import Simulation as Simulation
    from ssptool.api.study_plotting import plot_study as plot_study
    from ssptool.api.study_reporting import report_study as report_study
    from ssptool.api.studying import BadStudy as BadStudy
    from ssptool.api.studying import Interrupted as Interrupted
    from ssptool.api.studying import read_study as read_study
    from ssptool.api.studying import resume_study as resume_study
    from ssptool.api.studying import study as study
    from ssptool.api.studying import study_results as study_results
    from ssptool.api.understanding import EXPLANATION_RENDERERS as EXPLANATION_RENDERERS
    from ssptool.api.understanding import GRAPH_RENDERERS as GRAPH_RENDERERS
    from ssptool.api.understanding import INVENTORY_RENDERERS as INVENTORY_RENDERERS
    from ssptool.api.understanding import explain as explain
    from ssptool.api.understanding import flatten as flatten
    from ssptool.api.understanding import graph as graph
    from ssptool.api.understanding import info as info
    from ssptool.api.validating import PLAIN_REPORT_RENDERERS as PLAIN_REPORT_RENDERERS
    from ssptool.api.validating import REPORT_RENDERERS as REPORT_RENDERERS
    from ssptool.api.validating import InvalidSettings as InvalidSettings
    from ssptool.api.validating import Report as Report
    from ssptool.api.validating import UnknownRule as UnknownRule
    from ssptool.api.validating import UnknownTool as UnknownTool
    from ssptool.api.validating import report_summary as report_summary
    from ssptool.api.validating import validate as validate

# Which module of `ssptool.api` has it: each loads no more than its own functions need.
_MODULES = {
    "acting": ("BadInputs", "BadScenario", "Event", "Function", "Inputs", "Scenario", "Table", "input_origins"),
    "calibrating": ("CalibrationFailed", "calibrate"),
    "catalogue": ("catalogue_page", "rule_list", "rule_page"),
    "comparing": ("NothingToCompare", "TRACE_COMPARISON_RENDERERS", "Tolerance", "ToleranceFor", "compare"),
    "drawing": ("NoSuchSystem", "draw"),
    "editing": ("DIFF_RENDERERS", "Editor", "diff", "edit", "new", "unified_diff"),
    "fixing": ("fix",),
    "migrating": ("downgrade", "upgrade"),
    "opening": ("InvalidSystem", "UnknownArgument", "WrongArgument"),
    "packing": ("add_variant", "convert", "list_variants", "pack", "remove_variant", "set_default_variant", "unpack"),
    "plotting": ("check_plot_name", "plot"),
    "reporting": ("report",),
    "running": (
        "Plan",
        "Result",
        "Settings",
        "Trace",
        "plan",
        "read_manifest",
        "read_trace",
        "simulate",
    ),
    "saving": ("BrokenEdit",),
    "sequencing": ("call_sequence",),
    "stepping": ("Simulation",),
    "study_plotting": ("plot_study",),
    "study_reporting": ("report_study",),
    "studying": ("BadStudy", "Interrupted", "read_study", "resume_study", "study", "study_results"),
    "understanding": (
        "EXPLANATION_RENDERERS",
        "GRAPH_RENDERERS",
        "INVENTORY_RENDERERS",
        "explain",
        "flatten",
        "graph",
        "info",
    ),
    "validating": (
        "InvalidSettings",
        "PLAIN_REPORT_RENDERERS",
        "REPORT_RENDERERS",
        "Report",
        "UnknownRule",
        "UnknownTool",
        "report_summary",
        "validate",
    ),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"ssptool.api.{_HOME[name]}"), name)
    raise AttributeError(f"module 'ssptool' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))
