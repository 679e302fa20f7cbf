"""Changes that make one text of another, as editors are told of them."""

from hypothesis import given
from hypothesis import strategies as st

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
