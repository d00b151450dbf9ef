"""Golden files: a query, then what should come of it. `TRICKLE_GOLDENS=write` writes them anew; the diff is the review.

A case is `-- title: …`, the query, and sections that start with `---- name`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "cases"


@dataclass(frozen=True)
class Case:
    """One case of a file."""

    file: Path
    title: str
    query: str
    sections: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.file.stem}: {self.title}"

    @property
    def text(self) -> str:
        parts = [f"-- title: {self.title}", self.query]
        parts += [f"---- {name}\n{body}" for name, body in self.sections]
        return "\n".join(parts) + "\n"


def cases(folder: str) -> list[Case]:
    """All cases of all files of a folder."""
    return [case for file in sorted((FOLDER / folder).glob("*.sql")) for case in _read(file)]


def compare(case: Case, found: dict[str, str]) -> None:
    """What was found against what the file says."""
    new = replace(case, sections=tuple((name, body.strip()) for name, body in found.items()))
    if os.environ.get("TRICKLE_GOLDENS") == "write":
        text = "\n".join(new.text if other.title == case.title else other.text for other in _read(case.file))
        case.file.write_text(text, encoding="utf-8")
        return
    assert new.text == case.text


def _read(file: Path) -> list[Case]:
    found = []
    for part in file.read_text(encoding="utf-8").split("-- title: ")[1:]:
        title, rest = part.split("\n", 1)
        query, *sections = rest.split("\n---- ")
        bodies = tuple((name, body.strip()) for name, body in (section.split("\n", 1) for section in sections))
        found.append(Case(file, title.strip(), query.strip(), bodies))
    return found
