"""The site of the documentation: built without a warning, readable offline, accessible, and with the whole program."""

import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from lxml import html

import ssptool
from ssptool.cli.app import SUMMARIES
from ssptool.public_names import PARTS
from tests.cli.browser import CHROMIUM, browser, violations

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of its pages. Links that lead nowhere, and pages that are not found, end the build."""
    folder = tmp_path_factory.mktemp("site")
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "SITE_PAGES": str(tmp_path_factory.mktemp("pages"))}
    subprocess.run([sys.executable, ROOT / "docs/site/pages.py"], check=True, env=quiet)
    build = ("build", "--quiet", "--strict", "--config-file", ROOT / "docs/site/mkdocs.yml", "--site-dir", folder)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", *build], capture_output=True, text=True, env=quiet, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@browser
def test_the_site_has_the_whole_program_and_works_without_a_network(site):
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert [name for name in SUMMARIES if f'id="ssptool-{name}"' not in commands] == []
    public = [*ssptool.__all__, *(name for part in PARTS for name in getattr(ssptool, part).__all__)]
    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert [name for name in public if f'.{name}"' not in python and f'id="{name.lower()}"' not in python] == []
    from playwright.sync_api import sync_playwright

    with sync_playwright() as engines:
        chromium = engines.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        foreign: list[str] = []
        for scheme in ("light", "dark"):
            page = chromium.new_page(viewport={"width": 1280, "height": 720}, color_scheme=scheme)
            page.on("request", lambda request: request.url.startswith("http") and foreign.append(request.url))
            for name in (
                "index.html",
                "docs/accuracy.html",
                "docs/notebooks/sensitivity.html",
                "reference/commands.html",
            ):
                page.goto((site / name).as_uri())
                assert violations(page) == []
        page.get_by_placeholder("Search").first.press_sequentially(
            "IQN-ILS"
        )  # the theme listens to keys, not to values
        found = page.locator(".md-search-result__item a")
        found.first.wait_for()
        assert any("concepts" in link for link in found.evaluate_all("links => links.map(link => link.href)"))
        assert foreign == []
        chromium.close()


def test_the_python_reference_begins_with_simulate_and_states_types_and_defaults(site):
    """Options that functions have in common have their own rows; only what has no default is required."""
    page = html.parse(site / "reference" / "python.html")
    names = page.xpath("//h3[starts-with(@id, 'ssptool.')]/@id")
    assert names[0].endswith(".simulate") and "__post_init__" not in page.getroot().text_content()
    for function in (ssptool.simulate, ssptool.validate, ssptool.sweep, ssptool.export):
        (heading,) = page.xpath(f"//h3[@id='{function.__module__}.{function.__name__}']")
        (table,) = heading.getparent().xpath("(.//table[.//th[.='Default']])[1]")
        rows = {row.xpath("string(td[1])").strip(): row for row in table.xpath(".//tbody/tr")}
        for name, parameter in inspect.signature(function).parameters.items():
            if name in rows and parameter.kind is not parameter.VAR_KEYWORD:
                cells = [cell.text_content().strip() for cell in rows[name].xpath("td")]
                assert cells[1], (function.__name__, name)
                assert (cells[-1] == "required") == (parameter.default is parameter.empty), (function.__name__, name)
    simulate = page.xpath("string(//h3[contains(@id, '.simulate')]/..)")
    assert all(help.partition(" (")[0] in " ".join(simulate.split()) for help in ("Use macro steps of this size (",))


def test_each_column_has_a_header_and_each_picture_a_description(site):
    """The rules that pages break most often, on all of them: a visit of each in the browser takes minutes."""
    flaws = {}
    for path in site.rglob("*.html"):
        page = html.parse(path)
        nameless = page.xpath("count(//th[not(normalize-space())])") + page.xpath("count(//img[not(@alt)])")
        if nameless:
            flaws[path.relative_to(site).as_posix()] = nameless
    assert flaws == {}


def test_bars_in_tables_have_no_backslash(site):
    """As on GitHub, where a bar in the code of a table needs one in the source."""
    shown = {
        path.relative_to(site).as_posix(): [code.text_content() for code in html.parse(path).xpath("//td//code")]
        for path in site.rglob("*.html")
    }
    assert any("jacobi|gauss-seidel" in code for code in shown["docs/running.html"])
    assert {page for page, codes in shown.items() for code in codes if "\\|" in code} == set()


def test_a_notebook_becomes_a_page_with_its_outputs(tmp_path, monkeypatch):
    """Text, a table and a picture, in this order."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "site")
    pages = importlib.import_module("pages")
    code = [
        "print(6 * 7)",
        "import pandas; pandas.DataFrame({'a': [1]})",
        "from IPython.display import SVG; SVG('<svg/>')",
    ]
    cells = [nbformat.v4.new_markdown_cell("# Title"), *map(nbformat.v4.new_code_cell, code)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "small.ipynb")
    pages.write_notebook(tmp_path / "small.ipynb", tmp_path / "page" / "small.md", execute=True)
    text = (tmp_path / "page" / "small.md").read_text()
    assert text.startswith("# Title\n\n[This page as a notebook](small.ipynb)\n\n```python\nprint(6 * 7)\n```")
    places = [text.index(part) for part in ("```text\n42\n```", '<div class="output">', "(small-3-0.svg)")]
    assert places == sorted(places) and "<table" in text
    assert (tmp_path / "page" / "small-3-0.svg").read_text() == "<svg/>"
    assert (tmp_path / "page" / "small.ipynb").exists()
