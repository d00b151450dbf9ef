"""A scheduler over the toy lake in a process of its own, to be killed. Started as `-m tests.support.toy_scheduler`.

Its refreshes take a while and fail at random, at the moment before anything is written or just before publishing.
"""

from __future__ import annotations

import random
import sys
import time
from datetime import timedelta

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.catalog.rereading import CutReader
from spark_trickle.clock import SystemClock
from spark_trickle.errors import ComputeError
from spark_trickle.events import Event, Step, StepReached
from spark_trickle.names import TableName
from spark_trickle.refresh.run import Refresher
from spark_trickle.scheduler.loop import Pace, Scheduler
from tests.support.scheduling import board_of
from tests.support.toy_lake import ToyLake

LEASE_SECONDS = 0.6


def main(url: str, seed: str) -> None:
    dice = random.Random(seed)

    def sometimes(_name: TableName) -> None:
        time.sleep(dice.random() * 0.01)
        if dice.random() < 0.02:
            raise ComputeError("the dice say so")

    def watch(event: Event) -> None:
        if isinstance(event, StepReached) and event.step in (Step.ALL_STAGED, Step.PUBLISHING):
            # The longer a process is here, the more often it is killed here.
            time.sleep(dice.random() * 0.01)

    catalog = Catalog.open(url, max_consecutive_errors=1_000_000, notify=watch)
    clock = SystemClock()
    refresher = Refresher(catalog, ToyLake(catalog, sometimes), clock, watch, 0.15, 3, workers=2)
    pace = Pace(
        interval=timedelta(milliseconds=10),
        lease_seconds=LEASE_SECONDS,
        workers=2,
        one_cut=True,
        stale_gate=timedelta(),
    )
    scheduler = Scheduler(
        catalog, CutReader(catalog), refresher, make_board=board_of, clock=clock, notify=watch, pace=pace
    )
    scheduler.run()
    scheduler.close()
    catalog.close()


if __name__ == "__main__":
    main(*sys.argv[1:3])
