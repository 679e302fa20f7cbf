"""Chromium, in which pages are tried, and a checker of their accessibility."""

import os
import shutil
from typing import Any

import pytest

CHROMIUM = os.environ.get("SSPTOOL_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (SSPTOOL_CHROMIUM names it)")


def violations(page: Any) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    return [violation["id"] for violation in Axe().run(page).response["violations"]]
