"""Run every FMU and every system in a folder, and compare the results with references.

    python cross_check.py FOLDER --output OUT

The files are named as in the cross-check of the FMI project. Beside `NAME.fmu`, `NAME.ssp`, `NAME.ssd` or an unpacked
FMU `NAME/` there may be `NAME_in.csv` (inputs over time), `NAME_ref.csv` (the reference) and `NAME_ref.opt` (lines such
as `StopTime, 3`). A folder `me` or `cs` in the path chooses model exchange or co-simulation. Signals of an FMU are
called as its variables, signals of a system by their full names.

OUT gets a page (index.html), verdicts.json, and for each case a folder with NAME_out.csv and pictures. The exit status
is 1 if a case failed. FMUs run in processes of their own, which have a limit of time.
"""

import argparse
import csv
import json
import math
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import ssptool


class Verdict(StrEnum):
    """`RAN`: without a reference; `REJECTED`: ssptool refuses the FMU or the system, and names the reason."""

    PASSED = "passed"
    FAILED = "failed"
    RAN = "ran"
    REJECTED = "rejected"
    ELSEWHERE = "not for this platform"


@dataclass
class Case:
    """An FMU or a system, and what became of it.

    Attributes
    ----------
    name
        Relative path in the folder of all cases.
    text
        Reason of the verdict.
    comparison
        The comparison with the reference as `ssptool compare` prints it; `signals` has its numbers.
    """

    name: str
    verdict: Verdict = Verdict.FAILED
    text: str = ""
    fmi: str = ""
    interface: str = ""
    seconds: float = 0.0
    comparison: str = ""
    signals: list[dict[str, Any]] = field(default_factory=list)
    picture: str = ""


ENDINGS = (".fmu", ".ssp", ".ssd")


def cases(folder: Path) -> list[Path]:
    """FMUs and systems; those that are parts of an unpacked system or FMU are left out."""
    unpacked = {path.parent for path in folder.rglob("modelDescription.xml")}
    inside = {*unpacked, *(path.parent / "resources" for path in folder.rglob("*.ssd"))}
    packed = [path for ending in ENDINGS for path in folder.rglob(f"*{ending}") if path.is_file()]
    return sorted(path for path in (*packed, *unpacked) if not inside & set(path.parents))


def check(path: Path, name: str, output: Path, limits: argparse.Namespace) -> Case:
    """Run one case and judge it."""
    case, begin = Case(name), time.monotonic()
    try:
        _run(path, case, output / name, limits)
    except ssptool.exceptions.MissingBinary as problem:
        case.verdict, case.text = Verdict.ELSEWHERE, f"{problem.path.name}: {str(problem).partition(': ')[2]}"
    except Exception as problem:  # one case must not stop the others
        own = type(problem).__module__.startswith("ssptool.")
        case.verdict = Verdict.REJECTED if own else Verdict.FAILED
        text = str(problem) if own else f"{type(problem).__name__}: {problem}"
        case.text = text.replace(f"{path.parent}{os.sep}", "")
    case.seconds = round(time.monotonic() - begin, 3)
    return case


def _run(path: Path, case: Case, output: Path, limits: argparse.Namespace) -> None:
    stem = path.stem if path.suffix in ENDINGS else path.name
    beside = {kind: path.with_name(f"{stem}_{kind}") for kind in ("in.csv", "ref.csv", "ref.opt")}
    components = ssptool.flatten(path).components
    case.fmi = ", ".join(sorted({one.description.fmi_version for one in components.values()}))
    # The component that an FMU alone is; an FMU that ssptool exported is a system.
    alone = (path.name if path.is_dir() else path.stem).replace(".", "_")
    prefix = f"{alone}." if [*components] == [alone] and path.suffix not in (".ssp", ".ssd") else ""
    options = {**_options(beside["ref.opt"]), **_interface(case.name), "timeout": limits.timeout, "isolated": True}
    options |= {"sandbox": limits.sandbox, "compile": limits.compile}
    output.mkdir(parents=True, exist_ok=True)
    if beside["in.csv"].exists():
        options["inputs"] = _renamed(beside["in.csv"], output / beside["in.csv"].name, prefix)
    reference = ssptool.read_trace(beside["ref.csv"]) if beside["ref.csv"].exists() else None
    result = _simulated(path, [prefix + name for name in reference.signals] if reference else [], options)
    case.interface = next((one.value for one in result.choices if one.setting == "implementation"), "")
    trace = result.trace
    if len(trace):
        _write(trace, output / f"{stem}_out.csv", prefix)
    if not result.ok:
        case.text = f"{result.status}: {result.failure}"
    elif reference is None:
        case.verdict = Verdict.RAN
    else:
        _judge(case, trace, reference, output / f"{stem}.svg", prefix, limits.relative)


