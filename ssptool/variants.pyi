"""Add, list and remove variants of a package, and set the default one."""

from ssptool.api.edit import add_variant as add_variant
from ssptool.api.edit import list_variants as list_variants
from ssptool.api.edit import remove_variant as remove_variant
from ssptool.api.edit import set_default_variant as set_default_variant
