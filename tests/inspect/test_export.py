from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

from scpo_envs.credit import scpo
from scpo_envs.inspect.export import SCRIPTS, STATIC, THRESHOLDS
from tests.inspect.conftest import Inspected
from tests.inspect.groups import shaped, worked, write


def exported(one: Inspected, **arguments: object) -> str:
    answer = one.client.get(one.place() + "/export.html", query_string=arguments)
    assert answer.headers["Content-Disposition"] == 'attachment; filename="group-1.html"'
    return answer.text


def test_it_names_nothing_outside_itself(worked_file: Inspected) -> None:
    page = exported(worked_file)
    assert not re.search(r"\b(src|href)=\"(?!#)", page)
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page)


def test_its_policy_admits_its_own_style_and_script_alone(worked_file: Inspected) -> None:
    page = exported(worked_file)
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src &#39;none&#39;")
    [style], [script] = (re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S) for tag in ("style", "script"))
    for text in (style, script):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"sha256-{digest}" in policy.replace("&#43;", "+")


def test_it_holds_the_numbers_of_twenty_thresholds_and_the_chosen_one(worked_file: Inspected) -> None:
    page = exported(worked_file, lam="0.62", rule="set")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert [one["lam"] for one in data["thresholds"]] == sorted({*THRESHOLDS, 0.62})
    for one in data["thresholds"]:
        credit = scpo(worked(), lam=one["lam"], rule="set")
        assert one["credit"] == [values.tolist() for values in credit.step_credit]
    assert data["result"]["options"]["lam"] == 0.62


def test_where_the_reference_depends_on_the_threshold_so_do_the_matches(tmp_path: Path) -> None:
    one = Inspected(write(tmp_path / "a.jsonl", shaped(worked((True, False, True)))))
    data = json.loads(re.search(r'id="data">(.*?)</script>', exported(one, reference="best_match"), re.S)[1])
    for kept in data["thresholds"]:
        credit = scpo(worked((True, False, True)), lam=kept["lam"], reference="best_match")
        assert kept["reference"] == credit.reference
        same = kept["reference"] == data["result"]["reference"]
        positions = data["result"]["matches"][0]["position"] if same else kept["matches"][0]["position"]
        assert positions == credit.matches[0].position.tolist()


def test_its_scripts_are_those_of_the_page_and_cannot_end_early() -> None:
    page = (STATIC.parent / "templates" / "group.html").read_text()
    layout = (STATIC.parent / "templates" / "layout.html").read_text()
    for name in SCRIPTS:
        assert name.removesuffix(".js") in page or name in layout
        assert "</script" not in (STATIC / name).read_text()
    assert "</style" not in (STATIC / "inspector.css").read_text()
