"""Options of diamonds: their defaults, what overrides them, and what is refused. Without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spark_trickle
from spark_trickle.errors import UserError
from spark_trickle.graph.units import plan_units
from spark_trickle.model.stream_table import DiamondConsistency, DiamondSchedulePolicy, Options, StreamTable
from spark_trickle.refresh.options import with_options
from tests.support.catalog_values import stream_table

REGION, PRODUCT = stream_table("by_region", ("sales",)), stream_table("by_product", ("sales",))


def kept(folder: Path, options: dict[str, object], **settings: Any) -> StreamTable:
    """A stream table as the catalog keeps it, with the options that `create_stream_table` would give it."""
    given = {"diamond_consistency": None, "diamond_schedule_policy": None, **options}
    with spark_trickle.connect(str(folder), **settings) as engine:
        made = stream_table("summary", ("by_region", "by_product"), options=engine._options(**given))
        engine._parts.catalog.insert(made)
        return engine._parts.catalog.get(made.name)


def policy(summary: StreamTable) -> DiamondSchedulePolicy:
    (group,) = plan_units({table.name: table for table in (REGION, PRODUCT, summary)}).groups
    return group.policy


def test_catalog_diamond_consistency_default(tmp_path: Path) -> None:
    assert kept(tmp_path / "1", {}).options.diamond_consistency is DiamondConsistency.ATOMIC
    assert kept(tmp_path / "2", {}, diamond_consistency="none").options.diamond_consistency is DiamondConsistency.NONE


def test_catalog_diamond_consistency_override(tmp_path: Path) -> None:
    set_here = kept(tmp_path, {"diamond_consistency": "atomic"}, diamond_consistency="none")
    assert set_here.options.diamond_consistency is DiamondConsistency.ATOMIC


def test_group_policy_convergence_node_overrides_guc(tmp_path: Path) -> None:
    assert policy(kept(tmp_path / "1", {"diamond_schedule_policy": "slowest"})) is DiamondSchedulePolicy.SLOWEST
    eager = kept(tmp_path / "2", {"diamond_schedule_policy": "fastest"}, diamond_schedule_policy="slowest")
    assert policy(eager) is DiamondSchedulePolicy.FASTEST
    assert policy(kept(tmp_path / "3", {}, diamond_schedule_policy="slowest")) is DiamondSchedulePolicy.SLOWEST


def test_diamond_schedule_policy_from_str() -> None:
    for text in ("slowest", "SLOWEST"):
        read = with_options(Options(), {"diamond_schedule_policy": text})
        assert read.diamond_schedule_policy is DiamondSchedulePolicy.SLOWEST
    with pytest.raises(UserError, match="diamond_schedule_policy cannot be 'soon'"):
        with_options(Options(), {"diamond_schedule_policy": "soon"})


def test_diamond_consistency_roundtrip() -> None:
    for choice in DiamondConsistency:
        assert with_options(Options(), {"diamond_consistency": choice.value}).diamond_consistency is choice
    with pytest.raises(UserError, match="diamond_consistency cannot be 'strict'"):
        with_options(Options(), {"diamond_consistency": "strict"})
