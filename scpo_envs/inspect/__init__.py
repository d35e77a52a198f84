"""The inspector: a local site over rollout files and run folders, for `scpo inspect`.

`Library` finds runs and keeps an index of their groups, `create_app` serves them, `export_page` makes one group a
file of its own. Needs the extra `server`, which is imported with `scpo_envs.inspect.app`.
"""

from __future__ import annotations

from scpo_envs.inspect.index import Entry, GroupFile
from scpo_envs.inspect.runs import Library, Run

__all__ = ["Entry", "GroupFile", "Library", "Run"]
