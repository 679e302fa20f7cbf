"""White space of edits: an inserted element is indented like its neighbours, a removed one takes its line."""

from itertools import pairwise
from typing import cast

from lxml import etree

# Element classes may give `text` a meaning of their own (ssd:Note has an attribute of that name).
_TEXT = etree._Element.__dict__["text"]


def text_of(node: etree._Element) -> str | None:
    """The character data before the first child."""
    text: str | None = _TEXT.__get__(node)
    return text


def is_element(node: etree._Element) -> bool:
    """Whether a node is an element: not a comment, nor a processing instruction."""
    return isinstance(cast(object, node.tag), str)


def set_text(node: etree._Element, text: str | None) -> None:
    _TEXT.__set__(node, text)


def insert(parent: etree._Element, index: int, child: etree._Element) -> None:
    """Insert `child`, with everything below it, as number `index` among the children of `parent`."""
    first = len(parent) == 0
    outer = _line_start(parent)
    inner = _before(parent, 0)
    if first:
        inner = outer + _step(parent) if outer else ""
    if not _is_space(_before(parent, index)) or "\n" not in inner:
        parent.insert(index, child)  # Running text, or a document without line breaks: add no white space.
        return
    closing = _before(parent, index) if not first else outer
    parent.insert(index, child)
    last = index == len(parent) - 1
    if last:
        _set_before(parent, index, inner)
    child.tail = closing if last else inner
    _indent(child, inner, _step(parent))


def remove(parent: etree._Element, child: etree._Element) -> None:
    """Remove `child`; what is left looks as if it had never been there."""
    index = parent.index(child)
    before, after = _before(parent, index), child.tail or ""
    parent.remove(child)
    if len(parent) == 0 and _is_space(before + after):
        _set_before(parent, 0, "")
    elif not _is_space(after):
        _set_before(parent, index, before + after if not _is_space(before) else after)
    elif index == len(parent) and _is_space(before):
        _set_before(parent, index, after)


def _is_space(text: str | None) -> bool:
    return not text or text.isspace()


def _before(parent: etree._Element, index: int) -> str:
    """The character data in front of child number `index`, or of the end tag."""
    text = text_of(parent) if index == 0 else parent[index - 1].tail
    return text or ""


def _set_before(parent: etree._Element, index: int, text: str) -> None:
    if index == 0:
        set_text(parent, text or None)
    else:
        parent[index - 1].tail = text or None


def _line_start(node: etree._Element) -> str:
    """The line break and indentation in front of a node; empty if it does not start a line."""
    parent = node.getparent()
    if parent is None:
        return "\n"
    before = _before(parent, parent.index(node))
    return "\n" + before.rpartition("\n")[2] if "\n" in before and before.isspace() else ""


def _step(node: etree._Element) -> str:
    """How much deeper each level is indented, by the example of the nearest levels above; else two spaces."""
    lines = [_line_start(node), *map(_line_start, node.iterancestors())]
    if len(node) and "\n" in (first := _before(node, 0)) and _is_space(first):
        lines.insert(0, "\n" + first.rpartition("\n")[2])
    for inner, outer in pairwise(lines):
        if outer and inner.startswith(outer) and len(inner) > len(outer):
            return inner[len(outer) :]
    return "  "


def _indent(node: etree._Element, line: str, step: str) -> None:
    """Indent everything below a new node, unless it has text of its own."""
    if len(node) == 0 or not all(_is_space(text) for text in (text_of(node), *(below.tail for below in node))):
        return
    set_text(node, line + step)
    for below in node:
        below.tail = line + step
        _indent(below, line + step, step)
    node[-1].tail = line
