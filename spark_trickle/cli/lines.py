"""What the engine logs while a command runs: its warnings as notices, or all of it as log lines."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spark_trickle.cli.output import Output
    from spark_trickle.config import LogFormat, LogLevel


class _Notices(logging.Handler):
    """Warnings of the engine as notices. Errors are not repeated: they are raised, and shown once."""

    def __init__(self, output: Output) -> None:
        super().__init__(logging.WARNING)
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.ERROR:
            self._output.progress(f"notice: {record.getMessage()}")


def show_notices(output: Output) -> None:
    """Show what the engine has to say beside its results."""
    logger = logging.getLogger("spark_trickle")
    for handler in [handler for handler in logger.handlers if isinstance(handler, _Notices)]:
        logger.removeHandler(handler)
    logger.addHandler(_Notices(output))


class _Lines(logging.Handler):
    """All that the engine logs, as lines on standard error."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        self._output.progress(self.format(record))


@contextmanager
def lines_on(output: Output, format: LogFormat, level: LogLevel) -> Iterator[logging.Logger]:
    """For what goes on for long: log lines, with date and level, in the place of notices."""
    from spark_trickle.logs import written_as

    logger = logging.getLogger("spark_trickle")
    notices = [handler for handler in logger.handlers if isinstance(handler, _Notices)]
    lines = written_as(_Lines(output), format, level)
    logger.addHandler(lines)
    for handler in notices:
        logger.removeHandler(handler)
    try:
        yield logger
    finally:
        logger.removeHandler(lines)
        for handler in notices:
            logger.addHandler(handler)
