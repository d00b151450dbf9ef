"""The course of the demo: load, then write, refresh and check at once, measure, verify, sum up.

What is done to the lake is in `demo_workload`, what is counted in `demo_board`, how it looks in `demo_screen`.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from spark_trickle.cli import demo_workload as workload
from spark_trickle.cli.demo_board import Board, summary_of
from spark_trickle.cli.demo_screen import LineScreen, LiveScreen, Screen
from spark_trickle.cli.output import JsonOutput
from spark_trickle.cli.serving import jobs_of, require_packages
from spark_trickle.cli.session import Session
from spark_trickle.clock import SystemClock

if TYPE_CHECKING:
    from spark_trickle.engine import Engine

FULL_RECOMPUTE_AT = (0.35, 0.7)
"""When the yardstick is measured, as shares of the run: by then everything is warm."""


def demonstrate(session: Session, *, seconds: float, rows: int, port: int | None = None) -> bool:
    """The whole demo with its summary, and on the page if there is a port for it; whether all went well."""
    board = Board(workload.NAMES)
    if port is not None:
        require_packages()
    with _somewhere(session):
        with nullcontext() if port is None else _page(session, port) as address:
            engine = session.spark_engine
            with _screen(session, board) as screen:
                run_demo(engine, board, screen, seconds=seconds, rows=rows)
            summary = summary_of(board.view(), workload.NAMES)
            session.output.show(summary)
            for violation in board.view().violations[:3]:
                session.output.progress(f"violation: {violation}")
            if address is None:
                session.output.progress(_how_to_open_the_page())
            else:
                session.output.progress(f"the page is at {address} until Ctrl-C")
                _wait_for_signal()
        session.close()
    return summary.ok


@contextmanager
def _page(session: Session, port: int) -> Iterator[str]:
    from spark_trickle.serve.access import Door
    from spark_trickle.serve.server import serving

    jobs = jobs_of(session)
    with serving(session.engine, jobs, Door("127.0.0.1", port)) as address:
        session.output.progress(f"the page is at {address}")
        yield address


def _how_to_open_the_page() -> str:
    # As it was started, so that it can be copied: `make` starts it from the virtual environment.
    program = sys.argv[0] if Path(sys.argv[0]).name == "trickle" else "trickle"
    return f"to see this on a page: {program} demo --serve; a lake of yours: {program} --warehouse FOLDER serve"


def _wait_for_signal() -> None:
    """Until Ctrl-C or SIGTERM."""
    stop = threading.Event()
    before = {each: signal.signal(each, lambda *_: stop.set()) for each in (signal.SIGINT, signal.SIGTERM)}
    stop.wait()
    for each, former in before.items():
        signal.signal(each, former)


def run_demo(engine: Engine, board: Board, screen: Screen, *, seconds: float, rows: int) -> None:
    """Load, then write, refresh and check for some seconds, then verify."""
    board.phase(f"loading {rows:,} sales")
    screen.say(f"loading {rows:,} sales")
    workload.create_source(engine, rows)
    board.loaded(rows)
    board.phase("creating three stream tables")
    screen.say("creating revenue_by_region, revenue_by_product and exec_summary")
    workload.create_stream_tables(engine)
    stop = threading.Event()
    writer = workload.Writer(engine, board, rows, stop)
    board.phase("warming up")
    screen.say("warming up: one change of each kind, one refresh and one full recompute that are not measured")
    writer.one_of_each()
    engine.refresh_stream_tables(workload.NAMES)
    workload.recompute_everything(engine)
    with ThreadPoolExecutor(2, thread_name_prefix="demo") as pool:
        threads = [pool.submit(writer.run), pool.submit(workload.keep_checking, engine, board, stop)]
        try:
            _refresh_for(engine, board, screen, seconds, threads)
            if not board.view().full_ms:
                # The machine was so busy that the first refresh took the whole time.
                _measure_recompute(engine, board, screen)
        finally:
            stop.set()
    for thread in threads:
        thread.result()
    board.phase("catching up and verifying")
    screen.say("writer stopped: one more refresh, then every table is compared with its query")
    _refresh(engine, board, screen)
    board.checked(workload.check(engine))
    for name in workload.NAMES:
        result = engine.verify(name)
        board.verified(name, result.ok)
        screen.say(f"verified {name}: {'ok' if result.ok else f'WRONG {result.sample}'}")
    board.phase("done")


def _refresh_for(engine: Engine, board: Board, screen: Screen, seconds: float, threads: list[Future[None]]) -> None:
    began = time.monotonic()
    yardsticks = [began + share * seconds for share in FULL_RECOMPUTE_AT]
    while time.monotonic() - began < seconds:
        for thread in threads:
            if thread.done():
                # A writer or reader that ended has failed: its error is the demo's.
                thread.result()
        if yardsticks and time.monotonic() >= yardsticks[0]:
            yardsticks.pop(0)
            _measure_recompute(engine, board, screen)
        board.phase("writing, refreshing, checking")
        _refresh(engine, board, screen)
        time.sleep(0.25)


def _measure_recompute(engine: Engine, board: Board, screen: Screen) -> None:
    board.phase("measuring a full recompute")
    board.recomputed(workload.recompute_everything(engine))
    screen.say(f"for comparison, recomputing everything took {board.view().full_ms[-1]:,.0f} ms")


def _refresh(engine: Engine, board: Board, screen: Screen) -> None:
    began = time.perf_counter()
    outcomes = engine.refresh_stream_tables(workload.NAMES)
    if board.refreshed(outcomes, (time.perf_counter() - began) * 1000):
        screen.refreshed(board.view())


@contextmanager
def _somewhere(session: Session) -> Iterator[None]:
    """The user's warehouse, or a folder that is gone afterwards."""
    if session.warehouse is not None or session.catalog is not None:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="trickle-demo-", ignore_cleanup_errors=True) as folder:
        session.warehouse = folder
        # Said outright, so that a configured catalog is never touched by a demo.
        session.catalog = f"sqlite:///{Path(folder) / 'trickle.db'}"
        yield


def _screen(session: Session, board: Board) -> Screen:
    if isinstance(session.output, JsonOutput):
        return LineScreen(sys.stderr, SystemClock().now)
    if sys.stdout.isatty():
        return LiveScreen(board.view, sys.stdout)
    return LineScreen(sys.stdout, SystemClock().now)
