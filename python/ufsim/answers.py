"""Answers that took long: kept in a file, a line of JSON each, so that what was stopped goes on."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ufsim import outputs

# What was asked: numbers, names, and tuples of them.
Question = tuple[Any, ...]


@dataclass
class Answers:
    """Answers that are known, by question; with a file, also those of earlier processes to questions about the same."""

    path: Path | None
    #: What all questions are about. Lines about something else stay as they are.
    about: str
    known: dict[Question, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is None or not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                about, *question, answer = json.loads(line)
            except ValueError:
                continue  # the line that was being written when a process was stopped
            if about == self.about:
                self.known[_hashable(question)] = answer

    def add(self, question: Question, answer: Any) -> None:
        """Keeps an answer."""
        self.known[question] = answer
        if self.path is not None:
            outputs.append(self.path, json.dumps([self.about, *question, answer]))


def _hashable(parts: list[Any]) -> Question:
    return tuple(_hashable(part) if isinstance(part, list) else part for part in parts)
