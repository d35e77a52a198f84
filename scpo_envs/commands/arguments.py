"""KEY=VALUE arguments of the command line as Python values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def keyword_arguments(pairs: Iterable[str]) -> dict[str, Any]:
    """Read arguments such as `split=valid_seen` or `reward_scale=10`.

    A value that is JSON is read as such (`true`, `null`, `10`, `[1, 2]`), anything else is text.

    Raises:
        ValueError: An argument is not of the form KEY=VALUE, or a key comes twice.
    """
    arguments: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.isidentifier():
            raise ValueError(f"expected KEY=VALUE, such as split=valid_seen, not {pair!r}")
        if key in arguments:
            raise ValueError(f"{key!r} is given twice")
        try:
            arguments[key] = json.loads(value)
        except (ValueError, RecursionError):
            arguments[key] = value
    return arguments
