from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from spark_trickle.config import Settings, documented, load, mask_url
from spark_trickle.errors import ConfigError
from spark_trickle.model.stream_table import DiamondConsistency


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without settings, and no variables of the machine's own."""
    import os

    for variable in [name for name in os.environ if name.upper().startswith("TRICKLE_")]:
        monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def test_the_defaults_are_those_that_are_promised() -> None:
    settings = load()
    assert {key: getattr(settings, key) for key in Settings.model_fields if not key.startswith(("spark_", "cata"))} == {
        "warehouse": "warehouse",
        "busy_timeout_seconds": 30.0,
        "scheduler_interval_ms": 1000,
        "default_schedule_seconds": 1,
        "max_concurrent_refreshes": 2,
        "max_consecutive_errors": 3,
        "max_refresh_attempts": 3,
        "differential_max_change_ratio": 0.15,
        "small_change_rows": 250_000,
        "broadcast_table_rows": 500_000,
        "held_table_rows": 1_000,
        "lookup_table_rows": 100_000,
        "local_query_rows": 250_000,
        "row_cache_bytes": 8 * 1024**3,
        "row_cache_folder": "",
        "rewrite_table_rows": 10_000,
        "scheduler_lease_seconds": 10.0,
        "tick_watermark_enabled": True,
        "allow_circular": False,
        "max_fixpoint_iterations": 100,
        "diamond_consistency": "atomic",
        "diamond_schedule_policy": "fastest",
        "watermark_holdback_timeout": 0,
        "fuse_default_ceiling": 0,
        "gate_stale_warning_seconds": 3600,
        "history_retention_days": 90,
        "log_file": "",
        "log_format": "text",
        "log_level": "INFO",
        "on_failure": "",
        "on_fuse": "",
        "on_late": "",
        "openlineage": "",
    }
    assert (settings.spark_master, settings.spark_conf) == ("local[*]", {})


def test_spark_connect_is_refused_with_its_reason() -> None:
    with pytest.raises(ConfigError, match=r"spark_master.*Spark Connect is not supported.*spark://host:7077"):
        load(spark_master="sc://localhost:15002")


def test_a_folder_is_all_that_is_needed(folder: Path) -> None:
    assert load(warehouse="wh").catalog == f"sqlite:///{folder}/wh/trickle.db"
    assert load(warehouse=f"file://{folder}/a%20b").catalog == f"sqlite:///{folder}/a b/trickle.db"
    assert load(warehouse="wh", catalog="sqlite:///else.db").catalog == "sqlite:///else.db"


def test_a_warehouse_elsewhere_needs_a_catalog() -> None:
    with pytest.raises(ConfigError, match=r"'s3://b/p'.*'catalog' is needed.*TRICKLE_CATALOG, trickle.toml"):
        load(warehouse="s3://b/p")
    assert load(warehouse="s3://b/p", catalog="postgresql://h/d").warehouse == "s3://b/p"


def test_arguments_win_over_variables_and_those_over_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "trickle.toml", "max_consecutive_errors = 5\nmax_refresh_attempts = 5\nhistory_retention_days = 5\n")
    monkeypatch.setenv("TRICKLE_MAX_REFRESH_ATTEMPTS", "6")
    monkeypatch.setenv("TRICKLE_HISTORY_RETENTION_DAYS", "6")
    settings = load(history_retention_days=7, allow_circular=None)
    assert (settings.max_consecutive_errors, settings.max_refresh_attempts, settings.history_retention_days) == (
        5,
        6,
        7,
    )
    assert settings.origin("max_consecutive_errors") == "trickle.toml"
    assert settings.origin("max_refresh_attempts") == "TRICKLE_MAX_REFRESH_ATTEMPTS"
    assert settings.origin("history_retention_days") == "argument"
    assert settings.origin("allow_circular") == "default"


