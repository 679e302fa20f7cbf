"""Broken copies of the example system, through the command line: a finding, status 1, no traceback, no results."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rules.test_dual_mass import BREAKS, SYSTEM, replace

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


def test_validate_and_run_refuse_it(broken, ssptool, tmp_path):
    """That no binary is loaded on the way is tested where loading can be watched (test_commands)."""
    code, path = broken
    before = sorted(tmp_path.iterdir())
    for command in ("validate", "run"):
        status, printed, complained = ssptool(command, path)
        assert status == 1 and code in printed + complained
        assert "Traceback" not in complained and "internal error" not in complained
    assert sorted(tmp_path.iterdir()) == before


def test_so_does_the_installed_command(tmp_path):
    (tmp_path / "half.ssp").write_bytes(b"PK")
    command = Path(sys.executable).parent / "ssptool"
    done = subprocess.run([command, "run", "half.ssp"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "PKG-001" in done.stdout + done.stderr and "Traceback" not in done.stderr
