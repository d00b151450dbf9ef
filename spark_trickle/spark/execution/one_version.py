"""What the benches over one private version of the lake have in common."""

from __future__ import annotations

from dataclasses import replace

from spark_trickle.delta.sizes import Limits
from spark_trickle.elsewhere.unversioned import is_unversioned, why_full
from spark_trickle.model.frontier import Pin, Pointer
from spark_trickle.names import TableName
from spark_trickle.ports import Broken
from spark_trickle.spark.execution.remembered import Remembered
from spark_trickle.spark.execution.sharing import Brought, KnownChange
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.spark.session.turns import Turns
from spark_trickle.spark.workspaces.workspace import Workspace
from spark_trickle.storage.changes import ChangeFeed
from spark_trickle.storage.iceberg import load, pin
from spark_trickle.storage.views import view_pin
from spark_trickle.storage.windows import Span
from spark_trickle.storage.windows import Window as FeedWindow


class Shared:
    """What the benches over one private version share: plans, pins, what changed. Any thread may ask."""

    def __init__(self, workspace: Workspace, remembered: Remembered, limits: Limits) -> None:
        self._workspace = workspace
        self.remembered = remembered
        self.limits = limits
        self.brought = Brought(remembered.changes)
        self.known: dict[tuple[TableName, int | None, int | None], KnownChange] = {}
        self._pins: dict[Pointer, Pin] = {}
        self._feed = ChangeFeed(workspace.session, remembered.files)
        self._turns = Turns()

    def pin(self, workspace: Workspace, pointer: Pointer) -> Pin:
        """The version that a pointer stands for, seen from one of the workspaces."""
        table = pointer.table
        with spark_errors(f"reading the metadata of '{table}'"):
            if table.is_elsewhere:
                workspace.meet(table)
            if pointer not in self._pins:
                # A metadata file never changes, so neither does what it says.
                if pointer.kind == "VIEW":
                    self._pins[pointer] = view_pin(workspace.session, table, pointer.location)
                else:
                    # Iceberg may spell the place of a file otherwise than its catalog, and places are compared.
                    here = replace(pin(load(workspace.session, table), table), location=pointer.location)
                    if workspace.heads().get(table) != pointer:  # written meanwhile: what was read may be either
                        return here
                    self._pins[pointer] = here
        return self._pins[pointer]

    def window(self, since: Pin, columns: tuple[str, ...] | None) -> FeedWindow | Broken:
        """What changed in a table; the same value for all that ask for the same change."""
        if is_unversioned(since.location):
            return self._of_unversioned(since)
        with self._turns.of((since.table, since.snapshot_id)), spark_errors(f"reading what changed in '{since.table}'"):
            return self._feed.window(since.table, since, columns)

    def _of_unversioned(self, since: Pin) -> FeedWindow | Broken:
        """Of a table without versions it is known at the most that nothing has changed."""
        here = self._workspace.heads().get(since.table)
        if here is None or here.location != since.location:
            return Broken(why_full(since.table, since.location), always=True)
        span = Span(since.uuid, since.schema_id, since.snapshot_id, since.snapshot_id)
        return FeedWindow(name=since.table, span=span, table=None)
