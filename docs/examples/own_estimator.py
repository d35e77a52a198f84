import numpy as np

from scpo_envs import credit


@credit.register_estimator("median", step_level=True)
def median(table: credit.StepTable, gamma: float) -> credit.Estimate:
    """GiGPO with medians for means: one lucky sibling moves nobody else's advantage."""
    states = list(zip(table.step_group.tolist(), table.observations, strict=True))  # the same text in the same group
    numbers = {state: number for number, state in enumerate(dict.fromkeys(states))}
    anchors = np.array([numbers[state] for state in states])
    returns = table.step_returns(gamma)  # with SCPO's credit in them, where SCPO stands on this estimator
    return credit.Estimate(
        episode=table.outcomes - medians(table.outcomes, table.rollout_group),
        step=returns - medians(returns, anchors),
    )


def medians(values: np.ndarray, members: np.ndarray) -> np.ndarray:
    """The median of each value's group, shape of `values`."""
    return np.array([np.median(values[members == member]) for member in members])
