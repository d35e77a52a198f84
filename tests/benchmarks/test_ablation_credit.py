"""Whom the credit goes to, printed."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="needs the extra train")

from tests.benchmarks import benchmark

ablation_credit = benchmark("ablation_credit")
pytestmark = pytest.mark.usefixtures("control")


def test_shares_are_of_all_steps_and_credit_lifts_what_it_is_given_to(capsys: pytest.CaptureFixture[str]) -> None:
    ablation_credit.main(policy="noisy-expert", groups=16, seed=3, gammas=(0.95,), alphas=(0.5,))
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("| ")
    ]
    whom = {row[0]: row[3:] for row in rows if len(row) == 6}
    for name in ("(all steps of successes)", "(all failed steps)", *ablation_credit.CREDITING):
        assert sum(float(share.rstrip("%")) for share in whom[name]) == pytest.approx(100, abs=0.2), name
    without, with_credit = (row for row in rows if row[0] == "0.95")
    assert float(with_credit[3]) > float(without[3])
    assert float(with_credit[2]) < float(without[2])  # the anchor's mean has risen


def test_groups_of_one_outcome_have_nothing_to_tell() -> None:
    with pytest.raises(SystemExit, match="none of 16 groups has both outcomes: let another policy play than expert"):
        ablation_credit.main(policy="expert", groups=16)
