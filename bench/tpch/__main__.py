"""`make bench SF=1`: TPC-H. With two scales and a number of changed rows, how the times grow with the tables."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from bench.tpch.queries import NUMBERS
from bench.tpch.report import Run, Target, growth, show, targets
from bench.tpch.run import Settings, numbers, run


def main() -> int:
    parser = _parser()
    options = parser.parse_args()
    if options.again and options.warehouse is None:
        parser.error("--again needs the --warehouse of the earlier run")
    settings = Settings(
        queries=tuple(options.queries),
        fraction=options.changes,
        changed_rows=options.changed_rows,
        cycles=options.cycles,
        full=not options.no_full,
        together=options.together,
        auto=not options.no_auto,
        profile=options.profile,
        driver_memory=options.driver_memory,
        again=options.again,
        verify_last=options.verify_last,
    )
    folder = Path(options.warehouse or tempfile.mkdtemp(prefix="trickle-tpch-"))
    try:
        runs = [run(folder.resolve(), float(scale), settings) for scale in options.scale.split(",")]
    finally:
        if options.warehouse is None:
            shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(each) for each in runs], indent=1), encoding="utf-8")
    found = _print(runs, small_change=options.changes == 0.001 and options.changed_rows is None)
    return 0 if all(target.met for target in found) and not any(each.wrong for each in runs) else 1


def _print(runs: list[Run], *, small_change: bool) -> list[Target]:
    found: list[Target] = []
    for each in runs:
        reached = targets(each, small_change=small_change)
        print("\n".join([show(each), "", *map(str, reached), ""]))  # noqa: T201
        found += reached
    if len(runs) > 1 and runs[0].changed_rows == runs[-1].changed_rows:
        grown = growth(runs[0], runs[-1])
        if grown is not None:
            print(f"{grown[0]}\n{grown[1]}")  # noqa: T201
            found.append(grown[1])
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.tpch", description=__doc__)
    parser.add_argument("--scale", default="1", help="scale factor, or several: 1,10")
    parser.add_argument("--queries", type=numbers, default=NUMBERS, help="for example 1,3,5-7")
    parser.add_argument("--changes", type=float, default=0.001, help="fraction of all rows that a cycle changes")
    parser.add_argument("--changed-rows", type=int, help="as many rows instead, whatever the scale")
    parser.add_argument("--cycles", type=int, default=4, help="refreshes of each; the first warms up")
    parser.add_argument("--no-full", action="store_true", help="leave out recomputing")
    parser.add_argument("--together", type=int, default=2, help="refreshes of all in one call")
    parser.add_argument("--no-auto", action="store_true", help="leave out the refresh that is not strict")
    parser.add_argument("--warehouse", help="keep the data there and use what is there; default: a temporary folder")
    parser.add_argument("--profile", action="store_true", help="print the change's SQL and the jobs of the last cycle")
    parser.add_argument("--again", action="store_true", help="go on with what an earlier run left there")
    parser.add_argument("--verify-last", action="store_true", help="verify after the last cycle only")
    parser.add_argument("--driver-memory", default="6g")
    parser.add_argument("--json", help="write what was measured to this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
