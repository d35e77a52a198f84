"""Credit and advantages of one group under other settings: `scpo_envs.credit` itself, asked anew."""

from __future__ import annotations

import math
import threading
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from scpo_envs.credit import Advantages, Credit, Matcher, advantages, scpo, shape
from scpo_envs.credit.orders import ORDERS
from scpo_envs.credit.references import REFERENCES
from scpo_envs.credit.rewards import Reward, with_rewards
from scpo_envs.inspect.matchers import DEFAULT, Offer
from scpo_envs.rollouts import RolloutGroup

CHOICES = {
    "order": tuple(ORDERS),
    "rule": ("frontier", "set", "none"),
    "reference": REFERENCES,
    "credit": ("soft", "binary"),
    "norm": ("", "none", "std"),
    "reward": get_args(Reward),
}
"""The values of the options that have names."""
BOUNDS = {
    "lam": (0.0, 1.0),
    "alpha": (0.0, 10.0),
    "omega": (0.0, 10.0),
    "gamma": (0.0, 1.0),
    "invalid_penalty": (0.0, 10.0),
}
"""Least and greatest values of the others; lambda stays below 1."""
ESTIMATORS = ("scpo", "gigpo", "grpo")
"""Whose advantages are compared."""
LEVELS = ("total", "episode", "step")
"""The parts of an advantage."""
MAX_WORK = 100_000_000_000
"""Largest product of the characters of all failed steps and those of a success that is compared on the spot."""

MAX_PAIRS = 1_000_000
"""Most pairs of failed steps and steps of a success that are compared on the spot."""

_REMEMBERED = 64


@dataclass(frozen=True)
class Options:
    """Settings of `credit.scpo` and `credit.advantages`, with their defaults.

    Attributes:
        lam: Threshold lambda; None is the matcher's own.
        alpha, omega, gamma: See `credit.advantages`.
        order, rule, reference, credit: See `credit.scpo`.
        norm: "none" or "std"; empty is the estimator's own.
        reward, invalid_penalty: See `credit.with_rewards`.
        matcher: A name of `scpo_envs.inspect.matchers.offers`.
    """

    lam: float | None = None
    alpha: float = 0.5
    omega: float = 1.0
    gamma: float = 0.95
    order: str = "length_balanced"
    rule: str = "frontier"
    reference: str = "longest"
    credit: str = "soft"
    norm: str = ""
    reward: str = "env"
    invalid_penalty: float = 0.0
    matcher: str = DEFAULT

    def read(self, arguments: Mapping[str, str]) -> Options:
        """These options with those of an address in place of their own.

        Raises:
            ValueError: A value is no number, out of range or unknown; the message names it.
        """
        given = {one.name: arguments[one.name] for one in fields(self) if one.name in arguments}
        return self.updated({name: _number(name, value) if name in BOUNDS else value for name, value in given.items()})

    def updated(self, values: Mapping[str, Any]) -> Options:
        """These options with others in place of their own.

        Raises:
            ValueError: A value is out of range or unknown.
        """
        for name, value in values.items():
            if name in BOUNDS and value is not None:
                low, high = BOUNDS[name]
                number = isinstance(value, int | float) and not isinstance(value, bool)
                if not (number and low <= value <= high) or (name == "lam" and value == high):
                    raise ValueError(
                        f"{name} must be in [{low:g}, {high:g}{')' if name == 'lam' else ']'}, not {value}"
                    )
            if name in CHOICES and value not in CHOICES[name]:
                known = ", ".join(repr(one) for one in CHOICES[name])
                raise ValueError(f"{name}={str(value)[:40]!r} is unknown: use one of {known}")
        return replace(self, **values)

    def defaults_of(self, *sources: Mapping[str, Any]) -> Options:
        """These options with what files say of theirs; what is none of ours there, or out of range, is passed over."""
        options = self
        for source in sources:
            for one in fields(self):
                value = source.get(one.name)
                if value is not None and one.name != "matcher":
                    try:
                        options = options.updated({one.name: value})
                    except (ValueError, TypeError):
                        continue
        return options


