"""Makes docs/images/worked-group.html and .png: the group that docs/credit.md works through, in the inspector.

python docs/figures.py     # needs the extra `server`, and Chromium for the picture
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from scpo_envs.inspect.app import create_app
from scpo_envs.inspect.runs import Library
from scpo_envs.rollouts import RolloutGroup, write_groups

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
BROWSER = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1200,816")


def worked_group() -> RolloutGroup:
    """The group of the credit page's first example."""
    names: dict[str, RolloutGroup] = {}
    (example, *_) = re.findall(r"```python\n(.*?)```", (DOCS / "credit.md").read_text(encoding="utf-8"), re.DOTALL)
    exec(example.partition("result = ")[0], names)
    return names["group"]


def export(group: RolloutGroup) -> str:
    """The inspector's page of one group, with everything inside."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "worked-group.jsonl"
        write_groups(path, [group])
        library = Library(path)
        library.refresh()
        client = create_app(library).test_client()
        (run,) = library.runs.values()
        (file_id,) = run.files
        (entry,) = run.files[file_id].entries
        answer = client.get(f"/runs/{run.id}/groups/{file_id}/{entry.line}/export.html")
        if answer.status_code != 200:
            raise SystemExit(answer.text)
        return answer.text


def main() -> None:
    """Write the page, and take its picture."""
    IMAGES.mkdir(exist_ok=True)
    page = IMAGES / "worked-group.html"
    page.write_text(export(worked_group()), encoding="utf-8")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("no Chromium: the page is written, the picture is not")
    picture = f"--screenshot={page.with_suffix('.png')}"
    subprocess.run([chromium, *BROWSER, picture, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
