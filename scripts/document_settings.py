"""Writes docs/settings.md from the settings themselves. `tests/test_docs.py` checks that it is up to date."""

from __future__ import annotations

from pathlib import Path

from spark_trickle.config import documented

HEAD = """# Settings

Read from `trickle.toml` (in the working directory, or where `TRICKLE_CONFIG` points), then `TRICKLE_<NAME>` variables,
then arguments of `connect` or flags; the last one wins.

Made from `spark_trickle/config.py` by `scripts/document_settings.py`.

| setting | default | meaning |
|---|---|---|
"""


def text() -> str:
    lines = [f"| `{s.key}` | {f'`{s.default}`' if s.default else ''} | {s.doc} |" for s in documented()]
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    (Path(__file__).parents[1] / "docs" / "settings.md").write_text(text(), encoding="utf-8")
