"""Pages with pictures: what they share, whatever is on them."""

import html
from importlib.resources import files

_PLOT_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0 1rem; font-family: system-ui, sans-serif; color: #17202a; background: white; }
h1 { font-size: 1.3rem; }
@media screen and (prefers-color-scheme: dark) { body { color: #e6ebf0; background: #14191f; } }
"""


def dark_style() -> str:
    """The style sheet of diagrams and plots for readers whose screen is dark."""
    return (files("ssptool.drawing") / "dark.css").read_text(encoding="utf-8")


def plot_html(title: str, markup: str) -> str:
    """A page with one plot, whose markup plotly has made."""
    heading = html.escape(title or "Plot")
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{heading}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_PLOT_STYLE}{dark_style()}</style>\n</head>\n"
        f"<body><main><h1>{heading}</h1>\n{markup}</main></body>\n</html>\n"
    )
