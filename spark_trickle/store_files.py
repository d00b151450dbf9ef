"""Small files of a lake read without a JVM: from a folder, or from an object store through Arrow's own clients.

The store is told what Spark is told: the settings of the catalog `lake`. Who one is comes from there, or from the
store's own environment and profiles. Nothing is written, and nothing is kept.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from spark_trickle.errors import UnavailableError
from spark_trickle.metadata_files import local_path
from spark_trickle.names import LAKE

LARGEST = 256 * 1024 * 1024
"""A metadata file beyond this is not read into memory."""

_PREFIX = f"spark.sql.catalog.{LAKE}."
_S3 = ("s3", "s3a", "s3n")


class GoneError(UnavailableError):
    """A file is not there: it has expired, or never was."""


class StoreFiles:
    """Reads files by their addresses. For several threads."""

    def __init__(self, spark_conf: Mapping[str, str]) -> None:
        self._settings = {
            key.removeprefix(_PREFIX): value for key, value in spark_conf.items() if key.startswith(_PREFIX)
        }
        self._lock = threading.Lock()
        self._s3: Any = None

    def read(self, location: str) -> bytes:
        """A whole file, unpacked. GoneError: it is not there; UnavailableError: it cannot be read now."""
        try:
            raw = self._raw(location)
        except FileNotFoundError as err:
            raise GoneError(f"'{location}' is not there any more") from err
        except (OSError, ValueError, NotImplementedError) as err:
            # Arrow tells all that goes wrong with a store as OSError, and a scheme that it does not know as ValueError.
            raise UnavailableError(
                f"'{location}' cannot be read: {err}",
                hint="The server needs to reach the warehouse; it uses the settings spark.sql.catalog.lake.*, or the "
                "store's own environment",
            ) from err
        return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw

    def _raw(self, location: str) -> bytes:
        path = local_path(location)
        if path is not None:
            if path.stat().st_size > LARGEST:
                raise OSError(f"it has more than {LARGEST} bytes")
            return path.read_bytes()
        filesystem, inside = self._place(location)
        with filesystem.open_input_file(inside) as file:
            if file.size() > LARGEST:
                raise OSError(f"it has more than {LARGEST} bytes")
            content: bytes = file.read()
            return content

    def _place(self, location: str) -> tuple[Any, str]:
        # Not at the top: clients of three stores take a while to load, and a folder needs none of them.
        from pyarrow import fs

        parts = urlsplit(location)
        if parts.scheme.lower() not in _S3:
            found: tuple[Any, str] = fs.FileSystem.from_uri(location)
            return found
        with self._lock:
            if self._s3 is None:
                self._s3 = fs.S3FileSystem(**s3_options(self._settings))
        return self._s3, f"{parts.netloc}/{unquote(parts.path).lstrip('/')}"


def s3_options(settings: Mapping[str, str]) -> dict[str, Any]:
    """Iceberg's settings for S3 in the words of Arrow.

    >>> s3_options({"s3.endpoint": "http://127.0.0.1:5000", "client.region": "eu-west-1"})
    {'endpoint_override': '127.0.0.1:5000', 'scheme': 'http', 'region': 'eu-west-1'}
    """
    options: dict[str, Any] = {}
    endpoint = settings.get("s3.endpoint")
    if endpoint:
        scheme, separator, host = endpoint.rpartition("://")
        options |= {"endpoint_override": host.rstrip("/"), "scheme": scheme if separator else "https"}
    for key, name in (
        ("client.region", "region"),
        ("s3.access-key-id", "access_key"),
        ("s3.secret-access-key", "secret_key"),
        ("s3.session-token", "session_token"),
    ):
        if key in settings:
            options[name] = settings[key]
    return options
