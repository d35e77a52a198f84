"""What tests of several benchmarks share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scpo_envs.credit.estimators.registry import ESTIMATORS, register_estimator
from tests.benchmarks import benchmark


@pytest.fixture
def control() -> Iterator[None]:
    """The ablation's control is an estimator while a test runs."""
    register_estimator("scpo_random", step_level=True)(benchmark("ablation").scpo_random)
    yield
    del ESTIMATORS["scpo_random"]
