"""Groups to inspect: the worked example of the documentation, any number of others, and hostile ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scpo_envs.credit import scpo, shape
from scpo_envs.rollouts import Rollout, RolloutGroup, Step, write_groups

ROOM = "You are in a kitchen. You see a fridge 1, a microwave 1, and a sinkbasin 1."
ANSWERS = {
    "go to fridge 1": "You arrive at fridge 1. The fridge 1 is closed.",
    "open fridge 1": "You open the fridge 1. In it, you see a apple 1.",
    "take apple 1 from fridge 1": "You pick up the apple 1 from the fridge 1.",
    "go to microwave 1": "You arrive at microwave 1. The microwave 1 is closed.",
    "heat apple 1 with microwave 1": "You heat the apple 1 using the microwave 1.",
    "go to sinkbasin 1": "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing.",
    "look": ROOM,
}
WAYS = (
    (
        "go to fridge 1",
        "open fridge 1",
        "take apple 1 from fridge 1",
        "go to microwave 1",
        "heat apple 1 with microwave 1",
    ),
    ("go to fridge 1", "open fridge 1", "take apple 1 from fridge 1", "go to sinkbasin 1", "look"),
    ("look", "go to sinkbasin 1", "look", "go to sinkbasin 1", "look"),
)
HOSTILE = (
    "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>\"'&{{ 7 * 7 }}\u2028\ud800 🙂"
)


def play(won: bool, *actions: str) -> Rollout:
    seen = [ROOM, *(ANSWERS[action] for action in actions)]
    rewards = [0.0] * (len(actions) - 1) + [float(won)]
    steps = [Step(*parts) for parts in zip(seen, actions, rewards, strict=False)]
    return Rollout(steps, won=won, truncated=not won, final_observation=seen[-1])


def worked(outcomes: tuple[bool, ...] = (True, False, False), **info: object) -> RolloutGroup:
    """The documentation's group: one success, one near miss, one that looks around."""
    rollouts = [play(won, *way) for won, way in zip(outcomes, WAYS, strict=True)]
    return RolloutGroup("heat the apple", rollouts, instruction="heat some apple.", info=dict(info))


def shaped(group: RolloutGroup) -> RolloutGroup:
    return shape(group, scpo(group))


def hostile() -> RolloutGroup:
    """Every text tries to be more than a text."""
    group = worked()
    group.task = group.instruction = HOSTILE
    group.info["task_type"] = HOSTILE
    for rollout in group.rollouts:
        rollout.final_observation = HOSTILE
        for step in rollout.steps:
            step.observation, step.action = f"{step.observation}\n{HOSTILE}", f"{step.action} {HOSTILE}"
    group.rollouts[1].steps[0].observation = HOSTILE + "x" * (1 << 20)
    return group


def many(count: int) -> Iterator[RolloutGroup]:
    """Groups of three kinds, outcomes and degrees of credit, every fifth without credit."""
    for index in range(count):
        outcomes = ((True, False, False), (True, True, True), (False, False, False))[index % 3]
        group = worked(outcomes, task_type=f"kind_{index % 2}")
        group.task, group.instruction = f"task {index}", f"heat apple number {index}."
        yield group if index % 5 == 4 else shaped(group)


def write(path: Path, *groups: RolloutGroup) -> Path:
    write_groups(path, groups)
    return path
