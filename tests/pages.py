"""Pages of Markdown as a test sees them: code blocks with their marks and outputs, and the commands they show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]*?) -->\n\n?)?```(?P<language>[\w{}-]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass
class Block:
    """A fenced block.

    Attributes:
        language: What stands behind the fence; `text` blocks that follow another block are its output.
        text: The content.
        line: Where it begins, for messages.
        mark: The HTML comment before it: `slow`, `slow: EXTRA` or `not run: REASON`.
        output: What it prints, if the page says so. `...` stands for anything.
    """

    language: str
    text: str
    line: int
    mark: str = ""
    output: str | None = None

    @property
    def slow(self) -> bool:
        return self.mark.startswith("slow")

    @property
    def extras(self) -> list[str]:
        return re.findall(r"\w+", self.mark.partition(":")[2]) if self.slow else []

    @property
    def left_out(self) -> str | None:
        """Why it never runs, or None."""
        return self.mark.partition(":")[2].strip() if self.mark.startswith("not run") else None


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order, outputs attached to what prints them."""
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    end = 0
    for fence in _FENCE.finditer(text):
        block = Block(fence["language"], fence["text"], text.count("\n", 0, fence.start()) + 1, fence["mark"] or "")
        if block.language == "text" and found and not text[end : fence.start()].strip():
            found[-1].output = block.text
        else:
            found.append(block)
        end = fence.end()
    return found


def session(block: Block) -> Iterator[tuple[str, str]]:
    """The commands of a `console` block, each with the output shown below it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.replace("\\\n", " ").partition("\n")
        yield command, output


def shown_commands(page: Path) -> list[list[str]]:
    """The arguments of every `scpo` command in fenced or indented blocks, placeholders as they stand.

    `[--optional X]` counts as given, of `one|other` the first is taken; what follows a `>` is the shell's.
    """
    text = page.read_text(encoding="utf-8")
    fenced = [block for block in blocks(page) if block.language in ("", "sh")]
    lines = "".join(block.text for block in fenced)
    for block in blocks(page):
        if block.language == "console":
            lines += "".join(f"{command}\n" for command, _ in session(block))
    lines += re.sub(r"^    ", "", "\n".join(re.findall(r"^    .*$", _FENCE.sub("", text), re.MULTILINE)), flags=re.M)
    commands = []
    for line in lines.replace("\\\n", " ").splitlines():
        line = re.sub(r"^(\$ )?(\w+=\S+ )*", "", line)
        if line.startswith("scpo "):
            line = re.sub(r"(?<=\s)\[|\](?=\s|$)|\s>.*", "", line)
            words = shlex.split(line, comments=True)
            commands.append([word.partition("|")[0] for word in words[1:]])
    return commands
