"""Verifiers of tasks with many right answers: each checks the rules of one puzzle against the prompt's question."""

from typing import Any

from assay_domain_reasoning_gym.check import algebra, board, path

VERIFIERS: list[Any] = [*board.VERIFIERS, *path.VERIFIERS, *algebra.VERIFIERS]
