"""Who wants the same at once takes turns; locks that nobody holds are forgotten."""

from __future__ import annotations

import threading

from spark_trickle.spark.session.turns import Turns


def test_a_lock_lasts_as_long_as_somebody_has_it() -> None:
    turns = Turns()
    entered = threading.Event()
    order: list[str] = []

    def second() -> None:
        entered.set()
        with turns.of("k"):
            order.append("second")

    with turns.of("k"):
        thread = threading.Thread(target=second)
        thread.start()
        entered.wait()
        assert not turns.of("other").locked() and turns.of("k").locked()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    for number in range(1000):
        with turns.of(number):
            pass
    assert len(turns) == 0
