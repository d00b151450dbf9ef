"""Put Spark's jars on this machine, so that the first session need not wait for them. Quick when they are there.

With --test also those that only tests need: of the object store that they keep a lake in, of the REST catalog whose
tables they read, and of the Spark that writes Delta tables.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from spark_trickle.spark.session.stores import DELTA, PACKAGES, STORES

CACHES = (".ivy2.5.2", ".ivy2")
"""Where Spark's resolver keeps jars, under the home folder: Spark 4.1 first."""

REST_SERVER = Path.home() / CACHES[0] / "rest-server-1.11.0"
"""Where the jars of Iceberg's REST catalog server are."""


def missing(packages: tuple[str, ...]) -> list[str]:
    """Packages whose jar is in none of the caches."""
    folders = [Path.home() / cache / "jars" for cache in CACHES]
    names = {package: "{}_{}-{}.jar".format(*package.split(":")) for package in packages}
    return [package for package, jar in names.items() if not any((folder / jar).exists() for folder in folders)]


def main(arguments: list[str]) -> int:
    if "--test" in arguments:
        fetch_rest_server()
    packages = (*PACKAGES, *([STORES["s3"].package, DELTA] if "--test" in arguments else []))
    if not missing(packages):
        return 0
    sys.stdout.write("setup: fetching Spark's jars\n")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.jars.packages", ",".join(packages))
    builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR").getOrCreate().stop()
    return 0


def fetch_rest_server() -> None:
    """By Ivy, which Spark has for its own packages: those have no classifiers, and the server is a jar of tests."""
    done = REST_SERVER / "complete"
    if done.exists():
        return
    import pyspark

    sys.stdout.write("setup: fetching the REST catalog server of the tests\n")
    ivy = next((Path(pyspark.__path__[0]) / "jars").glob("ivy-*.jar"))
    wanted = Path(__file__).with_name("rest_server.ivy.xml")
    pattern = f"{REST_SERVER}/[artifact]-[revision](-[classifier]).[ext]"
    command = ["java", "-jar", str(ivy), "-ivy", str(wanted), "-retrieve", pattern]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise SystemExit(f"setup: the REST catalog server could not be fetched:\n{ended.stdout[-2000:]}")
    done.touch()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
