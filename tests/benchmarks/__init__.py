"""Tests of the benchmarks' own arithmetic, none of their figures."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from scpo_envs.credit.estimators.registry import ESTIMATORS

FOLDER = Path(__file__).parents[2] / "benchmarks"


def benchmark(name: str) -> ModuleType:
    """A script of the folder `benchmarks`, as a module.

    The folder is searched for no longer than that: a script there is named like an original's package. What the script
    registers is forgotten, for other tests list what the library has.
    """
    known = dict(ESTIMATORS)
    sys.path.insert(0, str(FOLDER))
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(FOLDER))
        for added in ESTIMATORS.keys() - known.keys():
            ESTIMATORS.pop(added)
