"""Settings, studies and scenarios in an editor: their findings, and completion of keys and words.

A settings file is `ssptool.toml`. Another `.toml` is a study, and a `.yaml` or `.yml` a scenario, if it has the
top-level keys of one. All other files are ignored.
"""

import os
import re
from collections.abc import Mapping, Sequence
from enum import EnumType, StrEnum
from pathlib import Path

from lsprotocol import types

from ssptool.api.check import switches_of
from ssptool.documents.diagnostics import BadData, DataFinding, InvalidDocument
from ssptool.documents.outside import out_of_reach
from ssptool.engine.settings import Settings, settings_by_name
from ssptool.engine.stimuli.scenario_file import DEFAULTS_KEYS, EVENT_KEYS, SCENARIO_KEYS, scenario_from
from ssptool.engine.stimuli.time_signals import Action
from ssptool.language_server.findings import SOURCE, settings_finding
from ssptool.language_server.places import Places
from ssptool.language_server.systems import Buffers, open_system
from ssptool.rules.catalogue import RULES, TOOLS
from ssptool.rules.selection import KEYS, OWN_FILE, InvalidSettings, read_settings_text
from ssptool.studies.checking import check_definition, check_names, check_places, names_in
from ssptool.studies.definition import Study
from ssptool.studies.entries import Findings
from ssptool.studies.read_factors import DESIGNS
from ssptool.studies.study_file import KEYS_OF_TABLES, draft_study, read_toml_text


class RunFile(StrEnum):
    """Kinds of files that say what a command does with a system."""

    SETTINGS = "settings"
    STUDY = "study"
    SCENARIO = "scenario"


_STUDY_TABLE = re.compile(r"(?m)^\s*\[\[?\s*(factors|design|results|calibration)\b|^\s*factors\s*=")
_SYSTEM = re.compile(r"(?m)^\s*system\s*=")
_EVENTS = re.compile(r"(?m)^(\"?events\"?\s*:|\s*[{,]\s*\"events\"\s*:)")
ENDINGS = (".toml", ".yaml", ".yml")


def run_file_of(path: Path, text: str) -> RunFile | None:
    """The kind of a file; None for a file of another kind."""
    if path.name == OWN_FILE:
        return RunFile.SETTINGS
    if path.suffix == ".toml" and path.name != "pyproject.toml":
        return RunFile.STUDY if _SYSTEM.search(text) and _STUDY_TABLE.search(text) else None
    return RunFile.SCENARIO if path.suffix in (".yaml", ".yml") and _EVENTS.search(text) else None


def run_file_findings(path: Path, text: str, kind: RunFile, buffers: Buffers) -> tuple[types.Diagnostic, ...]:
    """Findings in the text of a file, at their lines. The names in a study are compared with its system, including the
    unsaved texts of the editor.
    """
    try:
        match kind:
            case RunFile.SETTINGS:
                read_settings_text(path, text)
                return ()
            case RunFile.SCENARIO:
                scenario_from(text, str(path))
                return ()
            case RunFile.STUDY:
                study, findings = draft_study(*read_toml_text(text, str(path)), source=str(path))
                if check_places(study, findings):
                    check_definition(study, findings)
                    _check_with_system(study, findings, buffers)
                found = list(dict.fromkeys(findings.found))
    except InvalidSettings as problem:
        return settings_finding(problem)[problem.path]
    except BadData as problem:
        found = list(problem.findings)
    return tuple(_diagnostic(one, text.splitlines()) for one in found)


def _check_with_system(study: Study, findings: Findings, buffers: Buffers) -> None:
    """Check the names in a study against its system, if the system can be read."""
    if findings.about("system"):
        return
    system = Path(os.path.normpath(study.system))
    if not system.exists():
        findings.add(("system",), f"{study.system} does not exist")
        return
    try:
        with open_system(system, buffers, switches_of(system)) as archive:
            check_names(study, findings, archive)
    except (InvalidDocument, InvalidSettings, OSError):
        return  # reported at the documents of the system


def _diagnostic(finding: DataFinding, lines: list[str]) -> types.Diagnostic:
    number = min(max(finding.line, 1), max(len(lines), 1)) - 1
    line = lines[number] if lines else ""
    start, end = len(line) - len(line.lstrip()), len(line.rstrip())
    place = types.Range(types.Position(number, start), types.Position(number, end))
    message = f"{finding.column}: {finding.message}" if finding.column else finding.message
    return types.Diagnostic(place, message, severity=types.DiagnosticSeverity.Error, source=SOURCE)