class Recomputer:
    """Computes what a group's page shows.

    Similarities are remembered for the last few pairs of rollouts, so that a slider moves without matching anew. Safe
    to share between threads.

    Args:
        offered: The matchers by name.
    """

    def __init__(self, offered: Mapping[str, Offer]) -> None:
        self.offered = offered
        self._lock = threading.Lock()
        self._matchers = {
            name: _Remembering(offer.matcher) for name, offer in offered.items() if offer.matcher is not None
        }

    def matcher(self, name: str) -> Matcher:
        """The matcher of a name.

        Raises:
            ValueError: There is none, or it cannot be had here; the message says why.
        """
        if name not in self.offered:
            raise ValueError(f"matcher={name[:40]!r} is unknown: use one of {', '.join(map(repr, self.offered))}")
        if name not in self._matchers:
            raise ValueError(f"matcher={name!r} is not available: {self.offered[name].reason}")
        return self._matchers[name]

    def __call__(self, group: RolloutGroup, options: Options, *, scores: bool = True) -> dict[str, Any]:
        """Credit, matches and advantages, as plain lists and numbers.

        Args:
            group: The group.
            options: The settings.
            scores: Whether to give the similarity matrices.

        Returns:
            "options" with the lambda that was used, "reference", "credit" and "shaped" `[rollout][step]`, "matches" as
            `Matches.to_dict` (and "scores"), and "advantages" by estimator with "total", "episode", "step".

        Raises:
            ValueError: The matcher cannot be had, or the group is too large to be compared on the spot.
        """
        credit, shaped, judged = self._analyse(group, options)
        return {
            "options": {**asdict(options), "lam": credit.lam},
            "reference": credit.reference,
            "credit": [values.tolist() for values in credit.step_credit],
            "shaped": [[step.shaped_reward for step in rollout.steps] for rollout in shaped.rollouts],
            "matches": [
                {**match.to_dict(), **({"scores": match.scores.tolist()} if scores else {})} for match in credit.matches
            ],
            "advantages": {
                name: {level: [values.tolist() for values in getattr(one, level)[0]] for level in LEVELS}
                for name, one in judged.items()
            },
        }

    def shaped(self, group: RolloutGroup, options: Options) -> RolloutGroup:
        """The group with its credit and advantages written in, as a rollout file keeps them.

        Raises:
            ValueError: As for a call.
        """
        credit, shaped, judged = self._analyse(group, options)
        for index, rollout in enumerate(shaped.rollouts):
            for place, step in enumerate(rollout.steps):
                totals = {name: float(one.total[0][index][place]) for name, one in judged.items()}
                step.info = {**step.info, "advantages": totals}
        shaped.info["scpo"] |= {"options": {**asdict(options), "lam": credit.lam}}
        return shaped

    def _analyse(self, group: RolloutGroup, options: Options) -> tuple[Credit, RolloutGroup, dict[str, Advantages]]:
        matcher = self.matcher(options.matcher)
        check_work(group)
        with self._lock:  # matchers count what they do, and warnings are the process's
            credit = scpo(
                group,
                matcher,
                lam=options.lam,
                order=options.order,
                rule=options.rule,  # type: ignore[arg-type]  # checked by Options
                reference=options.reference,
                credit=options.credit,  # type: ignore[arg-type]
            )
            shaped = shape(group, credit, alpha=options.alpha)
            judged = with_rewards(shaped, options.reward, options.invalid_penalty)  # type: ignore[arg-type]
            return credit, shaped, {name: self._judge(judged, name, options) for name in ESTIMATORS}

    def _judge(self, shaped: RolloutGroup, estimator: str, options: Options) -> Advantages:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a group of one: its page says so
            return advantages(
                [shaped],
                estimator,
                omega=options.omega,
                gamma=options.gamma,
                alpha=options.alpha,
                norm=options.norm or None,  # type: ignore[arg-type]
            )


def check_work(group: RolloutGroup) -> None:
    """Refuse a group that is too large to be compared while somebody waits.

    Raises:
        ValueError: It is.
    """
    sizes = [
        sum(map(len, {f"{step.observation}\n{step.action}" for step in rollout.steps})) for rollout in group.rollouts
    ]
    lengths = [len(rollout) for rollout in group.rollouts]
    for name, amounts, most in (("steps", lengths, MAX_PAIRS), ("characters", sizes, MAX_WORK)):
        failed = sum(amounts[index] for index in group.failures)
        longest = max((amounts[index] for index in group.successes), default=0)
        if failed * longest > most:
            raise ValueError(
                f"this group is too large to be compared on the spot: {failed:,} {name} of failed rollouts with "
                f"{longest:,} of a success"
            )


class _Remembering:
    """A matcher that remembers its last answers."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._known: OrderedDict[tuple[tuple[str, ...], tuple[str, ...]], NDArray[np.float64]] = OrderedDict()
        self.default_threshold = float(getattr(matcher, "default_threshold", 0.5))

    def __call__(self, failed_texts: Sequence[str], reference_texts: Sequence[str], /) -> NDArray[np.float64]:
        key = (tuple(failed_texts), tuple(reference_texts))
        if key not in self._known:
            self._known[key] = self._matcher(failed_texts, reference_texts)
        self._known.move_to_end(key)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return self._known[key]


def _number(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{name} must be a number, not {value[:40]!r}")
    return number
