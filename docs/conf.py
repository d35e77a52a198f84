"""The documentation site: `make docs` builds it with Sphinx, MyST and Furo."""

from __future__ import annotations

from typing import Any

import scpo_envs

project = "scpo-envs"
author = "The scpo-envs developers"
copyright = f"2026, {author}"
version = release = scpo_envs.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
nitpicky = False  # annotations name NumPy's and Gymnasium's types, which are not looked up: the build is offline

# The pages are read on GitHub as well: plain Markdown, links between files, headings as anchors.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_mock_imports = ["torch", "accelerate", "tensorboard"]
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # "Attributes:" of dataclasses, whose fields autodoc lists itself
default_role = "code"  # docstrings write `name` as Markdown does

html_theme = "furo"
html_title = f"scpo-envs {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False


def _markdown(_app: object, _what: str, _name: str, _obj: object, _options: object, lines: list[str]) -> None:
    """Docstrings hold Markdown's headings and tables, which `help` shows as they are; the site wants directives."""
    out: list[str] = []
    in_table = False
    for line in lines:
        if line.startswith("## "):
            out += [f".. rubric:: {line[3:]}", ""]
        elif not line.lstrip().startswith("|"):
            out.append(line)
        elif not set(line) <= set("|-: "):
            first, *others = (cell.strip() for cell in line.strip().strip("|").split("|"))
            if not in_table:
                out += ["", ".. list-table::", "   :header-rows: 1", ""]
            out += [f"   * - {first}", *(f"     - {cell}" for cell in others)]
        in_table = line.lstrip().startswith("|")
    lines[:] = out


def setup(app: Any) -> None:
    """Sphinx's hook for what stands in this file."""
    app.connect("autodoc-process-docstring", _markdown)