_TABLE = re.compile(r"^\s*\[\[?\s*([\w.\"'-]+)")
_KEY = re.compile(r"""^\s*(?:-\s+)?["']?([\w-]+)["']?\s*[=:]""")
_WORD = re.compile(r"[\w-]*$")


def completions_of_run_file(
    path: Path, places: Places, offset: int, kind: RunFile, buffers: Buffers
) -> list[types.CompletionItem]:
    """Completions: keys where none is typed yet, words that a key accepts, or names in the system of a study."""
    before = places.text[:offset]
    line = before.rpartition("\n")[2]
    named = _NAMED.search(line) if kind is RunFile.STUDY else None
    if named is not None and (names := _names_there(path, places.text, _around(before, kind)[0], buffers)):
        place = places.range(offset - len(named[1]), offset)
        return [
            types.CompletionItem(name, kind=types.CompletionItemKind.Variable, text_edit=types.TextEdit(place, name))
            for name in names
        ]
    typed = _WORD.search(line)
    word = typed[0] if typed is not None else ""
    place = places.range(offset - len(word), offset)
    table, key = _around(before, kind)
    found = keys_and_words(kind, table, key)
    return [
        types.CompletionItem(
            name,
            kind=types.CompletionItemKind.EnumMember if key else types.CompletionItemKind.Property,
            documentation=told or None,
            text_edit=types.TextEdit(place, name),
        )
        for name, told in found.items()
    ]


_NAMED = re.compile(r"""(?:"|\(')([^"']*)$""")
"""A name in quotes that is still being typed: `variable = "`, or in an expression `'max("`."""
_SIGNALS = ("results", "traces")
_VARIABLES = ("factors", "start_values")


def _names_there(path: Path, text: str, table: str, buffers: Buffers) -> Sequence[str]:
    """The names of a study's system that fit in a table: signals for results and traces, variables for other tables."""
    stated = _SYSTEM_PATH.search(text)
    if stated is None or table not in (*_SIGNALS, *_VARIABLES):
        return ()
    study, _ = draft_study({"system": stated[1]}, source=str(path))
    system = Path(os.path.normpath(study.system))
    if out_of_reach(system, path.parent):
        return ()
    try:
        with open_system(system, buffers, switches_of(system)) as archive:
            variables, signals = names_in(study, archive)
    except (InvalidDocument, InvalidSettings, OSError):
        return ()
    return signals if table in _SIGNALS else variables


_SYSTEM_PATH = re.compile(r"""(?m)^\s*system\s*=\s*["']([^"'\n]+)["']""")


def hover_of_run_file(places: Places, offset: int, kind: RunFile) -> types.Hover | None:
    """Meaning of a key or a word; for a rule, its page."""
    end = offset + len(re.match(r"[\w-]*", places.text[offset:])[0])  # type: ignore[index]  # it matches always
    start = offset - len(_WORD.search(places.text[:offset])[0])  # type: ignore[index]
    word = places.text[start:end]
    table, key = _around(places.text[:start], kind)
    if word in RULES:
        told = f"**{word}** {RULES[word].title}\n\n{RULES[word].rationale}".strip()
    else:
        told = keys_and_words(kind, table, key).get(word, "")
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, told), places.range(start, end)) if told else None


def _around(before: str, kind: RunFile) -> tuple[str, str]:
    """The table of a position in the text, and the key whose value is there (`""` where a key is expected)."""
    lines = before.split("\n")
    key = _KEY.match(lines[-1])
    name = key[1] if key is not None and key.end() <= len(lines[-1]) else ""
    if kind is RunFile.SCENARIO:
        within = next((found[1] for line in reversed(lines[:-1]) if (found := re.match(r"(\w+)\s*:", line))), "")
        return (within if re.match(r"\s+|-", lines[-1]) else ""), name
    header = next((found[1] for line in reversed(lines) if (found := _TABLE.match(line)) and "=" not in line), "")
    table = header.replace('"', "").replace("'", "").removeprefix("tool.ssptool")
    return table.partition(".")[0], name or _open_list(before)


