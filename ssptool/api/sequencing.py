"""The calls of a run, in their order."""

from ssptool.engine.call_sequence import call_sequence as call_sequence
