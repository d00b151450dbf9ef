"""What is remembered stays within its size, and what was asked for last stays longest."""

from __future__ import annotations

from spark_trickle.storage.newest import Newest


def test_what_was_asked_for_least_recently_goes_first() -> None:
    kept: Newest[str, str] = Newest(2)
    kept.put("a", "1")
    kept.put("b", "2")
    assert kept.get("a") == "1"
    kept.put("c", "3")
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == ("1", None, "3")


def test_sizes_count_and_what_is_put_again_counts_once() -> None:
    kept: Newest[str, str] = Newest(10, len)
    for text in ("four", "six six", "four"):
        kept.put("a", text)
    kept.put("b", "sixsix")
    assert (kept.get("a"), kept.get("b")) == ("four", "sixsix")
    kept.put("c", "x")
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (None, "sixsix", "x")


def test_what_is_too_large_alone_makes_nothing_else_go() -> None:
    kept: Newest[str, str] = Newest(5, len)
    kept.put("a", "one")
    kept.put("b", "much too long")
    assert (kept.get("a"), kept.get("b")) == ("one", None)
    kept.put("a", "much too long")
    assert kept.get("a") is None, "what it was is no longer so"


def test_of_a_family_only_the_newest_are_kept() -> None:
    kept: Newest[tuple[str, int], str] = Newest(100, family=lambda version: version[0], most_of_family=2)
    kept.put(("other", 0), "0")
    for version in range(50):
        kept.put(("t", version), str(version))
        assert kept.get(("t", 0)) == "0", "it is asked for all along"
    assert [key for key, _ in kept.items()] == [("other", 0), ("t", 49), ("t", 0)]
    kept.put(("t", 0), "again")
    assert (kept.get(("t", 49)), kept.get(("t", 0)), len(kept)) == ("49", "again", 3)
