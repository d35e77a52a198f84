"""What the inspector computes is what `scpo_envs.credit` computes, bit for bit."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scpo_envs.credit import LexicalMatcher, advantages, scpo, with_rewards
from scpo_envs.inspect.matchers import offers
from scpo_envs.inspect.recompute import BOUNDS, CHOICES, Options, Recomputer, check_work
from scpo_envs.rollouts import RolloutGroup
from tests.inspect.groups import WAYS, hostile, play, worked

RECOMPUTE = Recomputer(offers())

settings = st.builds(
    Options,
    lam=st.none() | st.floats(0, 0.999),
    alpha=st.floats(0, 2),
    omega=st.floats(0, 2),
    gamma=st.floats(0, 1),
    order=st.sampled_from(CHOICES["order"]),
    rule=st.sampled_from(CHOICES["rule"]),
    reference=st.sampled_from(CHOICES["reference"]),
    credit=st.sampled_from(CHOICES["credit"]),
    norm=st.sampled_from(CHOICES["norm"]),
    reward=st.sampled_from(CHOICES["reward"]),
    invalid_penalty=st.floats(0, 1),
)
groups = st.lists(st.tuples(st.booleans(), st.sampled_from(WAYS)), min_size=2, max_size=5).map(
    lambda ways: RolloutGroup("task", [play(won, *actions) for won, actions in ways], success_reward=10.0)
)


@given(groups, settings)
def test_every_number_is_the_librarys(group: RolloutGroup, options: Options) -> None:
    result = json.loads(json.dumps(RECOMPUTE(group, options)))
    names = ("lam", "order", "rule", "reference", "credit")
    chosen = {name: getattr(options, name) for name in names}
    credit = scpo(group, LexicalMatcher(), **chosen)
    assert result["credit"] == [values.tolist() for values in credit.step_credit]
    assert result["reference"] == credit.reference and result["options"]["lam"] == credit.lam
    for told, match in zip(result["matches"], credit.matches, strict=True):
        assert told == {**match.to_dict(), "scores": match.scores.tolist()}
    common = {"omega": options.omega, "gamma": options.gamma, "alpha": options.alpha, "norm": options.norm or None}
    judged = with_rewards(group, options.reward, options.invalid_penalty)  # type: ignore[arg-type]
    for name, more in (("scpo", {"matcher": LexicalMatcher(), **chosen}), ("gigpo", {}), ("grpo", {})):
        expected = advantages([judged], name, **common, **more)
        for level in ("total", "episode", "step"):
            told = result["advantages"][name][level]
            assert told == [values.tolist() for values in getattr(expected, level)[0]], (name, level)


def test_the_group_is_only_read() -> None:
    group, other = worked(), worked()
    RECOMPUTE(group, Options())
    RECOMPUTE.shaped(group, Options())
    assert group == other


@pytest.mark.parametrize("name", [name for name, offer in offers().items() if offer.matcher])
def test_every_matcher_that_is_offered_works(name: str) -> None:
    result = RECOMPUTE(worked(), Options(matcher=name))
    assert sum(result["credit"][1]) > 0
    np.testing.assert_array_equal(
        result["matches"][0]["scores"], RECOMPUTE(worked(), Options(matcher=name))["matches"][0]["scores"]
    )


def test_without_scores_all_else_is_there() -> None:
    with_scores, without = RECOMPUTE(worked(), Options()), RECOMPUTE(worked(), Options(), scores=False)
    for match in with_scores["matches"]:
        del match["scores"]
    assert with_scores == without


@pytest.mark.parametrize(
    "group", [RolloutGroup("t", []), RolloutGroup("t", [play(False, *WAYS[0])]), worked((True,) * 3)]
)
def test_where_there_is_nothing_to_compare_nothing_is_credited(group: RolloutGroup) -> None:
    result = RECOMPUTE(group, Options())
    assert result["matches"] == [] and not any(map(sum, result["credit"]))
    assert not any(map(sum, result["advantages"]["grpo"]["total"]))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"lam": "1"}, r"lam must be in \[0, 1\)"),
        ({"lam": "-0.1"}, "lam must be"),
        ({"lam": "nan"}, "lam must be a number, not 'nan'"),
        ({"lam": "x" * 1000}, "lam must be a number"),
        ({"alpha": "11"}, r"alpha must be in \[0, 10\]"),
        ({"omega": "1e400"}, "omega must be a number"),
        ({"gamma": "1.01"}, "gamma must be"),
        ({"order": "sideways"}, "order='sideways' is unknown: use one of 'length_balanced'"),
        ({"rule": ""}, "rule='' is unknown"),
        ({"reference": "0"}, "reference='0' is unknown"),
        ({"credit": "hard"}, "credit='hard'"),
        ({"norm": "max"}, "norm='max'"),
    ],
)
def test_what_is_out_of_range_or_unknown_is_refused_by_name(arguments: dict[str, str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Options().read(arguments)


def test_a_matcher_that_cannot_be_had_says_what_it_needs() -> None:
    with pytest.raises(ValueError, match="'cross-encoder' is not available: "):
        RECOMPUTE(worked(), Options(matcher="cross-encoder"))
    with pytest.raises(ValueError, match="matcher='magic' is unknown"):
        RECOMPUTE(worked(), Options(matcher="magic"))


def test_options_of_files_are_taken_where_they_make_sense() -> None:
    trained = {
        "alpha": 0.25,
        "omega": 0.5,
        "order": "chronological",
        "matcher": "lexical",
        "lam": 2,
        "gamma": "x",
        "rule": [],
        "reward": "success",
        "invalid_penalty": True,
    }
    options = Options().defaults_of(trained, {"alpha": 0.75, "lam": None, "reference": 3})
    assert options == Options(alpha=0.75, omega=0.5, order="chronological", reward="success")


def test_bounds_are_those_of_the_library() -> None:
    for name, (low, high) in BOUNDS.items():
        RECOMPUTE(worked(), Options(**{name: low}))
        RECOMPUTE(worked(), Options(**{name: high if name != "lam" else 0.999}))


def test_texts_of_any_kind_are_compared_and_too_long_ones_refused() -> None:
    assert RECOMPUTE(hostile(), Options())["matches"]
    group = hostile()
    for rollout in group.rollouts:
        rollout.steps[0].observation = "word " * 200_000
    with pytest.raises(ValueError, match=r"too large to be compared on the spot: 2,\d{3},\d{3} characters"):
        check_work(group)
    group = worked()
    for rollout in group.rollouts:
        rollout.steps *= 200
    with pytest.raises(ValueError, match="2,000 steps of failed rollouts with 1,000 of a success"):
        check_work(group)


def test_a_shaped_group_carries_its_numbers() -> None:
    shaped = RECOMPUTE.shaped(worked(), Options(alpha=0.5))
    step = shaped.rollouts[1].steps[0]
    assert step.credit == 1.0 and step.shaped_reward == 0.5
    assert step.info["advantages"]["gigpo"] == advantages([worked()], "gigpo").total[0][1][0]
    assert RolloutGroup.from_json(shaped.to_json()) == shaped
    assert shaped.info["scpo"]["options"]["lam"] == 0.85
