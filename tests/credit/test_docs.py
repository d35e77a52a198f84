"""The credit page: nothing public is missing from it. That its examples run is tests/test_docs.py's affair."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from scpo_envs import credit
from scpo_envs.credit import ESTIMATORS

PAGE = Path(__file__).parents[2] / "docs" / "credit.md"


@pytest.mark.parametrize("name", credit.__all__)
def test_every_export_is_on_the_page(name: str) -> None:
    assert re.search(rf"\b{name}\b", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("option", sorted(set(inspect.signature(credit.scpo).parameters) - {"group"}))
def test_every_option_of_scpo_is_on_the_page(option: str) -> None:
    assert f"`{option}`" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_every_estimator_is_on_the_page(name: str) -> None:
    assert f'"{name}"' in PAGE.read_text(encoding="utf-8")
