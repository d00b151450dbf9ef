"""What a driver holds grows with its stream tables by kilobytes each, and not from tick to tick.
`TRICKLE_SCALE_TABLES` is how many there are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.scale.test_tpch_on_a_cluster import say

ROOT = Path(__file__).parents[2]
TABLES = int(os.environ.get("TRICKLE_SCALE_TABLES", "1000"))
MOST_KB_A_TABLE = 500
"""Of Python's memory and the JVM's heap together."""
MOST_GROWTH_MB = 30
"""From the second tick that changes everything to the third."""


def test_a_thousand_stream_tables_fit_into_a_small_driver(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.scale.many_tables", str(tmp_path / "lake"), str(TABLES)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        told = []
        for line in process.stdout:
            say(line.strip())
            told.append(json.loads(line))
    assert process.returncode == 0
    held = [each["python_mb"] + each["jvm_heap_mb"] for each in told]
    ticked = [mb for each, mb in zip(told, held, strict=True) if each["step"] == "ticked, all of them changed"]
    assert (ticked[-1] - held[0]) * 1024 / TABLES < MOST_KB_A_TABLE
    assert ticked[-1] - ticked[-2] < MOST_GROWTH_MB
