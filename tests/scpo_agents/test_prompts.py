"""What a model is told."""

from __future__ import annotations

from scpo_agents.prompts import Transcript


def test_the_prompt_holds_task_last_exchanges_observation_and_commands() -> None:
    transcript = Transcript("find it.", [("room 1", "go a"), ("room 2", "go b"), ("room 3", "go c")])
    system, user = transcript.messages("room 4", ["look", "go d"], history=2)
    assert "<action>" in system["content"]
    text = user["content"]
    assert "find it." in text and "room 4" in text and text.endswith("look\ngo d")
    assert "room 1" not in text and text.index("room 2") < text.index("room 3") < text.index("room 4")


def test_no_history_can_be_asked_for() -> None:
    _, user = Transcript("t", [("seen", "done")]).messages("now", [], history=0)
    assert "seen" not in user["content"] and "now" in user["content"]
