"""What tests of the vector env share."""

from __future__ import annotations

import pytest

from scpo_envs.vector import GroupVectorEnv
from tests.vector.play import make_expert_toy


@pytest.fixture
def venv() -> GroupVectorEnv:
    """Three groups of four siblings."""
    return GroupVectorEnv(make_expert_toy, num_envs=12, group_size=4)
