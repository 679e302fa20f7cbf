"""Evidence of this machine: outcomes of tests, claims about the example systems, and what was tested."""

import hashlib
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import ssptool
from tests.qualification.trace import ROOT
from tests.systems.claims.__main__ import judged
from tests.systems.claims.catalogue import claims_of, systems


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a test came to: "passed", "failed" or "skipped"; `told` is the reason of the others."""

    test: str
    outcome: str
    seconds: float
    told: str = ""


@dataclass(frozen=True, slots=True)
class TestRun:
    """Outcomes of a run of pytest. `ended` is its exit status: 0, or 1 where tests failed; nothing else is one."""

    __test__ = False

    ended: int
    outcomes: tuple[Outcome, ...]


def run_tests(paths: Sequence[str], folder: Path, *, processes: str = "logical", slow: bool = False) -> TestRun:
    """Run tests in a process of its own; its log and results stay in a folder."""
    results = folder / "tests.xml"
    results.unlink(missing_ok=True)
    parallel = ["-n", processes, "--dist", "worksteal"] if processes != "0" else []
    words = ["-q", "-p", "no:cacheprovider", *parallel, *([] if slow else ["-m", "not slow"]), f"--junitxml={results}"]
    with (folder / "tests.log").open("w", encoding="utf-8") as log:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words, *paths],
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return TestRun(done.returncode, tuple(read_outcomes(results)) if results.is_file() else ())


def read_outcomes(results: Path) -> Iterator[Outcome]:
    """Outcomes in a file of JUnit results, by node id."""
    for case in ElementTree.parse(results).iter("testcase"):
        bad = next((one for one in case if one.tag in ("failure", "error")), None)
        skipped = case.find("skipped")
        outcome = "failed" if bad is not None else "skipped" if skipped is not None else "passed"
        told = bad if bad is not None else skipped
        yield Outcome(
            _node_id(case.get("classname", ""), case.get("name", "")),
            outcome,
            float(case.get("time", "0")),
            "" if told is None else " ".join((told.get("message") or "").split())[:300],
        )


def _node_id(module: str, name: str) -> str:
    """`tests.rules.test_fixes` and a name as pytest writes them, classes included; of other things, all it says."""
    parts = module.split(".") if module else []
    for length in range(len(parts), 0, -1):
        file = Path(*parts[:length]).with_suffix(".py")
        if (ROOT / file).is_file():
            return "::".join([file.as_posix(), *parts[length:], name])
    return "::".join(filter(None, [module, name]))


def collected(paths: Sequence[str]) -> tuple[str, ...]:
    """Node ids of tests, without running them."""
    words = ["-q", "-p", "no:cacheprovider", "--collect-only", "-m", "not slow", *paths]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return tuple(line for line in done.stdout.splitlines() if "::" in line)


def judged_claims() -> Iterator[dict[str, Any]]:
    """Claims about all example systems, judged."""
    for system in systems():
        for claim in claims_of(system):
            verdict = judged(claim)
            yield {
                "system": system,
                "claim": claim.name,
                "expected": claim.expected,
                "unit": claim.unit,
                "tolerance": claim.tolerance.text,
                "found": verdict.found if verdict.found == verdict.found else None,
                "digits": claim.digits,
                "holds": verdict.holds,
                "source": claim.source,
            }


def environment() -> dict[str, Any]:
    """Versions, platform, hashes of all files of the package, and what `ssptool doctor` tells."""
    files = dict(sorted(_hashes()))
    together = hashlib.sha256("".join(f"{name} {value}\n" for name, value in files.items()).encode()).hexdigest()
    packages = {one.metadata["Name"]: one.version for one in distributions()}
    return {
        "ssptool": ssptool.__version__,
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted": _git("status", "--porcelain").splitlines(),
        "python": sys.version,
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processor": platform.processor(),
        "packages": dict(sorted(packages.items(), key=lambda one: one[0].lower())),
        "doctor": [asdict(part) for part in ssptool.doctor().parts],
        "files": files,
        "files_sha256": together,
    }


def _hashes() -> Iterator[tuple[str, str]]:
    """(name, hash) of each file of the installed package, native libraries included."""
    for folder in map(Path, ssptool.__path__):
        for path in folder.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                name = f"ssptool/{path.relative_to(folder).as_posix()}"
                yield name, hashlib.sha256(path.read_bytes()).hexdigest()


def _git(*words: str) -> str:
    """What git says of the source; nothing where there is no git."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.rstrip() if done.returncode == 0 else ""
