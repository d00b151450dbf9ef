"""Which jars Spark needs, and how the files of a warehouse are reached: told by the scheme of its address.

Folders and whatever Hadoop knows by itself need nothing more. For an object store, Iceberg has a FileIO and a bundle
with the store's own client. What a user sets for the catalog `lake` (endpoints, credentials, another FileIO) goes along
to every session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spark_trickle.elsewhere.settings import catalogs_in
from spark_trickle.errors import ConfigError
from spark_trickle.names import LAKE

ICEBERG_VERSION = "1.11.0"
PACKAGES = (
    f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:{ICEBERG_VERSION}",
    "org.xerial:sqlite-jdbc:3.50.3.0",
    "org.postgresql:postgresql:42.7.8",
)
"""What every session needs."""
DELTA = "io.delta:delta-spark_4.1_2.13:4.3.0"
"""Where the settings ask for Delta's own catalog or extension: to write there. Reading Delta tables needs no jar."""
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"

LAKE_PREFIX = f"spark.sql.catalog.{LAKE}"
IO_IMPL = f"{LAKE_PREFIX}.io-impl"

_JARS = "spark.jars"
_PACKAGES = "spark.jars.packages"
_EXTENSIONS = "spark.sql.extensions"
_OURS = ("type", "catalog-impl", "uri", "warehouse", "cache-enabled", "default-namespace")
"""Settings of the catalog that follow from where the lake is; so do all that begin with `jdbc.`."""


@dataclass(frozen=True, slots=True)
class Store:
    """How files of one kind of object store are reached."""

    package: str
    file_io: str
    client: str
    """A class of the bundle: Iceberg's own classes are there without it, too."""


_AWS = Store(
    f"org.apache.iceberg:iceberg-aws-bundle:{ICEBERG_VERSION}",
    "org.apache.iceberg.aws.s3.S3FileIO",
    "software.amazon.awssdk.services.s3.S3Client",
)
_GCP = Store(
    f"org.apache.iceberg:iceberg-gcp-bundle:{ICEBERG_VERSION}",
    "org.apache.iceberg.gcp.gcs.GCSFileIO",
    "com.google.cloud.storage.Storage",
)
_AZURE = Store(
    f"org.apache.iceberg:iceberg-azure-bundle:{ICEBERG_VERSION}",
    "org.apache.iceberg.azure.adlsv2.ADLSFileIO",
    "com.azure.storage.file.datalake.DataLakeFileSystemClient",
)
STORES = {
    "s3": _AWS,
    "s3a": _AWS,
    "s3n": _AWS,
    "gs": _GCP,
    "abfs": _AZURE,
    "abfss": _AZURE,
    "wasb": _AZURE,
    "wasbs": _AZURE,
}
"""By scheme."""
_BY_SCHEME = "org.apache.iceberg.io.ResolvingFileIO"


def store_of(warehouse: str, settings: Mapping[str, str]) -> Store | None:
    """The store that the files of a warehouse are in; None: Hadoop reaches it, or what the user chose instead.

    >>> store_of("s3://bucket/lake", {}).file_io
    'org.apache.iceberg.aws.s3.S3FileIO'
    >>> store_of("/tmp/lake", {}) is None
    True
    """
    scheme, separator, _ = warehouse.partition("://")
    found = STORES.get(scheme.lower()) if separator else None
    chosen = settings.get(IO_IMPL)
    return found if found is None or chosen in (None, found.file_io) else None


def stores_of_others(settings: Mapping[str, str]) -> list[Store]:
    """The stores that tables of other catalogs are in, as far as their settings say so: by FileIO or by address. A REST
    server that names the FileIO by itself is met only when it is asked.

    >>> prod = {"spark.sql.catalog.prod": "org.apache.iceberg.spark.SparkCatalog"}
    >>> stores_of_others({**prod, "spark.sql.catalog.prod.type": "glue"}) == [_AWS]
    True
    """
    found: dict[Store, None] = {}
    for catalog in catalogs_in(settings).values():
        chosen = catalog.properties.get("io-impl")
        scheme, separator, _ = catalog.properties.get("warehouse", "").partition("://")
        named = STORES.get(scheme.lower()) if separator else (_AWS if catalog.kind == "glue" else None)
        by_class = next((store for store in STORES.values() if store.file_io == chosen), None)
        store = by_class or (named if chosen in (None, _BY_SCHEME) else None)
        if catalog.is_iceberg and store is not None:
            found[store] = None
    return list(found)


def packages_for(warehouse: str, settings: Mapping[str, str]) -> tuple[str, ...]:
    """The packages that sessions on a warehouse need, with those that the user wants; theirs count where both name one.

    >>> packages_for("/tmp/lake", {"spark.jars.packages": "org.xerial:sqlite-jdbc:3.51.0.0"})[-1]
    'org.xerial:sqlite-jdbc:3.51.0.0'
    """
    own = store_of(warehouse, settings)
    stores = dict.fromkeys([*([] if own is None else [own]), *stores_of_others(settings)])
    theirs = _listed(settings.get(_PACKAGES, ""))
    named = {package.rpartition(":")[0] for package in theirs}
    jars = [jar.rpartition("/")[2] for jar in _listed(settings.get(_JARS, ""))]
    ours = (*PACKAGES, *(store.package for store in stores), *([DELTA] if asks_for_delta(settings) else []))
    needed = (package for package in ours if package.rpartition(":")[0] not in named and not _is_among(package, jars))
    return (*needed, *theirs)


def asks_for_delta(settings: Mapping[str, str]) -> bool:
    """Whether Spark is told to load classes of Delta's.

    >>> asks_for_delta({"spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension"})
    True
    """
    extensions = _listed(settings.get(_EXTENSIONS, ""))
    catalogs = (value for key, value in settings.items() if key.startswith("spark.sql.catalog."))
    return any(name.startswith(("io.delta.", "org.apache.spark.sql.delta.")) for name in (*extensions, *catalogs))


def start_settings(warehouse: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings with which Spark is started: jars and extensions, ours and the user's."""
    extensions = dict.fromkeys((EXTENSIONS, *_listed(settings.get(_EXTENSIONS, ""))))
    return {
        **settings,
        _PACKAGES: ",".join(packages_for(warehouse, settings)),
        _EXTENSIONS: ",".join(extensions),
    }


def file_settings(warehouse: str, settings: Mapping[str, str]) -> dict[str, str]:
    """How every session's catalog reaches files: what the user set for `lake`, and the FileIO of the store."""
    given = {key: value for key, value in settings.items() if key.startswith(f"{LAKE_PREFIX}.")}
    store = store_of(warehouse, settings)
    return given if store is None else {IO_IMPL: store.file_io, **given}


def refuse_ours(settings: Mapping[str, str]) -> None:
    """Settings of the user's that would move the lake are an error: they could only be left out silently."""
    for key in settings:
        if key == LAKE_PREFIX or is_ours(key):
            raise ConfigError(
                f"'{key}' in spark_conf is set by the engine",
                hint="The settings 'catalog' and 'warehouse' say where the lake is",
                facts={"key": "spark_conf"},
            )


def is_ours(key: str) -> bool:
    """Whether a setting of the catalog follows from where the lake is."""
    name = key.removeprefix(f"{LAKE_PREFIX}.")
    return name != key and (name in _OURS or name.startswith("jdbc."))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _is_among(package: str, jars: Iterable[str]) -> bool:
    """Whether a package is given as a file: then nothing need be downloaded."""
    artifact = package.split(":")[1]
    return any(jar.startswith(f"{artifact}-") and jar.endswith(".jar") for jar in jars)
