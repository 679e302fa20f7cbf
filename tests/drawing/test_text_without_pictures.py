"""Commands that print text and JSON load no code that draws."""

import subprocess
import sys
from pathlib import Path

import pytest

SYSTEM = Path(__file__).parents[2] / "systems" / "one_dof_oscillator"

CALL = """
import sys
from ssptool.cli.main import main
sys.argv = ["ssptool", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
drawing = (
    *("matplotlib", "plotly", "scipy", "resvg_py"),
    *("ssptool.drawing.diagram.", "ssptool.drawing.plot", "ssptool.drawing.terminal_plot"),
)
print("\\n".join(name for name in sys.modules if name.startswith(drawing)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "command",
    [
        ("info",),
        ("info", "--format", "json"),
        ("explain", "--all"),
        ("explain", "--all", "--format", "json"),
        ("graph", "--format", "text"),
        ("graph", "--format", "json"),
        ("graph", "--format", "dot"),
    ],
    ids=" ".join,
)
def test_no_picture_code_is_loaded(command: tuple[str, ...]):
    call = [sys.executable, "-c", CALL, command[0], str(SYSTEM), *command[1:]]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not done.stderr.split()
