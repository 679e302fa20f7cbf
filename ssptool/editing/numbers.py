"""Numbers as people write them."""

from ssptool.documents.converters import double


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number: `10` for 10.0."""
    return double.write(value).removesuffix(".0")
