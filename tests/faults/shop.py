"""The lake that faults happen to: a shop, with its right answers computed in plain Python.

Three stream tables that are published together: an aggregate with internal state, a join that is a bag, and an
aggregate over that join. The same money is counted in all three, so a mixture of versions shows. And one IMMEDIATE
stream table over two tables that users change in transactions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action, HistoryRow

GROUP = ("by_region", "lines", "by_category")
BALANCE = "balance"

QUERIES = {
    "by_region": "SELECT region, COUNT(*) AS n, SUM(amount) AS total, AVG(amount) AS mean, MAX(amount) AS largest "
    "FROM orders GROUP BY region",
    "lines": "SELECT o.region, p.category, o.amount FROM orders o JOIN products p ON o.product = p.product",
    "by_category": "SELECT category, COUNT(*) AS n, SUM(amount) AS total FROM lines GROUP BY category",
}
BALANCE_QUERY = (
    "SELECT account, COUNT(*) AS n, SUM(amount) AS total FROM "
    "(SELECT account, amount FROM debits UNION ALL SELECT account, amount FROM credits) AS both GROUP BY account"
)

_READ = (
    "SELECT 'by_region' AS name, ARRAY(region, STRING(n), STRING(total), STRING(mean), STRING(largest)) AS fields "
    "FROM by_region UNION ALL "
    "SELECT 'lines', ARRAY(region, category, STRING(amount)) FROM lines UNION ALL "
    "SELECT 'by_category', ARRAY(category, STRING(n), STRING(total)) FROM by_category UNION ALL "
    "SELECT 'balance', ARRAY(STRING(account), STRING(n), STRING(total)) FROM balance"
)

Contents = Counter[tuple[str, ...]]
"""Rows of all stream tables as text, each beginning with the name of its table."""


@dataclass(frozen=True)
class Order:
    id: int
    product: int
    region: str
    amount: int

    @property
    def sql(self) -> str:
        return f"({self.id}, {self.product}, '{self.region}', {self.amount})"


@dataclass(frozen=True)
class Books:
    """What is in the source tables."""

    orders: tuple[Order, ...]
    categories: Mapping[int, str]
    debits: tuple[tuple[int, int], ...]
    credits: tuple[tuple[int, int], ...]

    def contents(self) -> Contents:
        """The right answers of all queries."""
        found: Contents = Counter()
        for region, amounts in _grouped((o.region, o.amount) for o in self.orders).items():
            mean = str(sum(amounts) / len(amounts))
            found["by_region", region, str(len(amounts)), str(sum(amounts)), mean, str(max(amounts))] += 1
        for order in self.orders:
            found["lines", order.region, self.categories[order.product], str(order.amount)] += 1
        for category, amounts in _grouped((self.categories[o.product], o.amount) for o in self.orders).items():
            found["by_category", category, str(len(amounts)), str(sum(amounts))] += 1
        for account, amounts in _grouped((*self.debits, *self.credits)).items():
            found["balance", str(account), str(len(amounts)), str(sum(amounts))] += 1
        return found


def _grouped(pairs: Iterable[tuple[object, int]]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for key, amount in pairs:
        groups[str(key)].append(amount)
    return groups


OPENING = Books(
    # Orders 1 and 7 give equal lines: of these one goes later, and the other has to stay.
    orders=(
        Order(1, 1, "north", 10),
        Order(2, 2, "north", 25),
        Order(3, 3, "south", 40),
        Order(4, 1, "south", 15),
        Order(5, 2, "west", 60),
        Order(6, 3, "west", 5),
        Order(7, 1, "north", 10),
    ),
    categories={1: "tools", 2: "tools", 3: "paper"},
    debits=((1, -50), (2, -20)),
    credits=((2, 50), (1, 20)),
)

TRADED = replace(
    OPENING,
    orders=(
        *(order for order in OPENING.orders if order.id not in (5, 7)),
        Order(8, 3, "east", 70),
        Order(9, 1, "north", 30),
    ),
    categories={1: "tools", 2: "paint", 3: "paper"},
)
"""After `trade`: rows came, went and changed, and every group of every table is different or gone."""

PAID = replace(OPENING, debits=((1, -50), (2, -20), (3, -35)), credits=((2, 50), (4, 35)))
"""After `pay`, which moves 35 from account 3 to 4 and takes back one credit."""


def build(engine: Engine) -> None:
    """Make the tables, load the stream tables."""
    engine.sql("CREATE TABLE orders (id INT, product INT, region STRING, amount INT)")
    engine.sql("CREATE TABLE products (product INT, category STRING)")
    for name in ("debits", "credits"):
        engine.sql(f"CREATE TABLE {name} (account INT, amount INT)")
        engine.sql(f"INSERT INTO {name} VALUES {_listed(getattr(OPENING, name))}")
    engine.sql(f"INSERT INTO orders VALUES {', '.join(order.sql for order in OPENING.orders)}")
    products = ", ".join(f"({product}, '{category}')" for product, category in OPENING.categories.items())
    engine.sql(f"INSERT INTO products VALUES {products}")
    for name, query in QUERIES.items():
        engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", strict=True)
    engine.create_stream_table(BALANCE, BALANCE_QUERY, refresh_mode="IMMEDIATE")


def trade(engine: Engine) -> None:
    """From OPENING to TRADED, in the sources."""
    added = [order for order in TRADED.orders if order not in OPENING.orders]
    engine.sql(f"INSERT INTO orders VALUES {', '.join(order.sql for order in added)}")
    engine.sql("DELETE FROM orders WHERE id IN (5, 7)")
    engine.sql("UPDATE products SET category = 'paint' WHERE product = 2")


def pay(engine: Engine) -> None:
    """From OPENING to PAID, in one transaction."""
    with engine.transaction() as tx:
        tx.sql("INSERT INTO debits VALUES (3, -35)")
        tx.sql("INSERT INTO credits VALUES (4, 35)")
        tx.sql("DELETE FROM credits WHERE account = 1")


def read(engine: Engine) -> Contents:
    """All stream tables at one version."""
    with engine.snapshot([*GROUP, BALANCE]) as snap:
        return Counter((row.name, *row.fields) for row in snap.sql(_READ).collect())


def wrong(engine: Engine, names: Sequence[str] = (*GROUP, BALANCE)) -> list[str]:
    """Stream tables that differ from their queries at their frontiers."""
    checked = [engine.verify(name) for name in names]
    return [f"{each.name}: {each.sample}" for each in checked if not each.ok]


def actions(engine: Engine) -> dict[str, Action]:
    """Refresh the group, and tell what that took."""
    return {outcome.name: outcome.action for outcome in engine.refresh_stream_tables(GROUP)}


def epochs(rows: Iterable[HistoryRow]) -> list[int]:
    """Epochs that were published with other contents, oldest first."""
    published = [row for row in rows if row.status == "COMPLETED" and row.action is not Action.NO_DATA]
    return [row.epoch for row in reversed(published)]


def _listed(rows: Iterable[tuple[int, ...]]) -> str:
    return ", ".join(str(row) for row in rows)
