"""What is staged stays where nobody sees it, whichever thread stages it and whatever that thread did before."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from spark_trickle.engine import Engine
from spark_trickle.events import Event, Step, StepReached
from spark_trickle.names import TableName
from tests.faults import shop
from tests.faults.conftest import Copy, Open


def run_here(engine: Engine) -> None:
    shop.actions(engine)


def run_in_a_new_thread(engine: Engine) -> None:
    thread = threading.Thread(target=shop.actions, args=(engine,))
    thread.start()
    thread.join()


@pytest.mark.parametrize("run", [run_here, run_in_a_new_thread], ids=["here", "in a new thread"])
def test_the_first_refresh_of_an_engine_moves_no_pointer_before_it_publishes(
    copy_of_shop: Copy, open_lake: Open, run: Callable[[Engine], None]
) -> None:
    lake = copy_of_shop("sqlite", traded=True)
    bystander = open_lake(lake)
    heads: list[dict[TableName, object]] = []

    def observe(event: Event) -> None:
        if isinstance(event, StepReached) and event.step in (Step.PINNED, Step.STAGED, Step.ALL_STAGED, Step.PUBLISHED):
            heads.append(dict(bystander._parts.catalog.pointers()))

    engine = open_lake(lake, observe)
    run(engine)
    pinned, *staged, published = heads
    assert len(staged) == len(shop.GROUP) + 1
    assert all(each == pinned for each in staged)
    moved = {name.name for name in published if published[name] != pinned[name]}
    assert set(shop.GROUP) <= moved
    assert moved.isdisjoint({"orders", "products", "debits", "credits", shop.BALANCE})
