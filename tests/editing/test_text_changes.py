"""Changes that make one text of another, as editors are told of them."""

from hypothesis import given
from hypothesis import strategies as st

from ssptool.editing import changes
from ssptool.editing.changes import text_changes

lines = st.sampled_from(["", "a", "ab", "abb", "abba", "bbbbbbbb", "bbbbbbbbbbb"])
texts = st.lists(lines, max_size=8).map("\n".join)


@given(texts, texts)
def test_they_make_the_text_in_order_and_touch_nothing_that_stays(before, after):
    made, place = [], 0
    for change in text_changes(before, after):
        old = before[change.start : change.end]
        assert place <= change.start <= change.end <= len(before)
        assert old[:1] != change.text[:1] and old[-1:] != change.text[-1:]
        made += [before[place : change.start], change.text]
        place = change.end
    assert "".join([*made, before[place:]]) == after


def test_lines_that_occur_once_divide_a_text_and_equal_ones_between_them_stay(monkeypatch):
    """Without comparing each line with each: most lines of a large system are equal to many others."""
    monkeypatch.setattr(changes, "_MOST_COMPARED", 0)
    same = ["  <in/>", "  <out/>"] * 30
    before = "\n".join(line for name in "abcdef" for line in (f"<{name}>", *same, f"</{name}>"))
    after = before.replace("<b>\n", "<B>\n").replace("<e>\n  <in/>\n", "<e>\n  <new/>\n  <in/>\n").replace("</d>\n", "")
    found = text_changes(before, after)
    assert [before[one.start : one.end] for one in found] == ["b", "</d>\n", ""]
    assert [one.text for one in found] == ["B", "", "  <new/>\n"]


def test_a_block_that_was_moved_does_not_make_all_lines_between_new():
    lines = [f"<{number}>" for number in range(40)]
    moved = lines[5:30] + lines[:5] + lines[30:]
    found = text_changes("\n".join(lines), "\n".join(moved))
    assert sum(len(one.text) + one.end - one.start for one in found) == 2 * len("\n".join(lines[:5]) + "\n")
