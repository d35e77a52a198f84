"""Several processes train the language model that one would."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the language-model agent needs torch: pip install 'scpo-envs[llm]'")
pytest.importorskip("transformers", reason="the agent needs transformers: pip install 'scpo-envs[llm]'")

from tests.scpo_agents.test_processes import compare, measured_alone_and_together

RECIPE = """
agent:
  {name: llm, model: scratch, words: [SCPO-ALFWorld-v0], reply: choose, context: transcript, show_commands: false,
   width: 16, heads: 2, layers: 1, max_context: 1024}
clone: {episodes: 9, epochs: 2, batch: 20, shuffle: rollouts}
groups: {tasks: 3, siblings: 2, max_steps: 6}
update: {iterations: 2, minibatch: 20, shuffle: rollouts, average: token}
evaluate: {every: 0}
"""


@pytest.mark.slow
def test_two_processes_have_the_losses_of_one(tmp_path: Path) -> None:
    alone, together = measured_alone_and_together(RECIPE, tmp_path)
    assert [line["iteration"] for line in alone] == [1, 2]
    # Adam's first steps make much of little, so what is nearly zero agrees in its first digits
    compare(alone, together, rel=0.03)
