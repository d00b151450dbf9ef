"""`make bench`: runs every measurement and prints one table. Sizes can be given: `python -m bench --rows 5000000`."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import spark_trickle as trickle
from bench import beside, circles, graphs, groups, idle, joins, ticks
from bench.measure import Line, show

PARTS = ["graphs", "ticks", "groups", "joins", "circles", "idle", "beside"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000_000, help="rows of the large base table")
    parser.add_argument("--small-rows", type=int, default=5_000_000, help="rows of the small base table")
    parser.add_argument("--groups", type=int, default=100_000)
    parser.add_argument("--join-rows", type=int, default=50_000_000, help="rows of the fact table of the join")
    parser.add_argument("--edges", type=int, default=200_000, help="rows of the graph of the circle")
    parser.add_argument("--repeat", type=int, default=5, help="measured refreshes of each kind, after one to warm up")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--warehouse", help="keep the data there; the default is a temporary folder")
    options = parser.parse_args()
    wanted = set(options.only or PARTS)
    folder = Path(options.warehouse or tempfile.mkdtemp(prefix="trickle-bench-"))
    lines: list[Line] = graphs.run(options.repeat) if "graphs" in wanted else []
    lines += ticks.run(options.repeat) if "ticks" in wanted else []
    try:
        with trickle.connect(str(folder), spark_driver_memory="6g", allow_circular=True) as engine:
            if "groups" in wanted:
                small = groups.run(engine, options.small_rows, options.groups, options.repeat, targets=False)
                large = groups.run(engine, options.rows, options.groups, options.repeat, targets=True)
                lines += small + large + groups.growth(small, large)
            if "joins" in wanted:
                lines += joins.run(engine, options.join_rows, options.repeat)
            if "circles" in wanted:
                lines += circles.run(engine, options.edges, options.repeat)
            if "idle" in wanted:
                lines += idle.run(engine, folder)
            if "beside" in wanted:
                lines += beside.run(engine, options.repeat)
    finally:
        if options.warehouse is None:
            shutil.rmtree(folder, ignore_errors=True)
    print(show(lines))  # noqa: T201
    return 0 if all(line.met for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