def _open_list(before: str) -> str:
    """The key of a list that begins on a line above and is not closed; `""` if there is none."""
    starts = [*re.finditer(r"(?m)^\s*([\w-]+)\s*=", before)]
    value = before[starts[-1].end() :] if starts else ""
    return starts[-1][1] if value.count("[") > value.count("]") else ""


_SETTINGS_KEYS: Mapping[str, str] = {
    "select": "Only these rules: codes, or beginnings of codes.",
    "ignore": "All rules but these; of `run`, errors that are accepted.",
    "strict": "Whether warnings count as errors.",
    "for": f"Also check limits of these tools: {', '.join(TOOLS)}.",
    "allow-outside": "Folders in which systems may read files around them.",
    "accuracy": "Check of accuracy of runs and studies that state none: off, auto, check, or an error such as 1e-3.",
    "sandbox": "Sandbox of runs and studies that state none: true, false, or best (as much as the system has).",
}
_STUDY_KEYS: Mapping[str, str] = {
    "name": "Name of the study (default: name of the file).",
    "system": "Path of an .ssp file, a folder or an .ssd file, relative to this file.",
    "variant": "SSD of the package to run.",
    "parameters": "Parameter sets (.ssv) that override those of the system.",
    "inputs": "CSV files that drive inputs.",
    "scenario": "File with overrides, biases and resets at times.",
    "start_values": "Full name → value of a parameter or start value, the same in all runs.",
    "settings": "Settings of each run, as the options of `ssptool run`.",
    "units": "Units that results and factors use.",
    "accept": "Codes of rules whose errors are accepted.",
    "accuracy": "Check of some runs by finer runs: off, auto, check, or the allowed error, such as 1e-3.",
    "factors": "Differences between runs: values, ranges, distributions or expressions.",
    "design": "Combination of the factors to runs.",
    "results": "Expressions that are calculated for each run.",
    "traces": "Signals to keep of each run.",
    "effort": "Limits and retries of runs.",
    "calibration": "Data or targets to which the free factors are fitted.",
}
_KEYS_INSIDE: Mapping[str, str] = {
    "traces.signals": "Full names or patterns of the signals to keep of each run.",
    "traces.output_step": "Time between kept rows [s]; both sides of events are always kept.",
    "traces.every": "Keep every n-th communication point; both sides of events are always kept.",
    "effort.timeout": "Wall time after which a run is ended [s].",
    "effort.retries": "Number of repetitions of a run after a crash of its process.",
    "effort.memory": "Largest memory of a run [MiB].",
    "calibration.data": "CSV file with time [s] and measured signals by full name.",
    "calibration.targets": "Result → the value that it should have.",
    "calibration.minimize": "Result that is to be as small as possible.",
    "calibration.scales": "Signal or result → size of its error; only their ratios matter.",
    "design.kind": "Combination of the factors to runs.",
    "design.runs": "Number of runs; of saltelli that of a sample; of optimize at most.",
    "design.seed": "Seed of the random numbers: the same seed gives the same points.",
    "design.correlations": 'Rank correlations between factors: [["a", "b", 0.7], …].',
    "design.trajectories": "Number of paths on which each factor moves once, some ten to fifty.",
    "design.levels": "Number of classes of equal probability in each factor.",
    "design.file": "CSV file with a column for each factor and a row for each run.",
    "design.files": "Patterns of files: one run for each.",
    "design.rows": "One table for each run: factor → value.",
    "design.minimize": "Results that are to be as small as possible.",
    "design.maximize": "Results that are to be as large as possible.",
    "design.constraints": 'Comparisons of results and factors that must hold: "peak <= 0.3".',
    "design.population": "Runs of a generation.",
    "factors.variable": "Full names of the parameters or start values that the factor sets.",
    "factors.fmu": "The component whose FMU the factor replaces; its values are files.",
    "factors.setting": "The setting of the run that the factor varies.",
    "factors.variant": "true: the values are variants of the system.",
    "factors.parameters": "true: the values are parameter sets (.ssv) on top of all others.",
    "factors.free": "true: a number for expressions only.",
    "factors.unit": "Unit of the values.",
    "factors.nominal": "Value of the nominal point, or at which a calibration starts.",
    "factors.values": "The values, one by one.",
    "factors.low": "Lower end of the range.",
    "factors.high": "Upper end of the range.",
    "factors.mean": "Mean of the normal distribution.",
    "factors.std": "Standard deviation of the normal distribution.",
    "factors.median": "Median of the log-normal distribution.",
    "factors.spread": "Standard deviation of the logarithm.",
    "factors.mode": "Most probable value of the triangular distribution.",
    "factors.count": "Number of values in the range.",
    "factors.scale": '"log": equal ratios between values.',
    "factors.distribution": "uniform, loguniform, normal, lognormal or triangular.",
    "factors.expression": "The value, calculated from other factors.",
    **{
        f"units.{name}": f"Exponent of {name} in the base units."
        for name in ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
    },
    "units.factor": "Factor from the unit to its base units.",
    "units.offset": "Offset from the unit to its base units.",
    "description": "A sentence for readers.",
    "defaults": "What events have that do not state it.",
    "events": "What happens, in order of time.",
    "end": "End of the scenario [s].",
    "time": "Time of the event [s].",
    "model": "Component of the variable.",
    "variable": "Variable of the component, or full name.",
    "action": "override, bias or reset.",
    "value": "The value, of the type of the variable; none of reset.",
}
"""Meaning of a key in a table of a study, by table and key, and of a key of a scenario."""
_DESIGNS: Mapping[str, str] = {
    "grid": "Every combination of the values.",
    "table": "One run for each row of a table.",
    "latin-hypercube": "Random points, of each factor one in each class of equal probability.",
    "sobol": "Evenly spread points of a low-discrepancy sequence.",
    "one-at-a-time": "The nominal point, then each factor alone.",
    "saltelli": "Samples for Sobol' indices: the parts of the variance that factors cause.",
    "morris": "Paths for elementary effects, to find the factors that matter.",
    "optimize": "Points that are chosen by what runs before them gave.",
}
_ACTIONS: Mapping[str, str] = {
    "override": "The variable has this value from then on.",
    "bias": "This value is added to the variable from then on.",
    "reset": "The variable has its own value again.",
}


