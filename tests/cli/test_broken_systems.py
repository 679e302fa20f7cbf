"""Broken copies of the example system, through the command line: a finding, status 1, no traceback, no results."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rules.test_dual_mass import BREAKS, SYSTEM, replace

COMMAND = Path(sys.executable).parent / "ssptool"


def call(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False)


REFUSED = [name for name in BREAKS if name != "unknown parameter"]  # which is a warning


@pytest.fixture(params=[*REFUSED, "truncated zip"])
def broken(request, tmp_path) -> tuple[str, Path]:
    """The code that has to be told, and the path of the broken system."""
    if request.param == "truncated zip":
        package = Path(shutil.make_archive(str(tmp_path / "package"), "zip", SYSTEM)).rename(tmp_path / "package.ssp")
        package.write_bytes(package.read_bytes()[: package.stat().st_size // 2])
        return "PKG-001", package
    copy = Path(shutil.copytree(SYSTEM, tmp_path / "copy"))
    change = BREAKS[request.param]
    replace(copy / change.file, change.old, change.new)
    return change.code, copy


def test_validate_and_run_refuse_it(broken, tmp_path):
    """That no binary is loaded on the way is tested where loading can be watched (test_commands)."""
    code, path = broken
    results = tmp_path / "results"
    results.mkdir()
    for command in ("validate", "run"):
        done = call(command, path, folder=results)
        assert done.returncode == 1, done.stderr
        assert code in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert "internal error" not in done.stderr
    assert list(results.iterdir()) == []
