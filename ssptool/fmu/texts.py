"""Texts as FMI has them: in UTF-8, and in C, where the first zero is the end."""


def is_text(value: object) -> bool:
    """Whether an FMU gets all of this text: it has no zero, and no half of a pair of surrogates."""
    if not isinstance(value, str):
        return False
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False