def keys_and_words(kind: RunFile, table: str, key: str) -> Mapping[str, str]:
    """The words that a key accepts, or without `key` the keys of a table, each with its meaning."""
    return _words(kind, table, key) if key else _keys(kind, table)


def _keys(kind: RunFile, table: str) -> Mapping[str, str]:
    match kind:
        case RunFile.SETTINGS:
            return {key: _SETTINGS_KEYS.get(key, "") for key in KEYS}
        case RunFile.SCENARIO:
            keys = {"": SCENARIO_KEYS, "defaults": DEFAULTS_KEYS, "events": EVENT_KEYS}.get(table, ())
            return {key: _KEYS_INSIDE.get(key, "") for key in keys}
        case RunFile.STUDY if table == "settings":
            return {name: setting.help for name, setting in settings_by_name(Settings).items()}
        case RunFile.STUDY:
            told = {key: f"{table}.{key}" for key in KEYS_OF_TABLES.get(table, ())}
            return {key: _KEYS_INSIDE.get(name, "") if table else _STUDY_KEYS[key] for key, name in told.items()}


def _words(kind: RunFile, table: str, key: str) -> Mapping[str, str]:
    match kind, key:
        case (RunFile.SETTINGS, "select" | "ignore") | (RunFile.STUDY, "accept"):
            return {code: rule.title for code, rule in RULES.items()}
        case RunFile.SETTINGS, "for":
            return dict(TOOLS)
        case RunFile.SETTINGS, "strict":
            return {"true": "", "false": ""}
        case RunFile.SCENARIO, "action":
            return {action: _ACTIONS.get(action, "") for action in Action}
        case RunFile.STUDY, "kind" if table == "design":
            return {kind: _DESIGNS[kind] for kind in DESIGNS}
        case RunFile.STUDY, _ if table == "settings":
            return _choices(key)
        case _:
            return {}


def _choices(key: str) -> Mapping[str, str]:
    """The words of a setting, each with its meaning."""
    setting = settings_by_name(Settings).get(key)
    if setting is None or setting.words is None:
        return {}
    words = setting.words if isinstance(setting.words, EnumType) else setting.words()
    return {str(word): setting.notes.get(str(word), "") for word in words}
