"""Each promise in SECURITY.md links tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_every_promise_links_its_tests():
    rows = PAGE.split("|---|---|\n")[1].split("\n\n")[0].splitlines()
    for row in rows:
        linked = re.findall(r"\((tests/[^)]*)\)", row)
        assert linked, row
        for name in linked:
            assert "def test_" in (ROOT / name).read_text(encoding="utf-8"), name


def test_every_link_leads_to_a_file():
    for name in re.findall(r"\]\(([^)#]*)\)", PAGE):
        assert (ROOT / name).is_file(), name
