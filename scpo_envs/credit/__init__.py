"""Credit assignment over groups of sibling rollouts: SCPO and its rivals, as pure functions.

`scpo` finds the credit of failed steps, `shape` writes it into a copy of the group, `advantages`
turns groups into advantages with one of many estimators, `with_rewards` says by what rewards.
Nothing here knows an environment; no model library is imported before a matcher that needs it is made.
"""

from __future__ import annotations

from scpo_envs.credit.advantage import Advantages, advantages
from scpo_envs.credit.bank import SuccessBank
from scpo_envs.credit.consistency import match_steps, scpo
from scpo_envs.credit.estimators import ESTIMATORS, Estimate, StepTable, register_estimator
from scpo_envs.credit.matchers import (
    CrossEncoderMatcher,
    EmbeddingMatcher,
    LexicalMatcher,
    Matcher,
    MatcherStats,
    OnnxCrossEncoderMatcher,
)
from scpo_envs.credit.orders import assignment_order
from scpo_envs.credit.result import Credit, Matches, shape
from scpo_envs.credit.rewards import with_rewards
from scpo_envs.credit.texts import step_texts

__all__ = [
    "ESTIMATORS",
    "Advantages",
    "Credit",
    "CrossEncoderMatcher",
    "EmbeddingMatcher",
    "Estimate",
    "LexicalMatcher",
    "Matcher",
    "MatcherStats",
    "Matches",
    "OnnxCrossEncoderMatcher",
    "StepTable",
    "SuccessBank",
    "advantages",
    "assignment_order",
    "match_steps",
    "register_estimator",
    "scpo",
    "shape",
    "step_texts",
    "with_rewards",
]
