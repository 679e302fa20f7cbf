"""The command does its work whatever of its standard streams is closed, and in whatever alphabet they are."""

import subprocess
import sys

import pytest

import ssptool
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system
from tests.waiting import PATIENCE

RUN = "from ssptool.cli.main import main; main()"
PRINTING = 'fprintf(stderr, "noise\\n"); fflush(stderr); v->y = v->u;'


@pytest.fixture
def system(tmp_path):
    variables = [Var("u", "input", start=2.0), Var("y", "output", needs=["u"])]
    make_fmu(tmp_path / "Loud.fmu", variables, calc=PRINTING)
    return write_system(tmp_path / "naïve…", tmp_path, {"A": "Loud", "B": "Loud"}, [("A.y", "B.u")])


def _shell(line, *arguments, **environment):
    command = ["/bin/sh", "-c", f'exec "$0" -c "{RUN}" "$@" {line}', sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=PATIENCE, env=environment or None, check=False)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="closing descriptors is what shells of POSIX do")
@pytest.mark.parametrize(
    ("closed", "where"),
    [(">&-", ["--in-process"]), ("2>&-", []), ("<&- >&- 2>&-", []), ("<&- >&- 2>&-", ["--in-process"])],
)
def test_closed_streams_stop_no_run_and_nothing_printed_is_in_its_results(system, tmp_path, closed, where):
    output = tmp_path / "run.csv"
    run = _shell(closed, "run", system, "--step-size", 0.25, "-o", output, *where)
    assert run.returncode == 0
    assert "noise" not in output.read_text()
    assert ssptool.read_trace(output)["A.y"].tolist() == [2.0] * 5


@pytest.mark.parametrize("alphabet", ["latin-1", "utf-8"])
def test_what_a_stream_cannot_write_is_escaped(system, alphabet):
    told = _shell("", "info", system, PYTHONIOENCODING=alphabet)
    assert told.returncode == 0, told.stderr
    assert ("\\u2026" if alphabet != "utf-8" else "…") in told.stdout.decode(alphabet)
