"""Iceberg's Hadoop catalog on a local disk: a folder for each table, with numbered metadata files in it.

A hint says which number was the last one; who writes it may have been too late, so later ones are looked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from spark_trickle.elsewhere.heads import Found, missing, unreachable
from spark_trickle.elsewhere.settings import CatalogSettings
from spark_trickle.model.publication import Away
from spark_trickle.names import TableName

_NAMES = ("v{}.metadata.json", "v{}.gz.metadata.json", "v{}.metadata.json.gz")


class HadoopHeads:
    """Folders of one Hadoop catalog."""

    def __init__(self, catalog: str, warehouse: Path) -> None:
        self._catalog = catalog
        self._warehouse = warehouse

    @classmethod
    def made_of(cls, settings: CatalogSettings) -> HadoopHeads | None:
        """None: its warehouse is not on a disk of this machine."""
        warehouse = settings.properties.get("warehouse", "")
        path = warehouse.removeprefix("file://").removeprefix("file:")
        return cls(settings.name, Path(path)) if path.startswith("/") else None

    def of(self, tables: Iterable[TableName]) -> Found:
        if not self._warehouse.is_dir():
            away = unreachable(self._catalog, f"its warehouse {self._warehouse} is not there")
            return dict.fromkeys(tables, away)
        found: dict[TableName, str | Away] = {}
        for table in tables:
            try:
                found[table] = self._newest(table) or missing(table)
            except OSError as err:
                found[table] = unreachable(self._catalog, err)
        return found

    def close(self) -> None:
        """Nothing is open."""

    def _newest(self, table: TableName) -> str | None:
        folder = self._warehouse.joinpath(*table.levels, table.name, "metadata")
        number = _hinted(folder)
        if number is None:
            return None
        newest = _file(folder, number)
        while (later := _file(folder, number + 1)) is not None:
            number, newest = number + 1, later
        return None if newest is None else str(newest)


def _hinted(folder: Path) -> int | None:
    """The last number that somebody wrote down, or the largest there is."""
    try:
        return int((folder / "version-hint.text").read_text().strip())
    except (FileNotFoundError, ValueError):
        numbers = (path.name.partition(".")[0][1:] for path in folder.glob("v*metadata.json*"))
        return max((int(number) for number in numbers if number.isdigit()), default=None)


def _file(folder: Path, number: int) -> Path | None:
    paths = (folder / name.format(number) for name in _NAMES)
    return next((path for path in paths if path.exists()), None)
