"""Write the table of docs/accuracy.md: true errors beside stated ones, and those of other programs."""

import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

import ssptool
from tests.accuracy.measured import carried_out, silence, true_error, written
from tests.accuracy.systems import SYSTEMS, Floats, Switches, System

WANTED = 1e-4
SECONDS = 20
"""Limit of a search, and of a run of another program [s]."""

BEGIN, END = "<!-- table: make verify -->", "<!-- end of the table -->"
HEAD = (
    f"| system | step | true error | stated | warning | true error with `--accuracy {WANTED:g}` | work | FMPy "
    "| libcosim | ecos |\n"
    "|---|---|---|---|---|---|---|---|---|---|\n"
)


def main(page: Path) -> int:
    rows, silent = [], []
    for name, system in SYSTEMS.items():
        with tempfile.TemporaryDirectory() as folder:
            row, wrong = _row(name, system, Path(folder))
        rows.append(row)
        silent += [f"{name}: {wrong}"] if wrong else []
        print(row, flush=True)
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    table = HEAD + "".join(f"{row}\n" for row in rows)
    page.write_text(f"{before}{BEGIN}\n{table}{END}{after}", encoding="utf-8")
    print("\n".join(silent) or f"{len(rows)} systems, none silently wrong")
    return int(bool(silent))


def _row(name: str, system: System, folder: Path) -> tuple[str, str]:
    """A row of the table, and why the default run is silently wrong."""
    path = written(system, folder)
    result = carried_out(system, path, accuracy="auto")
    made = ssptool.plan(path, settings=ssptool.Settings(**system.settings))
    step = 0.0 if made.is_one_ode or "adaptive" in system.settings else made.interval.step
    own = ["fails, exit 1", "", ""]
    if result.ok:
        stated = result.accuracy.error
        codes = ", ".join(one.code for one in result.warnings)
        own = [_size(true_error(system, result)[0]), "not seen" if stated is None else _size(stated), codes]
    own.insert(0, f"{step:.4g} s{_smaller(result)}" if step else "chosen")
    wanted = carried_out(system, path, accuracy=WANTED, timeout=SECONDS)
    asked = ["exit 1", ""]
    if wanted.ok and wanted.accuracy.met:
        times = _work(wanted) / max(_work(result), 1)
        asked = [_size(true_error(system, wanted)[0]), f"{float(f'{times:.2g}'):g} ×"]
    ssptool.pack(path, folder / "packed.ssp")
    others = [_by(peer, system, folder / "packed.ssp", step) for peer in PEERS.values()]
    return f"| {' | '.join([name, *own, *asked, *others])} |", silence(system, result)


def _smaller(result: ssptool.Result) -> str:
    """The steps that the run took in place of its default ones, if it did."""
    if not result.accuracy.default:
        return ""
    found = result.settings
    return " → adaptive" if found.adaptive is not None else f" → {found.step_size:.4g} s"


def _work(result: ssptool.Result) -> int:
    """Evaluations of an integrator, or macro steps."""
    return result.statistics.evaluations or result.statistics.steps


def _size(error: float) -> str:
    return "0" if error < 1e-12 else f"{error:.1e}".replace("e-0", "e-").replace("e+0", "e")


# -- other programs, each in a process of its own --------------------------------------------------------------------


def _by(peer: Callable, system: System, package: Path, step: float) -> str:
    if not step:
        return ""
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(theirs, peer, system, package, step))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(SECONDS) else "does not end"
    except EOFError:
        return "crashes"
    finally:
        process.kill()
        process.join()


def _send(connection: Connection, peer: Callable, system: System, package: Path, step: float) -> None:
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    signals = [
        name for name, exact in system.exact(np.array([0.0, system.stop])).items() if not isinstance(exact, Switches)
    ]
    try:
        t, values = peer(package, step, signals, round(system.stop / step))
        exact = system.exact(t)
        errors = [np.max(np.abs(values[name] - exact[name])) / np.ptp(exact[name]) for name in signals]
        connection.send(_size(float(max(errors))) if np.isfinite(errors).all() else "not finite")
    except Exception as error:  # of a program of others
        connection.send("fails")
        print(f"{peer.__name__}: {error}", file=sys.stderr)


def fmpy(package: Path, step: float, signals: list[str], steps: int) -> tuple[Floats, Mapping[str, Floats]]:
    from fmpy.ssp.simulation import simulate_ssp

    found = simulate_ssp(str(package), stop_time=steps * step, step_size=step)
    return found["time"], {name: found[name] for name in signals}


def libcosim(package: Path, step: float, signals: list[str], steps: int) -> tuple[Floats, Mapping[str, Floats]]:
    from tests.systems.peers import in_libcosim

    found = in_libcosim(package, step, signals, steps)
    return step * np.arange(1, steps + 1), {name: values[1:] for name, values in found.items()}


def ecos(package: Path, step: float, signals: list[str], steps: int) -> tuple[Floats, Mapping[str, Floats]]:
    from tests.systems.peers import in_ecos

    return step * np.arange(steps + 1), in_ecos(package, step, signals, steps)


PEERS: Mapping[str, Callable] = {"FMPy": fmpy, "libcosim": libcosim, "ecos": ecos}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
