from __future__ import annotations

import numpy as np
import pytest

from scpo_envs.inspect.matchers import DEFAULT, offers
from scpo_envs.inspect.recompute import Options, Recomputer
from tests.inspect.groups import worked


def test_lexical_matchers_are_always_there_and_the_others_say_how_to_have_them() -> None:
    listed = offers()
    assert next(iter(listed)) == DEFAULT
    for name, offer in listed.items():
        assert (offer.matcher is not None) == name.startswith("lexical")
        assert bool(offer.reason) != name.startswith("lexical")


def test_a_model_that_was_loaded_is_offered() -> None:
    recompute = Recomputer(offers({"onnx": lambda failed, reference: np.full((len(failed), len(reference)), 0.9)}))
    result = recompute(worked(), Options(matcher="onnx"))
    assert result["options"]["lam"] == 0.5
    assert np.unique(result["matches"][0]["scores"]).tolist() == [0.9]
    with pytest.raises(ValueError, match="unknown matcher 'magic'"):
        offers({"magic": lambda failed, reference: np.zeros((0, 0))})
