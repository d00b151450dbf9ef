"""The other half of the lake of the long runs: what waits, and what goes round.

`near` and `far` are a circle over `roads`. `ledger` reads two summaries that a watermark group holds back, `spread` two
tables whose group lets it wait. `watched` has a fuse with a ceiling and is published together with `pair`, `tally` has
one that learns. What they must hold is told here without the engine: the ways of a graph, hours that are whole, rows
less those that somebody had skipped.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from spark_trickle.engine import Engine
from spark_trickle.holds.fuse_report import FuseCondition, condition
from spark_trickle.model.frontier import Pin
from spark_trickle.model.fuse import Diverged, FuseAction
from spark_trickle.model.publication import Cut
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName

T = TableName.parse
Rows = Counter[tuple[object, ...]]

NODES = 7
START = datetime(2026, 1, 1, tzinfo=UTC)
GROUPS = {"books": ("debits", "credits"), "auction": ("bids", "asks")}
SOURCES = ("roads", "events", *GROUPS["books"], *GROUPS["auction"])
CIRCLE = {
    "far": "SELECT DISTINCT r.src, n.dst FROM roads r JOIN near n ON r.dst = n.src",
    "near": "SELECT src, dst FROM roads UNION SELECT f.src, r.dst FROM far f JOIN roads r ON f.dst = r.src",
}
CEILING = 30
"""More changed rows than that blow the fuses that are on."""
WATCHED = "SELECT id, kind, amount FROM {} WHERE amount >= 0"
QUERIES = {
    "reached": "SELECT src, COUNT(*) AS n FROM near GROUP BY src",
    "watched": WATCHED.format("events"),
    "plain": "SELECT kind, SUM(amount) AS total FROM events WHERE amount >= 0 GROUP BY kind",
    "pair": "SELECT (SELECT SUM(amount) FROM watched) AS one, (SELECT SUM(total) FROM plain) AS other",
    "tally": "SELECT kind, COUNT(*) AS n FROM events GROUP BY kind",
    "debit_sum": "SELECT hour, SUM(amount) AS total FROM debits GROUP BY hour",
    "credit_sum": "SELECT hour, SUM(amount) AS total FROM credits GROUP BY hour",
    "ledger": "SELECT hour, d.total AS debit, c.total AS credit FROM debit_sum d FULL JOIN credit_sum c USING (hour)",
    "spread": "SELECT hour, bid, ask FROM (SELECT hour, SUM(amount) AS bid FROM bids GROUP BY hour) "
    "FULL JOIN (SELECT hour, SUM(amount) AS ask FROM asks GROUP BY hour) USING (hour)",
}
OPTIONS: dict[str, dict[str, object]] = {
    "watched": {"fuse": "on", "fuse_ceiling": CEILING},
    "tally": {"fuse": "auto"},
}
NAMES = (*CIRCLE, *QUERIES)
ACTIONS = tuple(FuseAction)


def build(engine: Engine) -> None:
    engine.sql("CREATE TABLE roads (src INT, dst INT); INSERT INTO roads VALUES (0, 1), (1, 2), (2, 0), (4, 5)")
    engine.sql("CREATE TABLE events (id BIGINT, kind STRING, amount BIGINT)")
    engine.sql("INSERT INTO events SELECT id, 'a', id FROM range(20)")
    for group, sources in GROUPS.items():
        for source in sources:
            engine.sql(f"CREATE TABLE {source} (hour INT, amount BIGINT)")
        engine.create_watermark_group(group, sources, mode="hold_back" if group == "books" else "gate")
    engine.create_stream_tables(CIRCLE, strict=True, fuse="on", fuse_ceiling=CEILING)
    for name, query in QUERIES.items():
        engine.create_stream_table(name, query, **OPTIONS.get(name, {}))  # type: ignore[arg-type]


@dataclass
class Market:
    """Who writes to these sources, lets blown fuses go on, and knows what must be there."""

    dice: random.Random
    counts: Counter[str]
    hours: dict[str, int] = field(default_factory=lambda: dict.fromkeys(sum(GROUPS.values(), ()), 0))
    begun: Counter[str] = field(default_factory=Counter)
    """Amounts of the next hour that are there already."""
    ids: int = 100
    bulk: int = 0
    """Where the rows of the last large load begin, if they are still there."""
    crowded: bool = False
    """Whether there are many roads."""
    skipped: dict[Diverged, Rows] = field(default_factory=dict)
    """What `watched` was not given, by what is known of it."""

    def trade(self, engine: Engine) -> None:
        """One small write, of any kind."""
        match self.dice.randrange(5):
            case 0:
                self.build_roads(engine, 1 + self.dice.randrange(2))
            case 1:
                engine.sql(f"DELETE FROM roads WHERE src = {self._node()} AND dst < {self._node()}")
            case 2:
                self.happen(engine)
            case _:
                group = self.dice.choice(sorted(GROUPS))
                self.load(engine, self.dice.choice(GROUPS[group]))

    def build_roads(self, engine: Engine, count: int) -> None:
        rows = ", ".join(f"({self._node()}, {self._node()})" for _ in range(count))
        engine.sql(f"INSERT INTO roads VALUES {rows}")

    def happen(self, engine: Engine) -> None:
        if self.dice.random() < 0.3:
            engine.sql(f"DELETE FROM events WHERE id = {self.dice.randrange(self.ids)}")
            return
        self.ids += 1
        kind, amount = self.dice.choice("abc"), self.dice.randrange(-3, 30)
        engine.sql(f"INSERT INTO events VALUES ({self.ids}, '{kind}', {amount})")

    def load(self, engine: Engine, source: str) -> None:
        """The next hour, whole, with its watermark in the same commit; of what is held back, then some of the hour
        after. Nobody hurries two hours ahead of the other: there would be nothing to see.
        """
        (other,) = {*next(group for group in GROUPS.values() if source in group)} - {source}
        if self.hours[source] > self.hours[other]:
            source = other
        self.hours[source] += 1
        hour = self.hours[source]
        with engine.transaction() as tx:
            tx.sql(f"INSERT INTO {source} VALUES ({hour}, {whole(hour) - self.begun.pop(source, 0)})")
            tx.advance_watermark(source, START + timedelta(hours=hour))
        self.counts["advances"] += 1
        if source in GROUPS["books"]:
            self.begun[source] = 1 + self.dice.randrange(5)
            engine.sql(f"INSERT INTO {source} VALUES ({hour + 1}, {self.begun[source]})")

    def flood(self, engine: Engine) -> tuple[str, tuple[str, ...]]:
        """Too much at once, of roads or of events; gives of which, and whose fuse that is too much for."""
        if self.dice.random() < 0.3:
            self.crowded = not self.crowded
            rows = ", ".join(f"({self._node()}, {self._node()})" for _ in range(CEILING + 5))
            leave = f"DELETE FROM roads WHERE (3 * src + dst) % 5 <> {self.dice.randrange(5)}"
            engine.sql(f"INSERT INTO roads VALUES {rows}" if self.crowded else leave)
            return "roads", tuple(CIRCLE)
        if self.bulk and self.dice.random() < 0.6:
            engine.sql(f"DELETE FROM events WHERE id >= {self.bulk}")
            self.bulk = 0
        else:
            self.ids += 1
            self.bulk = 1_000_000 + 10_000 * self.ids
            rows = str(self.dice.choice((100, 3000, 9000)))
            engine.sql(f"INSERT INTO events SELECT id + {self.bulk}, 'bulk', id % 7 FROM range({rows})")
        return "events", ("watched",)

    def reset(self, engine: Engine, action: FuseAction | None = None) -> None:
        """What somebody does who has looked at a change: any of the three."""
        for table in engine.stream_tables():
            if condition(table) is not FuseCondition.BLOWN:
                continue
            chosen = action or self.dice.choice(ACTIONS)
            missed = self._missed(engine, table) if table.name == T("watched") else None
            engine.reset_fuse(str(table.name), chosen)
            self.counts[f"reset: {chosen}"] += 1
            if missed is not None and chosen is FuseAction.SKIP_CHANGES:
                now = next(each for each in engine.stream_tables() if each.name == table.name)
                assert now.diverged is not None
                before = self.skipped[table.diverged] if table.diverged is not None else Counter()
                self.skipped[now.diverged] = Counter(before)
                self.skipped[now.diverged].update(missed)

    def _missed(self, engine: Engine, table: StreamTable) -> Rows:
        """The change on which `watched` has blown: rows that came, and with a minus rows that went."""
        assert table.fuse.blown is not None
        pending = next(each.pin for each in table.fuse.blown.pending if each.source == T("events"))
        since = table.frontier.of(T("events"))
        assert since is not None
        found = Counter(_rows(engine, WATCHED, pending))
        found.subtract(_rows(engine, WATCHED, since))
        return found

    def settle(self, engine: Engine) -> None:
        """Everybody has got as far as the others."""
        for sources in GROUPS.values():
            while self.hours[sources[0]] != self.hours[sources[1]]:
                self.load(engine, min(sources, key=lambda source: self.hours[source]))

    def wrong(self, engine: Engine, cut: Cut) -> list[str]:
        """What is not as it must be at one cut."""
        return [*self._circle(engine, cut), *self._hours(engine, cut), *self._watched(engine, cut)]

    def _circle(self, engine: Engine, cut: Cut) -> Iterable[str]:
        near, far = (cut.tables[T(name)] for name in ("near", "far"))
        if near.diverged is not None or far.diverged is not None:
            return
        roads = set(_rows(engine, "SELECT src, dst FROM {}", near.frontier.of(T("roads"))))
        for table, wanted in zip((near, far), odd_and_even(roads), strict=True):
            held = _held(engine, table)
            if held != Counter(wanted):
                yield f"'{table.name}' holds {sorted(held.items())} over {sorted(roads)}"

    def _hours(self, engine: Engine, cut: Cut) -> Iterable[str]:
        for name in ("ledger", "spread"):
            for hour, one, other in _held(engine, cut.tables[T(name)]):
                if (one, other) != (whole(hour), whole(hour)):
                    yield f"'{name}' has an hour that is not whole: {(hour, one, other)}"

    def _watched(self, engine: Engine, cut: Cut) -> Iterable[str]:
        watched, pair = cut.tables[T("watched")], cut.tables[T("pair")]
        if watched.diverged is None:
            for one, other in _held(engine, pair):
                if one != other:
                    yield f"'pair' holds {one} and {other}"
        elif watched.diverged in self.skipped:
            wanted = Counter(_rows(engine, WATCHED, watched.frontier.of(T("events"))))
            wanted.subtract(self.skipped[watched.diverged])
            # What was skipped and went later is not there to be taken away.
            if _held(engine, watched) != +wanted:
                yield f"'watched' is not what it was given: {(+wanted) - _held(engine, watched)} is missing"

    def _node(self) -> int:
        return self.dice.randrange(NODES)


def whole(hour: object) -> int:
    """What an hour comes to when it is loaded."""
    assert isinstance(hour, int)
    return 10 * hour


def odd_and_even(roads: set[tuple[object, ...]]) -> tuple[set[tuple[object, ...]], set[tuple[object, ...]]]:
    """All ways over an odd number of roads, and all over an even one: what the circle comes to."""
    odd, even, found = set(roads), set[tuple[object, ...]](), -1
    while found < len(odd) + len(even):
        found = len(odd) + len(even)
        even |= {(a, d) for a, b in roads for c, d in odd if b == c}
        odd |= {(a, d) for a, b in even for c, d in roads if b == c}
    return odd, even


def _held(engine: Engine, table: StreamTable) -> Rows:
    """The contents as they were at the cut that the stream table is of."""
    return _rows(engine, "SELECT * FROM {}", next((pin for pin in table.published if pin.table == table.name), None))


def _rows(engine: Engine, query: str, pin: Pin | None) -> Rows:
    if pin is None or pin.snapshot_id is None:
        return Counter()
    found = engine.spark.sql(query.format(f"{pin.table.sql} VERSION AS OF {pin.snapshot_id}")).collect()
    return Counter(tuple(row) for row in found)
