"""Which other catalogs there are, from Spark's settings: `spark.sql.catalog.<name>` and what begins with that.

Values are never shown: tokens and passwords are among them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from spark_trickle.config import MASK, is_secret, mask_url
from spark_trickle.names import LAKE, SESSION

PREFIX = "spark.sql.catalog."
ICEBERG = "org.apache.iceberg.spark.SparkCatalog"
STAGED = "trickle_staged"
"""A catalog of our own, for files of windows."""

_SHORTEST = 4
"""Characters of what is hidden: shorter ones are in any text."""

_IMPLEMENTATIONS = {
    "org.apache.iceberg.rest.RESTCatalog": "rest",
    "org.apache.iceberg.jdbc.JdbcCatalog": "jdbc",
    "org.apache.iceberg.hadoop.HadoopCatalog": "hadoop",
    "org.apache.iceberg.hive.HiveCatalog": "hive",
    "org.apache.iceberg.aws.glue.GlueCatalog": "glue",
    "org.apache.iceberg.nessie.NessieCatalog": "nessie",
}


@dataclass(frozen=True, slots=True)
class CatalogSettings:
    """One catalog, as Spark is told of it."""

    name: str
    implementation: str
    """The class that Spark loads."""
    properties: Mapping[str, str] = field(repr=False)
    """What is set for it, by names without its prefix."""

    @property
    def is_iceberg(self) -> bool:
        return self.implementation == ICEBERG

    @property
    def kind(self) -> str:
        """rest, jdbc, hadoop, hive, glue, nessie; or the class that it is made by."""
        named = self.properties.get("type")
        if named is not None:
            return named.lower()
        by_class = self.properties.get("catalog-impl")
        return "hive" if by_class is None else _IMPLEMENTATIONS.get(by_class, by_class)


def without_secrets(text: str, properties: Mapping[str, str]) -> str:
    """What somebody says of a catalog, without what its settings say that nobody else should know: servers and drivers
    repeat what they were told.

    >>> without_secrets("who is bob, with se-cret?", {"credential": "bob:se-cret", "uri": "http://host"})
    'who is bob, with ***?'
    """
    secrets = {value for key, value in properties.items() if is_secret(key)}
    # Of `client:secret` and `Bearer token` the last part alone is one, too.
    for secret in sorted(secrets | {re.split("[: ]", each)[-1] for each in secrets}, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, MASK)
    return mask_url(text)


def catalogs_in(conf: Mapping[str, str]) -> dict[str, CatalogSettings]:
    """The other catalogs that settings name.

    >>> found = catalogs_in({"spark.sql.catalog.prod": ICEBERG, "spark.sql.catalog.prod.type": "rest"})
    >>> found["prod"].kind, found["prod"].is_iceberg
    ('rest', True)
    """
    named = {key.removeprefix(PREFIX): value for key, value in conf.items() if key.startswith(PREFIX)}
    return {
        name: CatalogSettings(
            name,
            implementation,
            {key.removeprefix(f"{name}."): value for key, value in named.items() if key.startswith(f"{name}.")},
        )
        for name, implementation in named.items()
        if "." not in name and name not in (LAKE, STAGED, SESSION)
    }
