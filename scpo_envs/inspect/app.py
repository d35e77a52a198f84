"""The inspector as a WSGI application: pages, the numbers behind them, and exports. It reads, and changes nothing."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from flask import Flask, Response, redirect, render_template, request, url_for
from jinja2 import StrictUndefined
from werkzeug.exceptions import BadRequest, Forbidden, HTTPException, NotFound, UnprocessableEntity

from scpo_envs.credit import Matcher
from scpo_envs.errors import RolloutFormatError
from scpo_envs.inspect import curves, filters
from scpo_envs.inspect.export import export_page
from scpo_envs.inspect.filters import Filter, Found, TextSearch
from scpo_envs.inspect.matchers import DEFAULT, offers
from scpo_envs.inspect.recompute import Options, Recomputer
from scpo_envs.inspect.runs import METRICS, Library, Run
from scpo_envs.inspect.view import GroupView, signed
from scpo_envs.rollouts import RolloutGroup

MAX_STEPS = 20_000
"""Most steps of a group that a page shows."""

_HOSTS = {"localhost", "127.0.0.1", "[::1]"}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_NEIGHBOUR_SECONDS = 0.3
_OF_EVERY_ESTIMATOR = ("omega", "gamma", "norm", "reward", "invalid_penalty")  # settings that are not SCPO's alone


class Opened(NamedTuple):
    """A group, and where it stands."""

    run: Run
    found: Found
    group: RolloutGroup


def create_app(library: Library, models: Mapping[str, Matcher] | None = None) -> Flask:
    """The inspector's application.

    Args:
        library: What it shows. It is read as it is: whoever serves keeps it fresh (`Library.watch`).
        models: Matchers beside the lexical ones, see `scpo_envs.inspect.matchers.offers`.

    Returns:
        A WSGI application. It answers under loopback names alone, so that no foreign site reaches it by a name of
        its own that leads here.
    """
    app = Flask(__name__)
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = 0  # a newer release under the same address is seen at once
    app.url_map.merge_slashes = False
    app.jinja_env.undefined = StrictUndefined
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters |= {"ago": _ago, "number": curves.number, "signed": signed, "percent": _percent}
    app.jinja_env.globals["library"] = library
    _add_guards(app)
    _add_lists(app, library)
    _add_groups(app, library, Recomputer(offers(models)))
    return app


def _add_guards(app: Flask) -> None:
    @app.before_request
    def only_loopback_names() -> None:
        host = request.headers.get("Host", "")
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if name.lower() not in _HOSTS:
            raise Forbidden("the inspector answers under 127.0.0.1 and localhost alone")

    @app.after_request
    def distrust(response: Response) -> Response:
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    @app.errorhandler(HTTPException)
    def explain(error: HTTPException) -> Response:
        reason = error.description or error.name
        if request.path.endswith(("/credit", "/text", "/state")):
            return _json({"error": reason}, error.code or 500)
        page = render_template("error.html", name=error.name, reason=reason[:1].upper() + reason[1:])
        return _html(page, error.code or 500)

    @app.get("/favicon.ico")
    def icon() -> Response:
        return app.send_static_file("icon.svg")


def _add_lists(app: Flask, library: Library) -> None:
    search = TextSearch()
    app.extensions["search"] = search

    @app.get("/state")
    def state() -> Response:
        return _json({"revision": library.revision, "progress": library.progress})

    @app.get("/")
    def home() -> Any:
        if len(library.runs) == 1:
            return redirect(url_for("show_run", run_id=next(iter(library.runs))))
        return _html(render_template("runs.html", runs=[(run, *_latest(run)) for run in library.runs.values()]))

    @app.get("/runs/<run_id>")
    def show_run(run_id: str) -> Any:
        run = _run(library, run_id)
        if not run.metrics and len(run.files) == 1:
            return redirect(url_for("show_groups", run_id=run_id))
        drawn = _curves(run)
        shown = [curve for curve in drawn if curves.is_headline(curve)]
        rest = [curve for curve in drawn if not curves.is_headline(curve)]
        settings = {name: value for name, value in run.settings().items() if isinstance(value, dict)}
        return _html(render_template("run.html", run=run, curves=shown, more=rest, size=curves, settings=settings))

    @app.get("/runs/<run_id>/groups")
    def show_groups(run_id: str) -> Response:
        run = _run(library, run_id)
        chosen, found = _select(run)
        page = search.page(found, chosen.text, _page_number())
        if not page.groups and page.number > 1 and page.complete:
            raise NotFound(f"this list has no page {page.number}")
        return _html(
            render_template(
                "groups.html",
                run=run,
                chosen=chosen,
                page=page,
                kinds=[(kind, kind[:60]) for kind in sorted({entry.kind for _, _, entry in run.entries()} - {""})],
                file_labels=[(id, run.label(id)) for id in run.files],
                unshaped=all(found.entry.credited is None for found in page.groups),
                damaged=[(run.label(id), fault) for id, file in run.files.items() for fault in file.damaged],
                filters=filters,
            )
        )


def _add_groups(app: Flask, library: Library, recompute: Recomputer) -> None:
    search: TextSearch = app.extensions["search"]
    place = "/runs/<run_id>/groups/<file_id>/<int:line>"

    def opened(run_id: str, file_id: str, line: int) -> Opened:
        run = _run(library, run_id)
        file = run.files.get(file_id)
        index = None if file is None else file.find(line)
        if file is None or index is None:
            raise NotFound("there is no such group; the file may have been replaced")
        entry = file.entries[index]
        try:
            return Opened(run, Found(file_id, file, entry), file.read(entry))
        except (RolloutFormatError, OSError) as error:
            raise NotFound(f"this group cannot be read any more: {error}") from error

    def options_of(one: Opened) -> Options:
        return _options(request.args, one, recompute)

    def result_of(one: Opened, *, scores: bool = True) -> dict[str, Any]:
        try:
            return recompute(one.group, options_of(one), scores=scores)
        except ValueError as error:
            raise BadRequest(str(error)) from error

    @app.get(place)
    def show_group(run_id: str, file_id: str, line: int) -> Response:
        one = opened(run_id, file_id, line)
        _check_size(one)
        chosen, selected = _select(one.run)
        try:
            result, problem = recompute(one.group, options_of(one)), ""
        except ValueError as error:
            result, problem = None, str(error)
        before, after = _neighbours(selected, one.found, chosen.text, search)
        return _html(
            render_template(
                "group.html",
                offline=False,
                run=one.run,
                view=GroupView.of(one.group, one.found.entry, one.run.label(file_id)),
                file_id=file_id,
                chosen=chosen,
                before=before,
                after=after,
                options=_defaults(one, recompute) if result is None else options_of(one),
                offered=list(recompute.offered.values()),
                data={"result": result, "problem": problem},
            )
        )

    @app.get(f"{place}/credit")
    def credit(run_id: str, file_id: str, line: int) -> Response:
        return _json(result_of(opened(run_id, file_id, line), scores=request.args.get("scores") != "0"))

    @app.get(f"{place}/text")
    def text(run_id: str, file_id: str, line: int) -> Response:
        group = opened(run_id, file_id, line).group
        try:
            step = group.rollouts[int(request.args["rollout"])].steps[int(request.args["step"])]
        except (ValueError, LookupError) as error:
            raise NotFound("this group has no such step") from error
        return _json({"observation": step.observation, "action": step.action})

    @app.get(f"{place}/export.json")
    def export_json(run_id: str, file_id: str, line: int) -> Response:
        one = opened(run_id, file_id, line)
        try:
            text = recompute.shaped(one.group, options_of(one)).to_json()
        except ValueError as error:
            raise BadRequest(str(error)) from error
        return _attached(f"{text}\n", f"group-{line}.json", "application/json")

    @app.get(f"{place}/export.html")
    def export_html(run_id: str, file_id: str, line: int) -> Response:
        one = opened(run_id, file_id, line)
        _check_size(one)
        try:
            view = GroupView.of(one.group, one.found.entry, one.run.label(file_id), cut=False)
            page = export_page(app, one.group, view, options_of(one), recompute)
        except ValueError as error:
            raise BadRequest(str(error)) from error
        return _attached(page, f"group-{line}.html", "text/html")


def _run(library: Library, run_id: str) -> Run:
    if run_id not in library.runs:
        raise NotFound("there is no such run")
    return library.runs[run_id]


def _check_size(one: Opened) -> None:
    if one.found.entry.steps > MAX_STEPS:
        raise UnprocessableEntity(
            f"this group has {one.found.entry.steps:,} steps; a page shows {MAX_STEPS:,} at most. Line "
            f"{one.found.entry.line} of {one.found.file.path.name} holds it"
        )


def _curves(run: Run) -> list[curves.Curve]:
    return curves.read_curves(run.folder / METRICS) if run.metrics else []


def _latest(run: Run) -> tuple[float | None, float | None]:
    """A run's last iteration, and the success of training then."""
    read = {curve.name: curve for curve in _curves(run)}
    iterations = max((curve.iterations[-1] for curve in read.values()), default=None)
    return iterations, read["success"].values[-1] if "success" in read else None


