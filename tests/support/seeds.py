"""Where random tests begin: another place each time, and always the same one in continuous integration, where a change
should fail for its own sake. An environment variable asks for a certain one: that of a failure.
"""

from __future__ import annotations

import os
import secrets

IN_CI = bool(os.environ.get("CI"))


def first_seed(variable: str, in_ci: int = 20261115) -> int:
    """The seed that the variable asks for, or one that suits the place."""
    asked = os.environ.get(variable)
    if asked:
        return int(asked)
    return in_ci if IN_CI else secrets.randbelow(1_000_000)
