"""Write the drawing of the layers into docs/architecture.md, from the imports of the source: `make docs`."""

import ast
import re
from collections import Counter
from pathlib import Path

import networkx

from ssptool.errors import counted

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "ssptool"


def room(path: Path) -> str:
    """The layer of a file; inside the engine its sub-package, or the values that all of them share."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if parts[0] != "engine":
        return parts[0]
    return f"engine/{parts[1] if len(parts) > 2 or parts[1] == 'simulate' else 'values'}"


def imports(path: Path) -> set[str]:
    """Rooms that a file imports from, for types too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ssptool."):
            target = PACKAGE.joinpath(*node.module.split(".")[1:])
            found.add(room(target / "__init__.py" if target.is_dir() else target.with_suffix(".py")))
    return found - {room(path)}


def drawing() -> str:
    """A Mermaid flow chart: an arrow leads from what is imported to what imports it; implied arrows are left out."""
    files = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE and path.name != "__init__.py"]
    modules = Counter(room(path) for path in files)
    graph = networkx.DiGraph((used, room(path)) for path in files for used in imports(path) if used in modules)
    reduced = networkx.transitive_reduction(graph)
    number = {name: f"n{place}" for place, name in enumerate(networkx.lexicographical_topological_sort(graph))}
    sizes = {name: counted(count, "file") for name, count in modules.items()}
    boxes = [f'  {box}["{name}<br/>{sizes[name]}"]' for name, box in number.items()]
    arrows = sorted(f"  {number[used]} --> {number[user]}" for used, user in reduced.edges)
    return "\n".join(["```mermaid", "flowchart LR", *boxes, *arrows, "```"])


if __name__ == "__main__":
    page = DOCS / "architecture.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r"```mermaid.*?```", lambda _: drawing(), text, flags=re.S), encoding="utf-8")
