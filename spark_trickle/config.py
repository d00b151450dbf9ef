"""Settings: `trickle.toml`, then `TRICKLE_*` variables, then arguments; the last one wins. Nobody else reads these.

Settings are values. They build nothing: `wire` makes things of them.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import Field, PrivateAttr, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from spark_trickle.errors import ConfigError
from spark_trickle.model.stream_table import DiamondConsistency, DiamondSchedulePolicy

PREFIX = "TRICKLE_"
FILE_VARIABLE = "TRICKLE_CONFIG"
FILE_NAME = "trickle.toml"
DATABASE_NAME = "trickle.db"
ROWS_FOLDER = ".rows"
MASK = "***"
_MAY_HOLD_SECRETS = ("on_failure", "on_fuse", "on_late", "openlineage")

_SECRET_KEY = re.compile(
    r"secret|password|token|credential|authorization|connection-string|(?:access|account|api|shared|cryption|sse)[._-]?key",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"(?P<before>://[^/?#:@\s]*:)[^\s'\"]*(?=@)")
_URL_OPTION = re.compile(r"(?P<before>[?&;](?:ssl)?password=)[^&;#\s]*", re.IGNORECASE)
_TOKEN = re.compile(
    r"(?P<before>\b(?:bearer|basic) )(?=\S*[\d.=_-])[\w.~+/=-]{8,}|(?<![\w-])eyJ[\w-]+\.[\w.-]+", re.IGNORECASE
)


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


class Settings(BaseSettings):
    """Everything that can be set, with its default."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=True
    )
    _origins: Mapping[str, str] = PrivateAttr(default_factory=dict)

    warehouse: str = "warehouse"
    """Folder, or URI such as `s3://bucket/path`, where tables keep their files. Its scheme brings the jars it needs."""
    catalog: str = ""
    """Database of the catalog: `sqlite:///path` or `postgresql+psycopg://user:password@host:5432/database`.
    Left out: `trickle.db` in the warehouse folder."""
    catalog_password_file: str = ""
    """File that holds the password of the catalog's database and nothing else, where `catalog` has none."""
    busy_timeout_seconds: float = Field(default=30.0, gt=0, le=3600)
    """How long to wait for somebody else's transaction in the catalog before giving up."""

    spark_master: str = Field(default="local[*]", min_length=1)
    """Where Spark runs, unless a SparkSession is given: `local[*]`, `spark://host:7077` (both run in our tests), `yarn`
    (needs `HADOOP_CONF_DIR`; untried), `k8s://https://host:6443` (needs an image with Java 17 and the same Spark, as
    `spark.kubernetes.container.image` in `spark_conf`; untried). Spark Connect (`sc://`) is refused."""
    spark_driver_memory: str = Field(default="2g", pattern=r"^\d+[kKmMgGtT]$")
    """Memory of Spark's driver; on `local` masters that is all the memory it has."""
    spark_conf: dict[str, str] = Field(default_factory=dict)
    """More Spark settings, by their names in Spark. Packages and extensions are added to ours; what is set for the
    catalog `lake` (`spark.sql.catalog.lake.s3.endpoint`) reaches every session; tables of other Iceberg catalogs that
    are set here (`spark.sql.catalog.prod`) can be read. In the environment: a JSON object."""

    scheduler_interval_ms: int = Field(default=1000, ge=10, le=3_600_000)
    """Pause between two ticks of the scheduler."""
    default_schedule_seconds: int = Field(default=1, ge=1)
    """Schedule of a `calculated` stream table that nobody reads."""
    max_concurrent_refreshes: int = Field(default=2, ge=1, le=256)
    """Units refreshed at the same time; and members of one unit that do not read each other."""
    max_consecutive_errors: int = Field(default=3, ge=1)
    """Failures in a row, of the kind that may go away by itself, after which a stream table is suspended. While another
    catalog does not give a table it is never."""
    max_refresh_attempts: int = Field(default=3, ge=1, le=100)
    """Tries of one refresh when somebody else publishes first or something is away for a moment."""
    differential_max_change_ratio: float = Field(default=0.15, ge=0, le=1)
    """Share of changed rows of the sources past which AUTO recomputes."""
    small_change_rows: int = Field(default=250_000, ge=0)
    """Changes up to this many rows are collected to the driver, to be broadcast and used for pruning; of what a refresh
    computes on the way, up to four times as many where rows are one or two narrow columns."""
    rewrite_table_rows: int = Field(default=10_000, ge=0)
    """Tables of groups up to this many rows are written anew when they have gathered several files, or whenever only
    Spark can write them."""
    broadcast_table_rows: int = Field(default=500_000, ge=0)
    """Tables of ours up to this many rows are merged in one commit, by a join that may move the whole table. Larger
    ones stay where they are, and the change is broadcast to them; where Spark writes it, that takes two commits,
    published as one."""
    held_table_rows: int = Field(default=1_000, ge=0)
    """Tables up to this many rows are held in memory from one refresh to the next; those of ours are written whole."""
    lookup_table_rows: int = Field(default=100_000, ge=0)
    """Of tables from this many rows on, rows beside a change are looked up in the cache of rows, not by a scan."""
    local_query_rows: int = Field(default=250_000, ge=0)
    """What a refresh computes of up to so many rows is computed in the driver's thread that asks, without a Spark job;
    rows that are there already count a quarter. 0: everything runs as jobs."""
    row_cache_bytes: int = Field(default=8 * 1024**3, ge=0)
    """What the cache of rows may take on the driver's disk. It holds the columns that are read of large tables, and may
    be deleted at any time. 0: no cache, Spark scans for what it needs."""
    row_cache_folder: str = ""
    """Where the cache of rows is. Left out: `.rows` in the warehouse folder, or in the user's folder for caches where
    the warehouse is no folder."""
    scheduler_lease_seconds: float = Field(default=10.0, ge=0.2, le=3600)
    """How long a scheduler that was killed keeps others from taking over. A living one renews its lease meanwhile."""
    tick_watermark_enabled: bool = True
    """All refreshes of a tick read the same cut."""
    allow_circular: bool = False
    """Whether stream tables may read each other in a circle."""
    max_fixpoint_iterations: int = Field(default=100, ge=1)
    """Rounds after which a circle that still changes is an error."""
    diamond_consistency: DiamondConsistency = DiamondConsistency.ATOMIC
    """Default of new stream tables: whether the paths of a diamond are refreshed together."""
    diamond_schedule_policy: DiamondSchedulePolicy = DiamondSchedulePolicy.FASTEST
    """Default of new stream tables: when a diamond is due, by its fastest or its slowest member."""
    watermark_holdback_timeout: int = Field(default=0, ge=0)
    """Seconds after which a source of a watermark group that has not advanced is said to be stuck. 0: never."""
    fuse_default_ceiling: int = Field(default=0, ge=0)
    """Changed rows past which a fuse without a ceiling of its own blows. 0: no ceiling."""
    gate_stale_warning_seconds: int = Field(default=3600, ge=0)
    """Seconds after which a gate that is still closed is warned about. 0: never."""
    history_retention_days: int = Field(default=90, ge=0)
    """Days that history is kept. 0: for ever."""

    log_file: str = ""
    """File that log lines are added to, and from the command line what Java says. Empty: none, the program decides."""
    log_format: LogFormat = LogFormat.TEXT
    """How lines are written there, and by `trickle run`: `text`, or `json` with one object a line."""
    log_level: LogLevel = LogLevel.INFO
    """The least important lines that are written: `DEBUG`, `INFO`, `WARNING`, `ERROR`."""
    on_failure: str = ""
    """What is told when a refresh fails: an `http(s)://` address, to which JSON is posted, or a command, which gets it
    on standard input."""
    on_fuse: str = ""
    """The same when a fuse blows."""
    on_late: str = ""
    """The same when a scheduler sees that a change is not in though the schedule promised it."""
    openlineage: str = ""
    """Where OpenLineage events of refreshes go: an `http(s)://` address, or a file, one event a line."""

    @field_validator("spark_master")
    @classmethod
    def _with_a_jvm_of_its_own(cls, value: str) -> str:
        if value.startswith("sc://"):
            raise ValueError(
                "Spark Connect is not supported, because Iceberg's Java API is used in the driver's own JVM; "
                "name a master such as local[*], spark://host:7077, yarn or k8s://host"
            )
        return value

    @field_validator("spark_conf", mode="before")
    @classmethod
    def _as_spark_writes_it(cls, value: object) -> object:
        """TOML has booleans and numbers; Spark's settings are text."""
        if not isinstance(value, dict):
            return value
        return {key: str(item).lower() if isinstance(item, bool) else str(item) for key, item in value.items()}

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Making the value reads nothing: `load` does, because it has to tell where a wrong value came from."""
        return (init_settings,)

    def origin(self, key: str) -> str:
        """Where the value came from: the file, the variable, `argument`, or `default`."""
        return self._origins.get(key, "default")

    def shown(self, key: str) -> str:
        """The value as text, without secrets."""
        value = getattr(self, key)
        if key in _MAY_HOLD_SECRETS:
            # The address of a webhook is its password, too; so may be what a command is given.
            return mask_webhook(value)
        if isinstance(value, dict):
            return str({name: MASK if is_secret(name) else mask_url(text) for name, text in value.items()})
        return mask_url(str(value))

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{key}={self.shown(key)!r}' for key in type(self).model_fields)})"

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the reference: generated from the fields above."""

    key: str
    default: str
    doc: str


