"""`assay review`: people look at episodes of a run, and what they say is set against what its verifiers said."""

import argparse
import contextlib
import getpass
import json
import time
from collections.abc import Sequence
from pathlib import Path

from assay.core.error import ConfigError, StoreError
from assay.core.name import suggestion
from assay.runtime.cli.terminal import Terminal, columns, plural
from assay.runtime.observe.people_section import refresh
from assay.runtime.regrade.stored import StoredRun
from assay.runtime.review.agreement import Agreement
from assay.runtime.review.calibration import calibration_rows, to_line
from assay.runtime.review.choice import SUCCESS, Choice, Wish, find_signal, matters
from assay.runtime.review.console import open_console
from assay.runtime.review.report import AgreementReport, report_agreement
from assay.runtime.review.session import Session
from assay.runtime.review.store import ReviewStore
from assay.runtime.run.folder import RunFolder
from assay.runtime.run.prepare import find_run

_WAIT_S = 0.2

DESCRIPTION = """\
Look at episodes of a run and mark them, while it goes on or after. First come questions that the run waits for, then a
sample of every domain and outcome, and episodes whose verifiers disagree. Task, prompt and answer are shown, and
nothing of how they were graded. Each mark is kept before the next episode is shown, so that any end loses at most the
one on the screen."""

EPILOG = """\
keys, or lines of a pipe: y n (or a number on a scale), s pass over, u undo, o TEXT note, m more, ? help, q quit
`assay regrade RUN --marks` puts marks in place of verdicts.

exit status: 0 done or quit; 1 something is wrong, or --report finds a verifier that agrees badly; 2 wrong usage; 130
ended by Ctrl-C

examples:
  assay review latest --as ann --entry spell
  assay review latest --only questions --wait
  assay review latest --report --format json
  assay review latest --export marks.jsonl --verify judge --signal score
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    usual = Wish()
    add = parser.add_argument
    add("run", metavar="RUN", help="folder of a run, or its name; `latest` is the newest")
    add("--runs", default="runs", metavar="FOLDER", help="where runs are; default runs")
    add("--as", dest="reviewer", metavar="NAME", help="whose marks these are; default the user's name")
    add("--entry", action="append", default=[], metavar="NAME", help="only this domain of the mix")
    add("--only", choices=("questions", "sample"), help="one of both; disputed episodes are of the sample")
    add("--wait", action="store_true", help="wait for further questions until the run is over")
    add("--sample", type=_count, default=usual.size, metavar="N", help="episodes of the sample; default 40")
    add("--floor", type=_count, default=usual.floor, metavar="N", help="least of each domain and outcome; default 3")
    add("--disputes", type=_count, default=usual.disputes, metavar="N", help="most disputed episodes; default 20")
    add("--below", type=_share, default=usual.least_agreement, metavar="X", help="judge's `agreement` in dispute; 0.7")
    add("--twice", type=_share, default=usual.twice, metavar="X", help="share that two people look at; default 0.2")
    add("--seed", type=int, default=usual.seed, metavar="N", help="of the sample and its order; default 0")
    add("--verify", metavar="NAME", help="verification that marks stand for")
    add("--signal", metavar="NAME", help="its signal; default success")
    add("--question", default="", metavar="TEXT", help="asked instead of the usual one")
    add("--report", action="store_true", help="show agreement of marks with verifiers and with each other")
    add("--export", metavar="FILE", help="write rows for `calibration:`; - is the standard output")
    add("--format", choices=("text", "json"), default="text", help="of --report; default: text")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Review, report or export."""
    folder = find_run(arguments.run, Path(arguments.runs))
    with open_run(folder, should_wait=arguments.wait) as stored:
        names = [entry.name for entry in stored.plan.entries]
        for name in arguments.entry:
            if name not in names:
                raise ConfigError("an entry must be one of the run's", got=name, todo=suggestion(name, names) or None)
        matter = chosen_matter(arguments, stored)
        if arguments.report:
            return _report(arguments, stored, terminal)
        if arguments.export is not None:
            return _export(arguments, stored, matter, terminal)
        return _review(arguments, stored, matter, terminal)


def open_run(folder: RunFolder, *, should_wait: bool) -> StoredRun:
    """Open a run for reading, if need be as soon as its coordinator has made a ledger.

    Raises:
        StoreError: there is none, and nobody wants to wait.
    """
    while True:
        try:
            return StoredRun(folder)
        except StoreError:
            if not should_wait:
                raise
            time.sleep(_WAIT_S)


