"""Text of files, FMUs and packages on its way to terminals, logs, pages, JSON, and continuous integration.

Names, units, descriptions and messages may come from strangers. A terminal obeys control characters, a reader is
misled by bidirectional ones, and a CI service takes some lines of a log for commands. `one_line` shows all of them as
escapes; each other function here does so too and adds what its target needs.
"""

import html
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from shutil import get_terminal_size
from typing import Any, TextIO, cast

_HIDDEN = (
    "\x00-\x1f\x7f-\x9f"  # controls (C0, DEL, C1)
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\u2028\u2029"  # line and paragraph separators
    "\xad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # nothing to see
    "\ud800-\udfff"  # lone surrogates, which no encoding holds
)
_UNSEEN = re.compile(f"[{_HIDDEN}]")
_UNSEEN_IN_LINES = re.compile(f"(?![\n\t]|\r\n)[{_HIDDEN}]")
_STYLE = re.compile("\x1b\\[[0-9;]*m")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_COMMAND = re.compile(r"^([^\S\n]*:):|(##(?:vso|teamcity)?)\[", re.MULTILINE | re.IGNORECASE)
"""A line of GitHub's commands, whatever blanks are before it, and those of other services, wherever they stand."""
_LONGEST = len("##teamcity[")


def one_line(text: str) -> str:
    r"""The text on one line, with characters that are not seen as escapes: `\n`, `\x1b`, `\u202e`."""
    return _UNSEEN.sub(_escape, text) if not text.isprintable() else text


def several_lines(text: str) -> str:
    """The text with its line breaks and tabs, and all other characters that are not seen as escapes."""
    return text if _all_seen(text) else _UNSEEN_IN_LINES.sub(_escape, text)


def _all_seen(text: str) -> bool:
    """Whether a look for characters that are not seen is for nothing, which takes long: Python prints none of them."""
    return text.replace("\n", " ").replace("\t", " ").isprintable()


LONGEST_LINE = 4_000
"""Characters of a line that somebody is to read."""


def readable(text: str) -> str:
    """The text with the middle of lines left out where they are so long that nobody can read them."""
    return "\n".join(map(_shortened, text.split("\n"))) if len(text) > LONGEST_LINE else text