def test_paths_in_a_file_are_meant_from_where_the_file_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "etc").mkdir()
    write(folder / "etc" / "my.toml", 'warehouse = "wh"\n')
    monkeypatch.setenv("TRICKLE_CONFIG", "etc/my.toml")
    assert load().warehouse == f"{folder}/etc/wh"
    write(folder / "etc" / "my.toml", 'catalog = "sqlite:///c.db"\n')
    assert load().catalog == f"sqlite:///{folder}/etc/c.db"


def test_spark_settings_come_from_a_table_or_from_json_and_are_text(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder / "trickle.toml", '[spark_conf]\n"spark.ui.enabled" = false\n"spark.sql.shuffle.partitions" = 4\n')
    assert load().spark_conf == {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4"}
    monkeypatch.setenv("TRICKLE_SPARK_CONF", '{"a": "b"}')
    assert load().spark_conf == {"a": "b"}


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (
            'diamond_consistency = "yes"',
            "'diamond_consistency' (trickle.toml) cannot be 'yes': it should be atomic or none",
        ),
        (
            "max_consecutive_errors = 0",
            "'max_consecutive_errors' (trickle.toml) cannot be '0': it should be greater than",
        ),
        ('spark_driver_memory = "lots"', "'spark_driver_memory' (trickle.toml) cannot be 'lots': String should match"),
        ("allow_circluar = true", "'allow_circluar' (trickle.toml) is not a setting. Did you mean 'allow_circular'?"),
        ("zzz = 1", "'zzz' (trickle.toml) is not a setting. Settings are: warehouse, catalog"),
        ("= nonsense", "'trickle.toml' is not TOML"),
    ],
)
def test_a_wrong_value_in_the_file_is_told_with_its_place_and_what_is_allowed(
    folder: Path, toml: str, message: str
) -> None:
    write(folder / "trickle.toml", toml)
    with pytest.raises(ConfigError) as caught:
        load()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("TRICKLE_ALLOW_CIRCULAR", "perhaps", "'allow_circular' (TRICKLE_ALLOW_CIRCULAR) cannot be 'perhaps'"),
        ("TRICKLE_SPARK_CONF", "{", "'spark_conf' (TRICKLE_SPARK_CONF) is wrong: it is not a JSON object"),
        ("TRICKLE_WAREHOUS", "x", "'TRICKLE_WAREHOUS' is not a setting. Did you mean 'TRICKLE_WAREHOUSE'?"),
        ("TRICKLE_CONFIG", "missing.toml", "'missing.toml' that TRICKLE_CONFIG names does not exist"),
    ],
)
def test_a_wrong_variable_is_told_by_name(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError) as caught:
        load()
    assert message in str(caught.value)


def test_a_variable_of_somebody_elses_with_the_same_prefix_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRICKLE_DOWN_THEORY", "x")
    assert load().origin("warehouse") == "default"


def test_no_rendering_shows_a_secret() -> None:
    settings = load(
        catalog="postgresql+psycopg://ann:hush@db/lake",
        spark_conf={"spark.hadoop.fs.s3a.secret.key": "hush", "spark.x": "jdbc://u:hush@h", "spark.y": "seen"},
    )
    rendered = f"{settings} {settings!r} {settings.shown('catalog')}"
    assert "hush" not in rendered
    assert "ann:***@db" in rendered
    assert "seen" in rendered


def test_a_password_with_an_at_sign_in_it_is_hidden_whole() -> None:
    assert mask_url("postgresql://ann:a@b:c@host/db") == "postgresql://ann:***@host/db"
    assert mask_url("sqlite:///x@y/z.db") == "sqlite:///x@y/z.db"


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        load().warehouse = "other"


def test_every_setting_is_documented() -> None:
    lines = {line.key: line for line in documented()}
    assert set(lines) == set(Settings.model_fields)
    assert [key for key, line in lines.items() if len(line.doc) < 20] == []
    assert lines["diamond_consistency"].default == DiamondConsistency.ATOMIC.value
