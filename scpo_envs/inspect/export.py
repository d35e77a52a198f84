"""One group as a file of its own: a page that needs nothing else, with numbers for a choice of thresholds."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from flask import Flask, render_template
from markupsafe import Markup

from scpo_envs.inspect.recompute import LEVELS, Options, Recomputer
from scpo_envs.inspect.view import GroupView
from scpo_envs.rollouts import RolloutGroup

STATIC = Path(__file__).parent / "static"
SCRIPTS = ("keys.js", "numbers.js", "lines.js", "matrix.js", "group.js")
"""The scripts of a group's page, in order."""
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(20))
"""Lambdas whose numbers a page holds, beside the one that was chosen."""
_DIGITS = 4


def export_page(app: Flask, group: RolloutGroup, view: GroupView, options: Options, recompute: Recomputer) -> str:
    """A page with styles, scripts and numbers inside. It works from a disk, without any connection.

    Credit and advantages are those of `scpo_envs.credit`, in full; similarities are rounded for the heat map.

    Args:
        app: The inspector, whose templates are used.
        group: The group.
        view: What to say of it.
        options: The settings; the page's slider changes lambda alone.
        recompute: Computes the numbers.

    Raises:
        ValueError: As for `Recomputer`.
    """
    chosen = recompute(group, options)
    own = chosen["options"]["lam"]
    results = {own: chosen}
    for lam in THRESHOLDS:
        results.setdefault(lam, recompute(group, replace(options, lam=lam), scores=False))
    for match in chosen["matches"]:
        match["scores"] = [[round(score, _DIGITS) for score in row] for row in match["scores"]]
    data = {
        "result": chosen,
        "problem": "",
        "thresholds": [_varying(results[lam], chosen) for lam in sorted(results)],
    }
    style = (STATIC / "inspector.css").read_text(encoding="utf-8")
    script = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in SCRIPTS)
    with app.app_context():
        return render_template(
            "group.html",
            offline=True,
            style=Markup(style),
            script=Markup(script),
            policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'",
            view=view,
            options=replace(options, lam=own),
            data=data,
        )


def _varying(result: dict[str, Any], chosen: dict[str, Any]) -> dict[str, Any]:
    """What depends on lambda; with it the choice of a reference may change, and then all that is matched."""
    same = result["reference"] == chosen["reference"]
    names = ("rollout", "verdict", "claimed", *(() if same else ("position", "score", "order")))
    return {
        "lam": result["options"]["lam"],
        "reference": result["reference"],
        "credit": result["credit"],
        "shaped": result["shaped"],
        "matches": [{name: match[name] for name in names} for match in result["matches"]],
        "scpo": {level: result["advantages"]["scpo"][level] for level in LEVELS},
    }


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