def documented() -> tuple[Setting, ...]:
    """All settings, in their order."""
    fields = Settings.model_fields
    plain = Settings()
    return tuple(Setting(key, plain.shown(key), " ".join((fields[key].description or "").split())) for key in fields)


def load(**arguments: Any) -> Settings:
    """Read all settings. An argument that is None counts as not given."""
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    path = _file()
    for origin, values in (
        (str(path), {} if path is None else _from_file(path)),
        ("environment", _from_environment()),
        ("argument", {key: value for key, value in arguments.items() if value is not None}),
    ):
        _refuse_unknown(origin, values)
        merged |= values
        origins |= {key: f"{PREFIX}{key.upper()}" if origin == "environment" else origin for key in values}
    try:
        settings = Settings(**merged)
    except ValidationError as err:
        raise _refused(err, origins) from err
    complete = settings.model_copy(update={"catalog": settings.catalog or _beside(settings.warehouse)})
    complete._origins = origins
    return complete


def is_secret(key: str) -> bool:
    """Whether what is set by that name is nobody else's business.

    >>> is_secret("s3.secret-access-key"), is_secret("header.Authorization"), is_secret("s3.endpoint")
    (True, True, False)
    """
    return _SECRET_KEY.search(key) is not None


def mask_url(text: str) -> str:
    """Hide the passwords of a URL, and tokens as HTTP has them.

    >>> mask_url("postgresql+psycopg://ann:s3cret@db/lake?sslmode=require&password=x")
    'postgresql+psycopg://ann:***@db/lake?sslmode=require&password=***'
    >>> mask_url("401: Bearer eyJhbGciOi.eyJzdWIi.c2ln is not known")
    '401: Bearer *** is not known'
    """
    for pattern in (_URL_PASSWORD, _URL_OPTION, _TOKEN):
        text = pattern.sub(rf"\g<before>{MASK}", text)
    return text


