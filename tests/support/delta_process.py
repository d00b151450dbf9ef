"""A Spark of somebody else that writes Delta tables: another process, with Delta's jars, which ours does not have.

Run as a program it carries out one statement for each line of JSON, and answers with its rows in their printed form.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Self

from spark_trickle.spark.session.stores import DELTA

READY = "ready"
_ANSWER = "answer: "


class DeltaProcess:
    """Somebody else, who writes Delta tables in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        command = [sys.executable, "-W", "ignore", "-m", "tests.support.delta_process", str(self._folder)]
        log = (self._folder / "delta.log").open("w")
        with log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        if self._answer() != READY:
            raise RuntimeError((self._folder / "delta.log").read_text()[-3000:])
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def sql(self, *statements: str) -> list[str]:
        """Carry out statements; the rows of the last one, printed."""
        assert self._process is not None
        assert self._process.stdin is not None
        rows: list[str] = []
        for statement in statements:
            self._process.stdin.write(json.dumps(statement) + "\n")
            self._process.stdin.flush()
            told = self._answer()
            if isinstance(told, str):
                raise RuntimeError(f"{statement}: {told}")
            rows = told
        return rows

    def rows(self, query: str) -> Counter[str]:
        """The answer to a query as a multiset."""
        return Counter(self.sql(query))

    def _answer(self) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(_ANSWER):
                return json.loads(line.removeprefix(_ANSWER))
        raise RuntimeError("Delta's process ended:\n" + (self._folder / "delta.log").read_text()[-3000:])


def main(folder: str) -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    settings = {
        "spark.jars.packages": DELTA,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    _tell(READY)
    for line in sys.stdin:
        try:
            _tell([repr(list(row)) for row in spark.sql(json.loads(line)).collect()])
        except (PySparkException, Py4JError) as err:
            _tell(str(err)[:2000])
    spark.stop()


def _tell(what: object) -> None:
    sys.stdout.write(f"\n{_ANSWER}{json.dumps(what)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