def _options(file: Path) -> dict[str, Any]:
    """Settings from lines such as `StopTime, 3`; a step size of 0 means that it is free."""
    words = {"StartTime": "start_time", "StopTime": "stop_time", "StepSize": "step_size", "RelTol": "tolerance"}
    lines = file.read_text(encoding="utf-8-sig").splitlines() if file.exists() else []
    stated = {key.strip(): value.strip() for key, comma, value in (line.partition(",") for line in lines) if comma}
    try:
        found = {words[key]: float(value) for key, value in stated.items() if key in words}
    except ValueError as problem:
        raise ssptool.exceptions.WrongUsage(f"{file.name}: {problem}") from None
    return {key: value for key, value in found.items() if value or key == "start_time"}


def _interface(name: str) -> dict[str, str]:
    parts = [part for part in Path(name).parts[:-1] if part in ("me", "cs")]
    return {"implementation": parts[-1]} if parts else {}


def _renamed(source: Path, target: Path, prefix: str) -> Path:
    """A copy of a table whose columns, but the first, have a prefix."""
    with source.open(newline="", encoding="utf-8-sig") as file:
        first, *rows = csv.reader(file)
    with target.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[first[0], *(prefix + name for name in first[1:])], *rows])
    return target


def _simulated(path: Path, signals: list[str], options: dict[str, Any]) -> ssptool.Result:
    """A run that records these signals; all, where some of them are none of the system."""
    try:
        return ssptool.simulate(path, record=signals, **options)
    except ssptool.exceptions.WrongUsage:
        if not signals:
            raise
        return ssptool.simulate(path, **options)


def _write(trace: ssptool.types.Trace, file: Path, prefix: str) -> None:
    with file.open("w", newline="", encoding="utf-8") as target:
        columns = [trace.t.tolist(), *(trace[name].tolist() for name in trace.signals)]
        names = ["time", *(name.removeprefix(prefix) for name in trace.signals)]
        csv.writer(target).writerows([names, *zip(*columns, strict=True)])


def _judge(
    case: Case, trace: ssptool.types.Trace, reference: ssptool.types.Trace, picture: Path, prefix: str, relative: float
) -> None:
    tolerance = ssptool.types.Tolerance(relative=relative)
    compared = ssptool.compare(trace, reference, tolerance=tolerance, drop_prefix=prefix)
    case.verdict = Verdict.PASSED if compared else Verdict.FAILED
    case.comparison = ssptool.renderers.TRACE_COMPARISON_RENDERERS["text"](compared)
    facts = json.loads(ssptool.renderers.TRACE_COMPARISON_RENDERERS["json"](compared))
    case.signals = facts["signals"]
    case.text = "; ".join([case.comparison.splitlines()[-1], *facts["remarks"]])
    if differing := [one.signal for one in compared.signals if one.verdict == "differs"]:
        try:
            ssptool.compare(trace, reference, signals=differing, tolerance=tolerance, drop_prefix=prefix, plot=picture)
            case.picture = f"{case.name}/{picture.name}"
        except ImportError as problem:
            case.text += f" (no picture: {problem})"


# -- the page -----------------------------------------------------------------------------------------------------


