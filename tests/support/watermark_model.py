"""A small model of watermark groups, to compare the scheduler with: sets and numbers, each rule as it is documented.

Units come from the graph, which has its own tests. Everything is due at every tick, and nothing fails.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

Contents = frozenset[tuple[str, int]]


@dataclass(frozen=True)
class Group:
    sources: tuple[str, ...]
    tolerance: int
    hold_back: bool


@dataclass
class Table:
    reads: tuple[str, ...]
    seen: dict[str, int] = field(default_factory=dict)
    version: int = 0
    contents: Contents = frozenset()


class Model:
    """The rules, plainly. A version of a base table is a number, and so is a watermark."""

    def __init__(self, reads: dict[str, tuple[str, ...]], bases: tuple[str, ...]) -> None:
        self.tables = {name: Table(each) for name, each in reads.items()}
        self.base = dict.fromkeys(bases, 1)
        self.log: dict[str, list[tuple[int, int]]] = {base: [] for base in bases}
        """Watermark and version, as recorded."""
        self.groups: dict[str, Group] = {}
        self.units: list[list[str]] = []

    def advance(self, base: str, watermark: int) -> None:
        if not self.log[base] or watermark > self.log[base][-1][0]:
            self.log[base].append((watermark, self.base[base]))

    def above(self, name: str) -> set[str]:
        """All that it depends on."""
        direct = set(self.tables[name].reads) if name in self.tables else set()
        return direct.union(*(self.above(each) for each in direct))

    def governed(self, group: Group) -> set[str]:
        return {name for name in self.tables if len(self.above(name) & set(group.sources)) > 1}

    def concerned(self, group: Group) -> set[str]:
        found = self.governed(group)
        while True:
            between = {a for n in found for a in self.above(n) & self.tables.keys() if self.above(a) & {*group.sources}}
            mates = {mate for unit in self.units for mate in unit if found & {*unit}}
            if between | mates <= found:
                return found
            found |= between | mates

    def ready(self, group: Group) -> bool:
        return all(self.log[source] for source in group.sources)

    def apart(self, group: Group, at: dict[str, int]) -> int:
        return max(at[source] for source in group.sources) - min(at[source] for source in group.sources)

    def families(self) -> list[list[str]]:
        """Names of groups that are held back and concern the same stream tables, together."""
        found: list[list[str]] = []
        for name in sorted(self.groups):
            if not self.groups[name].hold_back:
                continue
            mine = self.concerned(self.groups[name])
            kin = [f for f in found if any(mine & self.concerned(self.groups[other]) for other in f)]
            found = [f for f in found if f not in kin] + [[*(other for f in kin for other in f), name]]
        return found

    def positions(self, groups: list[Group]) -> dict[str, int]:
        """The newest versions at which no group is further apart than it may be: the largest of all choices."""
        sources = sorted({source for group in groups for source in group.sources})
        best: dict[str, tuple[int, int]] = {}
        for choice in product(*(self.log[source] for source in sources)):
            at = {source: watermark for source, (watermark, _) in zip(sources, choice, strict=True)}
            if all(self.apart(group, at) <= group.tolerance for group in groups):
                chosen = dict(zip(sources, choice, strict=True))
                best = {s: max(best.get(s, chosen[s]), chosen[s]) for s in sources}
        return {source: version for source, (_, version) in best.items()}

    def tick(self) -> tuple[list[str], set[str]]:
        """Who is refreshed, in order, and who is skipped."""
        views: dict[str, dict[str, int]] = {}
        held: set[str] = set()
        for group in self.groups.values():
            if not group.hold_back and not self._aligned(group):
                held |= self.governed(group)
        for family in self.families():
            groups = [self.groups[name] for name in family]
            ready = [group for group in groups if self.ready(group)]
            for group in groups:
                held |= set() if self.ready(group) else self.concerned(group)
            at = self.positions(ready)
            for name in {each for group in ready for each in self.concerned(group)} - held if ready else ():
                views[name] = at
        held |= {name for name in views if self._ahead(name, views)}
        ran: list[str] = []
        skipped: set[str] = set()
        for unit in self.units:
            if held & {*unit}:
                skipped |= {*unit}
            elif any(self._work(name, views) for name in unit):
                if self._waits(unit, views):
                    skipped |= {*unit}
                else:
                    ran += [name for name in unit if self._refresh(name, views)]
        return ran, skipped

    def _aligned(self, group: Group) -> bool:
        latest = {source: self.log[source][-1][0] for source in group.sources if self.log[source]}
        return self.ready(group) and self.apart(group, latest) <= group.tolerance

    def _ahead(self, name: str, views: dict[str, dict[str, int]]) -> bool:
        """Whether it has read past its view, or what it depends on, or is refreshed with, has."""
        mates = next({*unit} for unit in self.units if name in unit)
        return any(
            views[each].get(source, version) < version
            for each in {name, *mates, *self.above(name)} & views.keys()
            for source, version in self.tables[each].seen.items()
        )

    def _waits(self, unit: list[str], views: dict[str, dict[str, int]]) -> bool:
        above = {each for name in unit if name in views for each in self.above(name) & views.keys()} - {*unit}
        return any(
            not self.tables[each].seen or any(views[each].get(s, v) != v for s, v in self.tables[each].seen.items())
            for each in above
        )

    def _at(self, source: str, name: str, views: dict[str, dict[str, int]]) -> int:
        if source in self.tables:
            return self.tables[source].version
        return views.get(name, {}).get(source, self.base[source])

    def _work(self, name: str, views: dict[str, dict[str, int]]) -> bool:
        table = self.tables[name]
        return not table.seen or any(table.seen[s] != self._at(s, name, views) for s in table.reads)

    def _refresh(self, name: str, views: dict[str, dict[str, int]]) -> bool:
        if not self._work(name, views):
            return False
        table = self.tables[name]
        table.seen = {source: self._at(source, name, views) for source in table.reads}
        parts = (
            self.tables[s].contents if s in self.tables else frozenset({(s, version)})
            for s, version in table.seen.items()
        )
        contents = Contents().union(*parts)
        table.version += contents != table.contents
        table.contents = contents
        return True