def _select(run: Run) -> tuple[Filter, list[Found]]:
    try:
        chosen = Filter.read(request.args)
        return chosen, chosen.select(run)
    except ValueError as error:
        raise BadRequest(str(error)) from error
    except LookupError as error:
        raise NotFound(str(error)) from error


def _page_number() -> int:
    text = request.args.get("page", "1")
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:9]) == int(text)):
        raise BadRequest(f"page must be a number from 1, not {text[:40]!r}")
    return int(text)


def _neighbours(
    selected: list[Found], found: Found, text: str, search: TextSearch
) -> tuple[Found | None, Found | None]:
    """The groups before and after one in a list, as far as it can be searched quickly."""
    before = None
    passed = False
    for item, holds in search.scan(selected, text, _NEIGHBOUR_SECONDS):
        if item.file_id == found.file_id and item.entry.line == found.entry.line:
            passed = True
        elif holds and passed:
            return before, item
        elif holds:
            before = item
    return (before, None) if passed else (None, None)


def _defaults(one: Opened, recompute: Recomputer) -> Options:
    """What the group was shaped with, else what the run was trained with, else the library's defaults."""
    trained = one.run.settings().get("advantage")
    trained = dict(trained) if isinstance(trained, dict) else {}
    if trained.get("estimator") != "scpo":
        trained = {key: value for key, value in trained.items() if key in _OF_EVERY_ESTIMATOR}
    written = one.group.info.get("scpo")
    written = written if isinstance(written, dict) else {}
    inner = written.get("options")  # of a group that was saved here
    inner = inner if isinstance(inner, dict) else {}
    name = str(inner.get("matcher") or trained.get("matcher") or DEFAULT)
    known = name in recompute.offered and recompute.offered[name].matcher is not None
    if not known:
        trained.pop("lam", None)  # a threshold of another matcher
        inner.pop("lam", None)
    return Options(matcher=name if known else DEFAULT).defaults_of(trained, written, inner)


def _options(arguments: Mapping[str, str], one: Opened, recompute: Recomputer) -> Options:
    defaults = _defaults(one, recompute)
    try:
        if arguments.get("matcher", defaults.matcher) != defaults.matcher:
            defaults = replace(defaults, lam=None)  # another matcher, another threshold
        return defaults.read(arguments)
    except ValueError as error:
        raise BadRequest(str(error)) from error


def _html(page: str, status: int = 200) -> Response:
    return Response(
        page.encode("utf-8", "replace"), status, mimetype="text/html", headers={"Cache-Control": "no-store"}
    )


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value, allow_nan=False), status, mimetype="application/json")


def _attached(text: str, name: str, kind: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text.encode("utf-8", "replace"), mimetype=kind, headers=headers)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %" if share == 0 or share >= 0.1 else f"{100 * share:.1f} %"


def _ago(modified: float) -> str:
    """How long ago, in words."""
    seconds = max(0.0, time.time() - modified)
    for name, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            count = math.floor(seconds / size)
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"