def chosen_matter(arguments: argparse.Namespace, stored: StoredRun) -> str:
    """Return `verifier.signal` that marks stand for; empty for success.

    Raises:
        ConfigError: no entry has it, or it is no yes or no and has no two ends.
    """
    programs = [one.program for one in stored.plan.entries if not arguments.entry or one.name in arguments.entry]
    if arguments.verify is None and arguments.signal is None:
        return ""
    known = matters(programs)
    wanted = [
        one
        for one in known
        if arguments.verify in (None, one.partition(".")[0]) and arguments.signal in (None, one.partition(".")[2])
    ]
    if len(wanted) != 1:
        got = f"{arguments.verify or '*'}.{arguments.signal or '*'}, which is {' or '.join(wanted) or 'none'}"
        todo = f"There are {', '.join(known) or 'none'}"
        raise ConfigError("marks must stand for one signal that is a yes or no or has two ends", got=got, todo=todo)
    return wanted[0]


def _review(arguments: argparse.Namespace, stored: StoredRun, matter: str, terminal: Terminal) -> int:
    reviewer = (user_name() if arguments.reviewer is None else arguments.reviewer).strip()
    if not reviewer or not reviewer.isprintable() or len(reviewer) > 64:
        raise ConfigError(
            "a reviewer must have a name of up to 64 printable characters", got=ascii(reviewer), todo="Say --as NAME"
        )
    entries = [
        one.name
        for one in stored.plan.entries
        if one.name in (arguments.entry or (one.name,)) and (not matter or find_signal(one.program, matter) is not None)
    ]
    wish = Wish(
        entries=tuple(entries),
        size=arguments.sample if arguments.only != "questions" else 0,
        floor=arguments.floor,
        disputes=arguments.disputes,
        least_agreement=arguments.below,
        twice=arguments.twice,
        seed=arguments.seed,
        matter=matter,
        text=arguments.question,
        has_sample=arguments.only != "questions",
        has_questions=arguments.only != "sample",
    )
    with ReviewStore(stored.folder.path) as store:
        choice = Choice(stored, store, reviewer, wish)
        console = open_console()
        session = Session(
            stored, store, choice, reviewer, console, lambda: not (arguments.wait and is_going_on(stored))
        )
        before = sum(mark.reviewer == reviewer for mark in store.marks())
        terminal.print(
            f"run {stored.folder.path.name}, reviewer {reviewer}, {plural(before, 'mark')} before; ? for help"
        )
        terminal.out.flush()
        try:
            session.sit()
        finally:
            choice.close()
            passed = f", {session.num_passed} passed over" if session.num_passed else ""
            console.say(f"{plural(session.num_marked, 'mark')} kept in {store.path}{passed}")
    return 0


