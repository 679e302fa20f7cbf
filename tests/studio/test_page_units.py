"""Parts of the page that touch no page: keys, ways of lines, the grid. Node runs their tests (`*.test.js`)."""

import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "ssptool" / "studio" / "page"
TESTS = sorted(Path(__file__).with_name("page").glob("*.test.js"))
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("test", TESTS, ids=lambda path: path.name.removesuffix(".test.js"))
def test_parts_of_the_page(test: Path, tmp_path: Path):
    for script in (*PAGE.glob("*.js"), test):
        shutil.copy(script, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    assert NODE is not None
    done = subprocess.run([NODE, "--test", test.name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "# pass 0" not in done.stdout
