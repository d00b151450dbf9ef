"""A circle of stream tables kept in DuckDB: the same plans, changes and losses as on Spark.

Each member has a small lake of its own, in which its peers are tables like others; rows are carried between them. The
order of the work is that of `refresh/fixpoint.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from spark_trickle.delta.losses import GONE, Fall, derived_rows, lost_rows, lost_step, removed
from spark_trickle.delta.plan import PUBLIC, WEIGHT, Delta
from spark_trickle.sql.leaves import SourceLeaf, StateLeaf, StepLeaf, Version
from tests.support.duck import Kept, Lake, Row, Table, duck_name, source
from tests.support.duck_dialect import duck_sql

_PUBLIC = StateLeaf(PUBLIC)


class Diverges(Exception):
    """It still changes after as many rounds as are allowed."""


@dataclass
class Member:
    """One stream table of a circle."""

    name: str
    lake: Lake
    kept: Kept

    def rows(self) -> list[Row]:
        return self.lake.run(f"FROM {duck_name(_PUBLIC)}")

    def put(self, table: str, rows: Sequence[Row]) -> None:
        self.lake.run(f"DELETE FROM {duck_name(source(table))}")
        self.lake.insert(table, rows)


@dataclass
class Circle:
    """Stream tables over base tables; columns of each are given as DuckDB declares them."""

    base: Sequence[Table]
    queries: Mapping[str, str]
    columns: Mapping[str, str]
    limit: int = 60
    members: list[Member] = field(default_factory=list)
    shown: dict[str, Counter[Row]] = field(default_factory=dict)
    """What members see of each."""
    rounds: int = 0
    fallen: int = 0
    """Rows that were taken away to be looked at again."""
    derived: int = 0
    """How often what is lost was told without a look at the table."""

    def __post_init__(self) -> None:
        for name, query in self.queries.items():
            tables = [*self.base, *(Table(peer, self.columns[peer]) for peer in self.queries)]
            lake = Lake(tables)
            self.members.append(Member(name, lake, Kept(lake, query)))
            self.shown[name] = Counter()
        self._go_round()

    def rows(self, name: str) -> Counter[Row]:
        return Counter(next(member for member in self.members if member.name == name).rows())

    def refresh(self, base: Mapping[str, Sequence[Row]]) -> None:
        """Bring it to these rows of the base tables."""
        changed: dict[str, dict[SourceLeaf, bool]] = {}
        for member in self.members:
            changed[member.name] = {}
            for table, rows in base.items():
                member.put(table, rows)
                leaf = source(table)
                if leaf in member.kept.maintenance.sources and member.lake.diff(leaf):
                    gone = member.lake.run(f"FROM {duck_name(leaf, Version.CHANGES)} WHERE {WEIGHT} < 0")
                    changed[member.name][leaf] = not gone
        self._fall(changed)
        self._go_round()

    def _fall(self, changed: Mapping[str, Mapping[SourceLeaf, bool]]) -> None:
        """Take away what may have lost a derivation; what each member has is put back before it is refreshed."""
        everyone = frozenset(source(member.name) for member in self.members)
        gone: dict[str, set[Row]] = {member.name: set() for member in self.members}
        new = {
            member.name: self._lost(member, Fall(everyone, changed[member.name]), {}, set()) for member in self.members
        }
        while any(new.values()):
            for name, rows in new.items():
                gone[name] |= rows
            falling = frozenset(source(name) for name, rows in new.items() if rows)
            new = {
                member.name: self._lost(member, Fall(everyone, changed[member.name], falling), new, gone[member.name])
                for member in self.members
            }
        for member in self.members:
            before = member.rows()
            self.fallen += len(gone[member.name])
            left = [row for row in before if row not in gone[member.name]]
            assert Counter(before) - self._removed(member, gone[member.name]) == Counter(left)
            self._show(member.name, left)

    def _lost(self, member: Member, fall: Fall, new: Mapping[str, set[Row]], known: set[Row]) -> set[Row]:
        change = lost_rows(member.kept.maintenance, fall, known=bool(known), large=member.kept.large)
        if change is None:
            return set()
        for peer in fall.falling or ():
            self._step(member, lost_step(peer.table), peer.table.name, new[peer.table.name])
        self._step(member, GONE, member.name, known)
        found = set(self._run(member, change))
        assert not found & known
        derived = derived_rows(member.kept.maintenance, fall, large=member.kept.large)
        if derived is not None:
            assert set(self._run(member, derived)) - known == found
            self.derived += 1
        assert found <= set(member.rows()), "a row is lost that was not there"
        return found

    def _removed(self, member: Member, rows: set[Row]) -> Counter[Row]:
        self._step(member, GONE, member.name, rows)
        return Counter({row[:-1]: -row[-1] for row in self._run(member, removed(member.kept.maintenance.public))})

    def _step(self, member: Member, step: StepLeaf, table: str, rows: set[Row]) -> None:
        target = duck_name(step)
        member.lake.run(f"CREATE OR REPLACE TABLE {target} AS FROM {duck_name(source(table))} LIMIT 0")
        for row in rows:
            member.lake.connection.execute(f"INSERT INTO {target} VALUES ({', '.join('?' * len(row))})", list(row))

    def _run(self, member: Member, change: Delta) -> list[Row]:
        # What a step called `target` is on Spark is the public table here.
        for shared in change.shared:
            member.lake.fill(duck_name(shared.step), duck_sql(shared.query, _PUBLIC))
        return member.lake.run(duck_sql(change.query, _PUBLIC))

    def _go_round(self) -> None:
        for self.rounds in count(1):
            changed = False
            for member in self.members:
                member.kept.step()
                now = member.rows()
                if Counter(now) != self.shown[member.name]:
                    self._show(member.name, now)
                    changed = True
            if not changed:
                return
            if self.rounds >= self.limit:
                raise Diverges

    def _show(self, name: str, rows: Sequence[Row]) -> None:
        """Let all members see these rows of one."""
        self.shown[name] = Counter(rows)
        for member in self.members:
            member.put(name, rows)


def least_fixed_point(circle: Circle, base: Mapping[str, Sequence[Row]]) -> dict[str, Counter[Row]]:
    """By another way: each query as a whole, from empty, again and again."""
    lake = Lake([*circle.base, *(Table(peer, circle.columns[peer]) for peer in circle.queries)])
    for table, rows in base.items():
        lake.insert(table, rows)
    for _ in range(circle.limit):
        before = {name: Counter(lake.run(f"FROM {duck_name(source(name))}")) for name in circle.queries}
        for name, query in circle.queries.items():
            found = list(lake.answer(query).elements())
            lake.run(f"DELETE FROM {duck_name(source(name))}")
            lake.insert(name, found)
        if before == {name: Counter(lake.run(f"FROM {duck_name(source(name))}")) for name in circle.queries}:
            return before
    raise Diverges
