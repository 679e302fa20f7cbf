"""Pages about systems with hostile names, in Chromium: they run no code but ours, lead nowhere and show the names."""

import pytest

from tests.cli.browser import browser
from tests.safety.test_foreign_text import add_fmu, call, write_system

pytestmark = [browser, pytest.mark.one_in(3)]

WATCH = """
window.seen = [];
window.pwn = () => window.seen.push("pwn");
document.addEventListener("securitypolicyviolation", e => window.seen.push(`${e.violatedDirective} ${e.blockedURI}`));
"""
NAMES = [
    "<script>pwn()</script>",
    "</script><script>pwn()</script>",
    '"><img src=x onerror=pwn()>',
    "' onload='pwn()' x='",
    "</title></style><svg onload=pwn()>",
    '<a href="javascript:pwn()">a</a>',
    "{{constructor.constructor('pwn()')()}}",
]


@pytest.fixture
def open_page(page):
    """Open a file and return what happened there that should not."""
    page.add_init_script(WATCH)

    def show(path):
        page.goto(path.as_uri())
        page.wait_for_timeout(200)
        return [*page.evaluate("window.seen"), *page.errors]

    return show


@pytest.mark.parametrize("name", NAMES)
def test_pages_run_only_our_code_and_lead_nowhere(tmp_path, open_page, page, name):
    system = write_system(tmp_path / "system", name, name)
    add_fmu(system, name, name)
    result = tmp_path / "r.csv"
    assert call("run", system, "--output", result, "--step-size", 0.5)[0] == 0
    for arguments in (["draw", system], ["plot", result], ["report", system, result]):
        path = tmp_path / f"{arguments[0]}.html"
        assert call(*arguments, "--output", path)[0] == 0
        assert open_page(path) == []
        addresses = page.eval_on_selector_all(
            "[href], [src]", "all => all.map(e => e.href?.baseVal ?? e.href ?? e.src)"
        )
        assert all("#" in address or address.startswith("data:") for address in addresses), addresses
        assert page.locator("img[onerror], svg[onload], [onclick]").count() == 0
        assert name in page.locator("body").text_content()


def test_a_script_that_is_not_ours_would_be_seen(tmp_path, open_page):
    """The policy stops it, and the watch tells."""
    system = write_system(tmp_path / "system", "n", "m")
    call("draw", system, "--output", tmp_path / "d.html")
    text = (tmp_path / "d.html").read_text(encoding="utf-8")
    (tmp_path / "d.html").write_text(text.replace("</body>", "<script>pwn()</script></body>"), encoding="utf-8")
    (seen,) = open_page(tmp_path / "d.html")
    assert seen.startswith("script-src")
