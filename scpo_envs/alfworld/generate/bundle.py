"""Writes archives of generated games, and the one that comes with the package.

    python -m scpo_envs.alfworld.generate.bundle scpo_envs/alfworld/data/games.zip

makes the bundled archive anew. `scpo_envs.alfworld.archive` describes the form.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zipfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from scpo_envs.alfworld.archive import MANIFEST, escaped
from scpo_envs.alfworld.generate import VERSION, GameRecord, generate_games
from scpo_envs.alfworld.generate.layout import layout_numbered
from scpo_envs.alfworld.generate.problem import write_layout

BUNDLE_SEED = 0
"""The seed of the bundled games."""

BUNDLE_COUNTS = {"train": 1200, "valid_seen": 140, "valid_unseen": 134}
"""How many games of each split are bundled; for evaluation as many as ALFWorld's own."""

_EPOCH = (1980, 1, 1, 0, 0, 0)


def bundled_records() -> Iterator[GameRecord]:
    """Generate the bundled games anew."""
    return chain.from_iterable(
        generate_games(seed=BUNDLE_SEED, count=count, split=split) for split, count in BUNDLE_COUNTS.items()
    )


def build_bundle(path: str | os.PathLike[str]) -> None:
    """Generate the bundled games and write their archive, in some seconds."""
    write_archive(path, bundled_records())


def write_archive(path: str | os.PathLike[str], records: Iterable[GameRecord]) -> int:
    """Write games to an archive, as a whole or not at all.

    Args:
        path: The file; one that exists is replaced.
        records: The games, each id once.

    Returns:
        How many games there are.

    Raises:
        ValueError: An id comes twice.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    hashes: dict[str, str] = {}
    layouts: set[str] = set()
    try:
        with zipfile.ZipFile(partial, "w") as archive:
            for record in records:
                if record.id in hashes:
                    raise ValueError(f"game {record.id} comes twice")
                full = record.to_json().encode()
                hashes[record.id] = hashlib.sha256(full).hexdigest()
                seed, number = record.generator["seed"], record.generator["layout"]
                layout, text = f"layouts/{seed}-{number}", write_layout(layout_numbered(seed, number))
                parts = {"objects": text.objects, "init": text.init}
                if layout not in layouts:
                    layouts.add(layout)
                    _write(archive, f"{layout}.json", json.dumps(parts).encode())
                for name, part in parts.items():
                    full = full.replace(escaped(part), f"; {layout} {name}".encode())
                _write(archive, f"{record.id}.json", full)
            manifest = {"version": VERSION, "games": dict(sorted(hashes.items()))}
            _write(archive, MANIFEST, json.dumps(manifest, indent=0).encode())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return len(hashes)


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a member that says nothing about when and where it was written."""
    info = zipfile.ZipInfo(name, date_time=_EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    info.external_attr = 0o644 << 16
    archive.writestr(info, content, compresslevel=9)


if __name__ == "__main__":
    build_bundle(sys.argv[1])
