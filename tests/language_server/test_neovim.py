"""A real editor, set up as docs/editors.md says: Neovim shows a finding of a broken document and applies its fix."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

NEOVIM = shutil.which("nvim")
pytestmark = pytest.mark.skipif(NEOVIM is None, reason="Neovim is not installed")

PAGE = Path(__file__).parents[2] / "docs" / "editors.md"

# The choice among actions, which a person makes, is made here.
LUA = """
local answer = {}
vim.ui.select = function(items, options, choose)
  answer.offered = vim.tbl_map(options.format_item, items)
  choose(items[1], 1)
end
vim.cmd('edit ' .. vim.fn.fnameescape(FILE))
local function faults()
  return vim.tbl_filter(function(one) return one.severity <= 2 end, vim.diagnostic.get(0))
end
vim.wait(100000, function() return #faults() > 0 end, 20)
for _, fault in ipairs(faults()) do
  answer.code = fault.user_data.lsp.code
  answer.line = fault.lnum + 1
  vim.api.nvim_win_set_cursor(0, { fault.lnum + 1, fault.col })
end
vim.lsp.buf.code_action()
vim.wait(100000, function() return answer.offered ~= nil and #faults() == 0 end, 20)
answer.left = #faults()
vim.cmd('write')
vim.fn.writefile({ vim.fn.json_encode(answer) }, OUT)
vim.cmd('qall!')
"""


def with_the_command(folder: Path) -> dict[str, str]:
    """An environment in which `ssptool` is that of this Python."""
    (folder / "bin").mkdir()
    command = folder / "bin" / "ssptool"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ssptool "$@"\n')
    command.chmod(0o755)
    return {**os.environ, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}


def test_neovim_shows_a_finding_and_applies_its_fix(oscillator: Path, tmp_path: Path):
    structure = oscillator / "SystemStructure.ssd"
    before = structure.read_text()
    broken = before.replace('startElement="System1" startConnector="x1"', 'startElement="Sytsem1" startConnector="x1"')
    structure.write_text(broken)
    given = {"FILE": structure, "OUT": tmp_path / "answer.json"}
    (settings,) = re.findall(r"^```lua\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "init.lua").write_text(settings)
    script = tmp_path / "try.lua"
    script.write_text("".join(f"local {name} = {json.dumps(str(value))}\n" for name, value in given.items()) + LUA)
    assert NEOVIM is not None
    command = [NEOVIM, "--headless", "-u", tmp_path / "init.lua", "-i", "NONE", "-n", "-c", f"luafile {script}"]
    done = subprocess.run(
        command,
        env=with_the_command(tmp_path),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=tmp_path,
        check=False,
    )
    assert (tmp_path / "answer.json").exists(), done.stderr
    answer = json.loads((tmp_path / "answer.json").read_text())
    line = broken[: broken.index("Sytsem1")].count("\n") + 1
    assert (answer["code"], answer["line"], answer["left"]) == ("SSD-CONN-001", line, 0)
    assert any("startElement" in one and "System1" in one for one in answer["offered"])
    assert structure.read_text() == before