def user_name() -> str:
    """Return the user's name; empty where the system knows none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def is_going_on(stored: StoredRun) -> bool:
    """Whether a coordinator works on the run, as far as its ledger tells."""
    from assay.runtime.observe.reading import Reading

    with Reading(stored.folder.ledger) as reading:
        states = [what for _, _, what, _ in reading.log() if what in ("coordinator", "stop", "failed")]
    return bool(states) and states[-1] == "coordinator"


def _report(arguments: argparse.Namespace, stored: StoredRun, terminal: Terminal) -> int:
    with ReviewStore(stored.folder.path, should_make=False) as store:
        found = report_agreement(stored, store.marks(with_passed=True), arguments.entry)
    if not is_going_on(stored):
        # A run that goes on writes its report when it ends.
        refresh(stored.folder)
    if arguments.format == "json":
        terminal.print(
            json.dumps({"run": str(stored.folder.path), **found.to_json(), "is_bad": found.is_bad}, indent=2)
        )
    else:
        _print(found, terminal)
    return int(found.is_bad)


def _export(arguments: argparse.Namespace, stored: StoredRun, matter: str, terminal: Terminal) -> int:
    if not matter:
        known = ", ".join(matters([one.program for one in stored.plan.entries])) or "none"
        raise ConfigError(
            "an export must name the signal that marks stand for", todo=f"Add --signal; there are {known}"
        )
    with ReviewStore(stored.folder.path, should_make=False) as store:
        lines = [to_line(row) for row in calibration_rows(stored, store.marks(), matter, arguments.entry)]
    if arguments.export == "-":
        terminal.out.write("".join(lines))
        return 0
    if not lines:
        raise ConfigError(
            "an export must have rows",
            got=f"none about {matter}",
            at=stored.folder.path,
            todo="Marks about another signal, in balance, or of another entry make none; see `--report`",
        )
    _write_new(Path(arguments.export), "".join(lines))
    terminal.print(f"{plural(len(lines), 'row')} about {matter} in {arguments.export}")
    return 0


def _write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet, whole or not at all.

    Raises:
        ConfigError: it is there, or cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except OSError:
                path.unlink()
                raise
    except FileExistsError:
        todo = "Name another one, or `--export -` and where it goes"
        raise ConfigError("an export must go into a new file", got="one that exists", at=path, todo=todo) from None
    except OSError as error:
        raise ConfigError("a file must be writable", got=error.strerror, at=path) from None


def _print(found: AgreementReport, terminal: Terminal) -> None:
    who = ", ".join(f"{name} {count}" for name, count in found.marks.items()) or "nobody"
    passed = sum(found.passed.values())
    terminal.print(
        f"marks: {who}; {plural(found.sampled, 'episode')} of the sample, {found.disputed} disputed, "
        f"{found.answered} of questions, {passed} passed over"
    )
    for entry, mean in found.scores.items():
        terminal.print(f"  {entry}: people say {mean:.3f} on the mean")
    rows = [["", "", "agree", "of", "raw", "in the run", "kappa", "too strict", "too lenient", ""]]
    for one in found.comparisons:
        rows.append(
            [one.entry, one.other, *agreement_cells(one.agreement), one.says.upper() if one.says == "bad" else one.says]
        )
        if one.about not in (SUCCESS, one.other):
            rows[-1][1] += f" ({'the question' if one.about == 'question' else one.about})"
    if len(rows) > 1:
        for line in columns(rows):
            terminal.print(f"  {line}")
    for name in found.unseen:
        terminal.print(f"  no mark of the sample is of: {name}")
    if found.between.marks:
        cells = agreement_cells(found.between)
        terminal.print(
            f"  reviewers with each other: {plural(found.between.marks, 'pair')}, {cells[2]}, kappa {cells[4]}"
        )
    if found.split:
        terminal.print(f"  reviewers hold each other in balance on: {_numbers(found.split)}")
    for one in found.comparisons:
        if one.says == "bad":
            terminal.print(terminal.paint(verdict_line(one.entry, one.other, one.agreement), "error"))
        if one.says and one.contradictions:
            terminal.print(f"  {one.entry}, {one.other}: people say otherwise of")
            for case in one.contradictions[:20]:
                note = f"  ({'; '.join(ascii(text)[1:-1] for text in case.notes)})" if case.notes else ""
                said = f"people {_word(case.mark)}, {one.other} {_word(case.other)}"
                terminal.print(f"    episode {case.episode}: {said}, {case.chosen}{note}")


def agreement_cells(agreement: Agreement) -> list[str]:
    """Return the cells of one row."""
    low, high = agreement.interval
    share = "-" if agreement.share is None else f"{agreement.share:.1%} ({low:.0%} to {high:.0%})"
    low, high = agreement.raw_interval
    raw = "-" if agreement.raw is None else f"{agreement.raw:.1%} ({low:.0%} to {high:.0%})"
    kappa = "-" if agreement.kappa is None else f"{agreement.kappa:.2f}"
    agreed = str(agreement.both + agreement.neither)
    return [agreed, str(agreement.marks), raw, share, kappa, str(agreement.only_mark), str(agreement.only_other)]


def verdict_line(entry: str, other: str, agreement: Agreement) -> str:
    """Return what is to be said of something that agrees badly."""
    low, high = agreement.interval
    share = agreement.share or 0.0
    return (
        f"{entry}: `{other}` agrees badly with people: in {share:.0%} of the run ({low:.0%} to {high:.0%}). "
        "What is trained on it is not what people want"
    )


def _word(value: bool) -> str:
    return "yes" if value else "no"


def _numbers(episodes: Sequence[int]) -> str:
    shown = ", ".join(map(str, episodes[:10]))
    return shown if len(episodes) <= 10 else f"{shown} and {len(episodes) - 10} more"


def _count(text: str) -> int:
    value = int(text) if text.isdecimal() and len(text) < 10 else -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0, got {text!r}")
    return value


def _share(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0.0 <= float(text) <= 1.0:
            return float(text)
    raise argparse.ArgumentTypeError(f"must be a number between 0 and 1, got {text!r}")
