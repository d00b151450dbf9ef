"""Put Spark's jars on this machine, so that the first session need not wait for them. Quick when they are there.

With --test also those that only tests need: of the object store that they keep a lake in.
"""

from __future__ import annotations

import sys
from pathlib import Path

from spark_trickle.spark.stores import PACKAGES, STORES

CACHES = (".ivy2.5.2", ".ivy2")
"""Where Spark's resolver keeps jars, under the home folder: Spark 4.1 first."""


def missing(packages: tuple[str, ...]) -> list[str]:
    """Packages whose jar is in none of the caches."""
    folders = [Path.home() / cache / "jars" for cache in CACHES]
    names = {package: "{}_{}-{}.jar".format(*package.split(":")) for package in packages}
    return [package for package, jar in names.items() if not any((folder / jar).exists() for folder in folders)]


def main(arguments: list[str]) -> int:
    packages = (*PACKAGES, *([STORES["s3"].package] if "--test" in arguments else []))
    if not missing(packages):
        return 0
    sys.stdout.write("setup: fetching Spark's jars\n")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.jars.packages", ",".join(packages))
    builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR").getOrCreate().stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