def page(done: Sequence[Case], facts: dict[str, str], relative: float) -> str:
    """One table; below it the picture of each comparison that failed."""
    counts = Counter(case.verdict for case in done)
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    style = (files("ssptool.results.report") / "report.css").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cross-check: {summary}</title>
<style>{style}{WIDE}</style>
<header><h1>Cross-check</h1>
<p>{summary}</p></header>
<main>
<p>Passed: every signal of the reference is within {relative:g} of its largest magnitude. Ran: there is no reference.
Rejected: ssptool refuses the FMU or the system, with the reason.</p>
<div class="wide" role="region" aria-label="Verdicts" tabindex="0">
<table><caption>Verdicts</caption>
<thead><tr>{"".join(f'<th scope="col">{name}</th>' for name in COLUMNS)}</tr></thead>
<tbody>
{chr(10).join(map(_row, done))}
</tbody></table></div>
{chr(10).join(_pictures(done))}
</main>
<footer>{escape(", ".join(f"{name} {value}" for name, value in facts.items()))}</footer>
</html>
"""


WIDE = """
header, main, footer { max-width: 100rem; }
pre { max-height: none; white-space: pre-wrap; }
td:nth-child(3), td:nth-child(4) { white-space: nowrap; }
"""
COLUMNS = ("case", "FMI", "interface", "verdict", "worst signal: deviation (allowed)", "reason", "time [s]")
MARKS = {Verdict.PASSED: "good", Verdict.FAILED: "bad"}


def _row(case: Case) -> str:
    first, _, rest = case.text.partition("\n")
    more = case.comparison or (case.text if rest else "")
    reason = (
        f"<details><summary>{escape(first)}</summary><pre>{escape(more)}</pre></details>" if more else escape(first)
    )
    verdict = f'<span class="{MARKS.get(case.verdict, "")}">{case.verdict}</span>'
    cells = (escape(case.fmi), escape(case.interface), verdict, escape(worst(case)), reason)
    name = escape(case.name).replace("/", "/<wbr>")
    return (
        f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}'
        f'<td class="number">{case.seconds:.2f}</td></tr>'
    )


def worst(case: Case) -> str:
    """The signal that agrees the least; comparisons begin with it."""
    first = next(iter(case.signals), None)
    if first is None:
        return ""
    if first["half_width"] is None:
        return f"{first['signal']}: {first['verdict']}"
    # What is not finite has the names of xs:double in JSON, which are numbers for Python too.
    deviation, allowed = (math.nan if one is None else float(one) for one in (first["deviation"], first["half_width"]))
    return f"{first['signal']}: {f'{deviation:.2g}' if math.isfinite(deviation) else 'not finite'} ({allowed:.2g})"


def _pictures(done: Sequence[Case]) -> Iterator[str]:
    for case in done:
        if case.picture:
            yield (
                f'<h2>{escape(case.name)}</h2><figure><img src="{quote(case.picture)}" style="max-width: 100%" '
                f'alt="{escape(case.name)}: results and reference, {escape(case.text)}"></figure>'
            )


def positive(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a positive number, found {text}")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Check all cases of a folder; the number of the exit status."""
    parser = argparse.ArgumentParser(description="\n".join((__doc__ or "").splitlines()[:1]))
    parser.add_argument("folder", type=Path, help="FMUs and systems, at any depth")
    parser.add_argument("--output", type=Path, required=True, help="folder for the page and the results")
    parser.add_argument("--relative", type=positive, default=1e-3, help="tolerance, times the largest magnitude")
    parser.add_argument("--timeout", type=positive, default=60.0, metavar="SECONDS", help="wall time of each case")
    boxed = {"nargs": "?", "const": True, "choices": ("best",), "metavar": "best"}
    parser.add_argument("--sandbox", **boxed, help="no network, no files of others (default: SSPTOOL_SANDBOX)")
    parser.add_argument("--compile", action="store_true", help="compile FMUs that bring their sources only")
    given = parser.parse_args(arguments)
    if not given.folder.is_dir():
        parser.error(f"{given.folder}: no such folder")
    done = []
    for path in cases(given.folder):
        done.append(check(path, path.relative_to(given.folder).as_posix(), given.output, given))
        print(f"{done[-1].verdict:<22}{done[-1].name}", flush=True)
    given.output.mkdir(parents=True, exist_ok=True)
    facts = {"ssptool": ssptool.__version__, "Python": platform.python_version(), "on": platform.platform()}
    (given.output / "index.html").write_text(page(done, facts, given.relative), encoding="utf-8")
    content = {**facts, "relative": given.relative, "cases": [asdict(case) for case in done]}
    (given.output / "verdicts.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    print(f"{given.output / 'index.html'}")
    return int(any(case.verdict is Verdict.FAILED for case in done))


if __name__ == "__main__":
    sys.exit(main())