def _shortened(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    kept = LONGEST_LINE // 2
    return f"{line[:kept]} … {len(line) - 2 * kept} characters … {line[-kept:]}"


def joined_lines(lines: Iterable[str]) -> str:
    """Lines as one text; a line break inside one of them is an escape."""
    return "\n".join(map(one_line, lines))


def indented(text: str) -> str:
    """A message of several lines, of which all but the first are indented: none of them passes for another message."""
    first, *others = several_lines(text).split("\n")
    return "\n".join([first, *(line if not line or line.startswith("  ") else f"  {line}" for line in others)])


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if match[0] in _SHORT:
        return _SHORT[match[0]]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def html_text(text: str) -> str:
    """The text between tags and in attributes of HTML."""
    return html.escape(one_line(text))


def json_text(content: object, **options: Any) -> str:
    r"""`strict_json` whose strings have characters that are not seen, and commands of CI services, as `\u` escapes.

    Whoever reads it finds the content unchanged.
    """
    text = strict_json(content, ensure_ascii=False, **options)
    if not _all_seen(text):
        text = _UNSEEN_IN_LINES.sub(_json_escape, text)
    is_harmless = "\n" not in text and "##" not in text  # no JSON begins with a colon
    return text if is_harmless else _COMMAND.sub(_json_command, text)


def strict_json(content: object, **options: Any) -> str:
    """JSON as RFC 8259 has it: numbers that are not finite become the strings "INF", "-INF" and "NaN" of xs:double.

    Options are those of `json.dumps`. All JSON of the package is written here.
    """
    try:
        return json.dumps(content, allow_nan=False, **options)
    except ValueError:  # also for what contains itself, which is refused again below
        if "default" in options:
            options["default"] = _named_numbers_from(options["default"])
        return json.dumps(_with_named_numbers(content), allow_nan=False, **options)


def _named_numbers_from(default: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda content: _with_named_numbers(default(content))


NOT_FINITE = ("INF", "-INF", "NaN")
"""Numbers that JSON does not have, as xs:double spells them; Python reads these texts as numbers."""


def reads_as_number(text: str) -> bool:
    """True if a text is a number of Python, inf and nan included."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def number_name(value: float) -> str:
    """The name of a number that is not finite, as xs:double spells it: INF, -INF or NaN."""
    return "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"


def _with_named_numbers(content: Any) -> Any:
    match content:
        case float() if not math.isfinite(content):
            return number_name(content)
        case Mapping():
            return {_with_named_numbers(name): _with_named_numbers(value) for name, value in content.items()}
        case list() | tuple():
            return list(map(_with_named_numbers, content))
    return content


MOST_LEVELS = 100
"""Most levels of lists and tables within each other, in a file of JSON, TOML or YAML."""
TOO_DEEP = f"it is nested deeper than the limit of {MOST_LEVELS} levels; state it with fewer"


def json_content(text: str | bytes) -> Any:
    """The content of JSON. Raises ValueError, also where it has more than `MOST_LEVELS`."""
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    if too_deep(content):
        raise ValueError(TOO_DEEP)
    return content


def too_deep(content: object) -> bool:
    """Whether lists and dictionaries within each other have more than `MOST_LEVELS`."""
    level = [content] if isinstance(content, dict | list) else []
    for _ in range(MOST_LEVELS):
        inner = [value for one in level for value in (one.values() if isinstance(one, dict) else one)]
        level = [value for value in inner if isinstance(value, dict | list)]
    return bool(level)


def _json_escape(match: re.Match[str]) -> str:
    return strict_json(match[0])[1:-1]


def _json_command(match: re.Match[str]) -> str:
    return f"{match[0][:-1]}\\u{ord(match[0][-1]):04x}"


def annotation(text: str) -> str:
    """The message of a workflow command of GitHub, whose line breaks stay."""
    escaped = several_lines(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A").replace("\t", " ")
    return without_commands("." + escaped)[1:]


def annotation_property(text: str) -> str:
    """A property of a workflow command of GitHub, such as `file` and `title`."""
    return annotation(one_line(text)).replace(":", "%3A").replace(",", "%2C")


def without_commands(text: str) -> str:
    r"""The lines of a text, none of which a CI service takes for a command: `:\x3aerror::`, `##\x5berror]`."""
    return _COMMAND.sub(_neutralized, text)


def _neutralized(match: re.Match[str]) -> str:
    return f"{match[0][:-1]}\\x{ord(match[0][-1]):02x}"


def has_colour(stream: TextIO) -> bool:
    """Whether it is a terminal that knows styles, and nobody has asked for none (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_size(stream: TextIO) -> os.terminal_size:
    """Columns and rows: what COLUMNS and LINES say, else those of the terminal; 80 x 24 where it does not say."""
    # The standard library asks `sys.__stdout__`, which is not a stream any more behind the gate of ours.
    try:
        own = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        own = os.terminal_size((0, 0))
    return get_terminal_size((own.columns or 80, own.lines or 24))


class SafeStream(io.TextIOWrapper):
    """A standard stream that shows control characters as escapes, and neutralizes commands of CI services.

    The last gate for all that the process prints, messages of libraries included; styles (`ESC [ 1 m`) pass.
    """

    _begun = ""
    """Possible beginning of a command in the line so far; never empty in a line that cannot be one of GitHub's."""

    def write(self, text: str) -> int:
        super().write(self._safe(text))
        return len(text)

    def write_direct(self, text: str) -> int:
        """Write what is ours and must arrive unchanged."""
        self._follow(text)
        return super().write(text)

    def _safe(self, text: str) -> str:
        parts, at = [], 0
        for style in _STYLE.finditer(text):
            parts += [several_lines(text[at : style.start()]), style[0]]
            at = style.end()
        shown = "".join([*parts, several_lines(text[at:])])
        begun = self._begun
        self._follow(shown)
        return without_commands(begun + shown)[len(begun) :]

    def _follow(self, text: str) -> None:
        _, line_break, line = text.rpartition("\n")
        line = line if line_break else self._begun + line
        self._begun = line if line.strip() in ("", ":") else "." + line[-_LONGEST:]


class _Direct:
    """Writes past the gate of a stream; anything else is the stream's."""

    def __init__(self, stream: SafeStream) -> None:
        self._stream = stream
        self.write = stream.write_direct

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def safe_stream(stream: TextIO) -> TextIO:
    """The stream behind a gate, if it is one of the operating system's; what a caller has put there stays."""
    if type(stream) is not io.TextIOWrapper:
        return stream
    encoding, errors, immediate = stream.encoding, stream.errors, stream.line_buffering
    through = stream.write_through
    return SafeStream(stream.detach(), encoding, errors, line_buffering=immediate, write_through=through)


def direct(stream: TextIO) -> TextIO:
    """The stream without its gate: for commands that are ours, and for bars that redraw themselves."""
    return cast(TextIO, _Direct(stream)) if isinstance(stream, SafeStream) else stream
