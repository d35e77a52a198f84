import re
from collections.abc import Sequence

import numpy as np


class VerbMatcher:
    """Two steps are alike if they do the same to the same things; the order of the things does not count."""

    default_threshold = 0.5

    def __call__(self, failed: Sequence[str], reference: Sequence[str]) -> np.ndarray:
        """Scores in [0, 1], shape (len(failed), len(reference)); the last line of a step's text is its action."""
        return np.array([[self.score(one, other) for other in reference] for one in failed])

    def score(self, one: str, other: str) -> float:
        (verb, things), (other_verb, other_things) = self.read(one), self.read(other)
        if verb != other_verb:
            return 0.0
        return len(things & other_things) / max(1, len(things | other_things))

    def read(self, text: str) -> tuple[str, set[str]]:
        action = text.splitlines()[-1]
        return action.split()[0], set(re.findall(r"[a-z]+ \d+", action))
