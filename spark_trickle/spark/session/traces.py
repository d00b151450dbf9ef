"""Where PySpark's own words about errors go, in a Spark that we started."""

from __future__ import annotations

import logging

from spark_trickle.config import mask_url

_LOG = logging.getLogger("spark_trickle.spark")


class _ToOurLog(logging.Handler):
    """What PySpark says of an error before it raises it: kilobytes of JSON with Java's trace, for a misspelt column."""

    def emit(self, record: logging.LogRecord) -> None:
        trace = record.exc_info and record.exc_info[1]
        said = f"{record.getMessage()}\n{trace.__cause__ or trace}" if trace else record.getMessage()
        _LOG.debug("%s", mask_url(said))


def traces_to_our_log() -> None:
    """In a Spark of ours: the error itself tells who asked; the rest is for the log, not for standard error."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logger = PySparkLogger.getLogger(name)
        for handler in [each for each in logger.handlers if type(each) is logging.StreamHandler]:
            logger.removeHandler(handler)
        if not any(isinstance(each, _ToOurLog) for each in logger.handlers):
            logger.addHandler(_ToOurLog())
