"""docs/operate.md and the files in deploy/: commands are run, or at least understood, and settings are settings."""

from __future__ import annotations

import ast
import configparser
import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml
from cronsim import CronSim
from typer.main import get_command

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.cli.doctor import MINIMUM_JAVA
from spark_trickle.cli.main import app, run
from spark_trickle.config import PREFIX, Settings
from spark_trickle.model.publication import Publication
from tests.support.catalog_values import NOON, stream_table

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "operate.md").read_text(encoding="utf-8")
DEPLOY = ROOT / "deploy"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", TEXT, re.DOTALL)


def understood(command: str) -> None:
    """The command line knows the command and its options."""
    words = shlex.split(command)
    while words and words[0].startswith("--"):
        words = words[2:]
    found = get_command(app).commands.get(words[0])  # type: ignore[attr-defined]
    assert found is not None, command
    known = {name for parameter in found.params for name in parameter.opts}
    assert {word for word in words[1:] if word.startswith("-")} <= known, command


def test_the_commands_of_the_page_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = Catalog.open(f"sqlite:///{tmp_path}/trickle.db")
    catalog.publish(Publication(created=(stream_table("totals", last_refresh_at=NOON, data_timestamp=NOON),)))
    catalog.close()
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(commands) > 6
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "trickle"
        assert run(["--warehouse", str(tmp_path), *words[1:]]) == 0, command
        assert "error" not in capsys.readouterr().err


def test_its_settings_are_settings_and_its_json_is_json() -> None:
    for block in blocks("toml"):
        Settings(**tomllib.loads(block))
    for block in blocks("json"):
        assert {"event", "table", "text", "lake", "at"} <= json.loads(block).keys()
    for code in re.findall(r"`([a-z_]+)`", TEXT):
        if code.startswith(("on_", "log_", "catalog_", "openl")):
            assert code in Settings.model_fields, code


@pytest.mark.parametrize("name", ["trickle-run.service", "trickle-serve.service"])
def test_the_units_of_systemd_start_commands_that_there_are(name: str) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string((DEPLOY / name).read_text())
    assert {"Unit", "Service", "Install"} == set(unit.sections())
    understood(unit["Service"]["ExecStart"].split("/bin/trickle ")[1])


def test_the_compose_file_has_settings_and_commands_that_there_are() -> None:
    made = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    for service in ("scheduler", "page"):
        understood(shlex.join(made["services"][service]["command"]))
        environment = made["services"][service]["environment"]
        assert {key.removeprefix(PREFIX).lower() for key in environment} <= set(Settings.model_fields)
        assert set(made["services"][service]["secrets"]) <= set(made["secrets"])
    understood(shlex.join(made["services"]["scheduler"]["healthcheck"]["test"][2:]))


def test_the_image_has_java_and_what_the_page_needs() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    java = re.search(r"openjdk-(\d+)-", text)
    assert java is not None and int(java[1]) >= MINIMUM_JAVA
    for source in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / each).exists() for each in source.split())
    assert ".[serve]" in text


def test_cron_and_airflow_run_commands_that_there_are() -> None:
    lines = [line for line in (DEPLOY / "crontab").read_text().splitlines() if line and line[0] in "*0123456789"]
    for line in lines:
        CronSim(" ".join(line.split()[:5]), NOON)
        understood(line.split("/bin/trickle ")[1].partition(" >")[0])
    text = (DEPLOY / "airflow_dag.py").read_text()
    ast.parse(text)
    commands = re.findall(r'f"\{TRICKLE\} ([^"]+)"', text)
    assert len(lines) == 3 and len(commands) == 4
    for command in commands:
        understood(command)


def test_every_file_says_whether_it_was_tried() -> None:
    said = (DEPLOY / "README.md").read_text()
    for file in DEPLOY.iterdir():
        assert file.name == "README.md" or f"`{file.name}`" in said