def mask_webhook(text: str) -> str:
    """What of a hook may be shown: whom it tells, and nothing of the path or the arguments.

    >>> mask_webhook("https://ann:pw@chat.example/services/T0/B0/secret"), mask_webhook("/bin/page --key k")
    ('https://chat.example/***', '/bin/page ***')
    """
    parts = urlsplit(text)
    if parts.scheme in ("http", "https"):
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/{MASK}"
    command, _, rest = text.partition(" ")
    return f"{command} {MASK}" if rest else command


def _file() -> Path | None:
    named = os.environ.get(FILE_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise ConfigError(f"the file '{named}' that {FILE_VARIABLE} names does not exist")
        return Path(named)
    return Path(FILE_NAME) if Path(FILE_NAME).is_file() else None


def _from_file(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise ConfigError(f"'{path}' is not TOML: {err}", facts={"source": str(path)}) from err
    except OSError as err:
        raise ConfigError(f"'{path}' cannot be read: {err.strerror}", facts={"source": str(path)}) from err
    # Paths in a file are meant from where the file is, wherever the program is started.
    folder = path.absolute().parent
    warehouse, catalog = values.get("warehouse"), values.get("catalog")
    if isinstance(warehouse, str) and "://" not in warehouse and not warehouse.startswith("file:"):
        values["warehouse"] = str(folder / Path(warehouse).expanduser())
    if isinstance(catalog, str) and re.match(r"sqlite(\+pysqlite)?:///[^/]", catalog):
        driver, _, inside = catalog.partition(":///")
        values["catalog"] = f"{driver}:///{folder / Path(inside).expanduser()}"
    return values


def _from_environment() -> dict[str, Any]:
    known = {f"{PREFIX}{key.upper()}" for key in Settings.model_fields} | {FILE_VARIABLE}
    for variable in sorted(os.environ):
        # Others may use the prefix too; a near miss of a name of ours is a slip.
        if variable.upper().startswith(PREFIX) and variable.upper() not in known:
            near = difflib.get_close_matches(variable.upper(), known, n=1, cutoff=0.85)
            if near:
                raise ConfigError(
                    f"the variable '{variable}' is not a setting",
                    hint=f"Did you mean '{near[0]}'?",
                    facts={"source": "environment", "key": variable},
                )
    try:
        return dict(EnvSettingsSource(Settings)())
    except SettingsError as err:
        key = next((key for key in Settings.model_fields if f'"{key}"' in str(err)), "?")
        raise ConfigError(
            f"setting '{key}' ({PREFIX}{key.upper()}) is wrong: it is not a JSON object",
            facts={"source": "environment", "key": key},
        ) from err


def _refuse_unknown(origin: str, values: Mapping[str, Any]) -> None:
    for key in values:
        if key not in Settings.model_fields:
            near = difflib.get_close_matches(key, Settings.model_fields, n=1)
            raise ConfigError(
                f"'{key}' ({origin}) is not a setting",
                hint=f"Did you mean '{near[0]}'?" if near else f"Settings are: {', '.join(Settings.model_fields)}",
                facts={"source": origin, "key": key},
            )


def _refused(err: ValidationError, origins: Mapping[str, str]) -> ConfigError:
    first = err.errors(include_url=False)[0]
    key = str(first["loc"][0])
    origin = origins.get(key, "default")
    given = first["input"]
    shown = "" if is_secret(key) or isinstance(given, dict) else f" '{mask_url(str(given))}'"
    return ConfigError(
        f"setting '{key}' ({origin}) cannot be{shown}: {_allowed(first)}",
        facts={"source": origin, "key": key, "count": err.error_count()},
    )


def _allowed(error: ErrorDetails) -> str:
    """Pydantic's words without its formalities: `Input should be ...` is what is allowed."""
    return re.sub(r"^(Input|Value) should", "it should", error["msg"]).replace("'", "")


def _beside(warehouse: str) -> str:
    """The catalog that lives in the warehouse folder."""
    parts = urlsplit(warehouse)
    if parts.scheme == "file":
        folder = Path(unquote(parts.path))
    elif "://" in warehouse:
        raise ConfigError(
            f"the warehouse '{warehouse}' is not a folder of this machine, so the setting 'catalog' is needed",
            hint=f"Looked at: argument catalog, {PREFIX}CATALOG, {FILE_NAME}. "
            "Write postgresql+psycopg://user:password@host:5432/database or sqlite:///path",
            facts={"key": "catalog"},
        )
    else:
        folder = Path(warehouse).expanduser()
    return f"sqlite:///{folder.absolute() / DATABASE_NAME}"
