"""What the engine advises, in the words of the command line: its errors and reasons name Python calls, people here
type commands. Pure.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

_NAME = r"'(?P<name>(?:[^']|'(?!\)|,))+)'"
_WORDS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(rf"(?:engine\.)?{pattern}"), make)
    for pattern, make in (
        (
            rf"refresh_stream_table\({_NAME}, mode='(?P<mode>\w+)'\)",
            lambda found: f"`trickle refresh {_quoted(found)} --mode {found['mode']}`",
        ),
        (rf"refresh_stream_table\({_NAME}\)", lambda found: f"`trickle refresh {_quoted(found)}`"),
        (rf"resume_stream_table\({_NAME}\)", lambda found: f"`trickle resume {_quoted(found)}`"),
        (rf"history\({_NAME}\)", lambda found: f"`trickle history {_quoted(found)}`"),
        (
            rf"alter_stream_table\({_NAME}, (?P<option>schedule|query)=\.\.\.\)",
            lambda found: f"`trickle alter {_quoted(found)} --{found['option']} ...`",
        ),
        (
            r"alter_stream_table\(\.\.\., (?P<option>schedule|query)=\.\.\.\)",
            lambda found: f"`trickle alter ... --{found['option']} ...`",
        ),
        (
            rf"reset_fuse\({_NAME}, '(?P<action>\w+)'\)",
            lambda found: f"`trickle fuse reset {_quoted(found)} --action {found['action']}`",
        ),
        (rf"advance_watermark\({_NAME}, \.\.\.\)", lambda found: f"`trickle watermark advance {_quoted(found)} ...`"),
        (r"fuse_status\(\) lists them", lambda _found: "`trickle fuse` lists them"),
        (r"watermark_groups\(\) lists them", lambda _found: "`trickle watermark list --groups` lists them"),
        (r"watermarks\(\) lists them", lambda _found: "`trickle watermark list` lists them"),
        (r"watermark_status\(\)", lambda _found: "`trickle watermark`"),
        (rf"ungate_source\({_NAME}\)", lambda found: f"`trickle ungate {_quoted(found)}`"),
        (r"use cascade=True \(SQL: CASCADE\)", lambda _found: "use --cascade"),
        (r"SHOW STREAM TABLES \(or `trickle status`\)", lambda _found: "`trickle status`"),
        (r"`trickle run` \(engine\.run\(\)\)", lambda _found: "`trickle run`"),
    )
)


def as_commands(text: str) -> str:
    """The same text with commands where it names calls.

    >>> as_commands("resume_stream_table('daily sales') lets it be refreshed again")
    "`trickle resume 'daily sales'` lets it be refreshed again"
    """
    for pattern, make in _WORDS:
        text = pattern.sub(make, text)
    return text


def _quoted(found: re.Match[str]) -> str:
    return shlex.quote(found["name"])
