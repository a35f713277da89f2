"""What a reviewer is shown next: questions first, then a mix that says nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.runtime.regrade.stored import StoredRun
from assay.runtime.review.choice import Choice, Item, Wish, find_signal, matter_question, matters
from assay.runtime.review.question import Question
from assay.runtime.review.store import Mark, ReviewStore

ALL = Wish(size=100, twice=0.0)
Make = Callable[..., Choice]


@pytest.fixture
def store(folder: Path) -> Iterator[ReviewStore]:
    with ReviewStore(folder) as store:
        yield store


@pytest.fixture
def choose(stored: StoredRun, store: ReviewStore) -> Iterator[Make]:
    made: list[Choice] = []

    def make(reviewer: str = "ann", wish: Wish = ALL) -> Choice:
        made.append(Choice(stored, store, reviewer, wish))
        return made[-1]

    yield make
    for choice in made:
        choice.close()


def finish(choice: Choice, store: ReviewStore, reviewer: str = "ann") -> list[Item]:
    items = []
    while (item := choice.next()) is not None:
        items.append(item)
        assert store.keep(Mark(0, reviewer, item.episode, item.about, 1.0, item.chosen))
    return items


def test_every_episode_of_the_sample_is_shown_once(choose: Make, store: ReviewStore) -> None:
    items = finish(choose(), store)
    assert sorted(set(range(16)) - {9}) == sorted(item.episode for item in items)
    assert {("success", "edit", "sample", "Is this answer right?")} == {
        (item.about, item.entry, item.chosen, item.question.text) for item in items
    }
    assert None is choose("bob").next()


def test_second_sitting_goes_on_where_the_first_ended(choose: Make, store: ReviewStore) -> None:
    order = [item.episode for item in finish(choose("eve"), store, "eve")]
    for _ in range(len(order)):
        store.undo("eve")
    first = choose()
    for _ in range(3):
        item = first.next()
        assert item is not None
        store.keep(Mark(0, "ann", item.episode, item.about, 1.0, item.chosen))
    shown = first.next()
    first.close()
    again = choose()
    assert shown == again.next()
    assert order[3:] == [item.episode for item in finish(again, store)]


def test_small_sample_keeps_the_floor_and_two_look_at_their_share(choose: Make, store: ReviewStore) -> None:
    wish = Wish(size=2, floor=1, twice=1.0, disputes=0)
    ann = finish(choose("ann", wish), store, "ann")
    bob = finish(choose("bob", wish), store, "bob")
    assert [item.episode for item in ann] == [item.episode for item in bob]
    # The one success among fifteen is in it.
    assert 5 in [item.episode for item in ann] and 3 == len(ann)
    assert None is choose("eve", wish).next()


def test_question_that_is_waited_for_comes_first(choose: Make, store: ReviewStore, stored: StoredRun) -> None:
    asked = Question("Is it kind?", 0.0, 4.0)
    store.ask(3, "person", asked, "regrade")
    # A run waits no more for an episode that has its verdict.
    store.ask(4, "person", asked, "run")
    item = choose().next()
    assert item is not None
    assert (3, asked.id, "question", "Is it kind?", 4.0) == (
        item.episode, item.about, item.chosen, item.question.text, item.question.high
    )  # fmt: skip
    store.keep(Mark(0, "ann", 3, asked.id, 0.5, "question"))
    other = choose().next()
    assert other is not None and "sample" == other.chosen
    assert 0 == choose("bob", Wish(has_sample=False)).num_waiting()


def test_questions_of_one_group_follow_each_other(choose: Make, store: ReviewStore, stored: StoredRun) -> None:
    for episode in (12, 1, 6, 0, 13, 7, 2, 3):
        store.ask(episode, "person", Question("Is it kind?"), "regrade")
    shown = [item.episode for item in finish(choose("ann", Wish(has_sample=False)), store)]
    assert [0, 0, 0, 0, 1, 1, 3, 3] == [episode // 4 for episode in shown]
    assert [0, 1, 2, 3] == sorted(shown[:4]) and sorted(shown) != shown


def test_only_one_of_both_on_demand(choose: Make, store: ReviewStore) -> None:
    store.ask(3, "person", Question("Is it kind?"), "regrade")
    questions = finish(choose("ann", Wish(has_sample=False)), store)
    assert [3] == [item.episode for item in questions]
    sampled = finish(choose("bob", Wish(size=100, twice=0.0, has_questions=False)), store, "bob")
    assert {"sample"} == {item.chosen for item in sampled}


def test_undone_episode_is_shown_again_at_once(choose: Make, store: ReviewStore) -> None:
    choice = choose()
    items = [choice.next()]
    for _ in range(3):
        item = items[-1]
        assert item is not None
        store.keep(Mark(0, "ann", item.episode, item.about, 1.0, item.chosen))
        items.append(choice.next())
    undone = store.undo("ann")
    assert undone is not None
    again = choice.next(undone)
    assert again == items[2]


@pytest.mark.parametrize(
    ("about", "text"),
    [
        ("success", "Is this answer right?"),
        ("num.equal", "`num.equal`: The answer is the expected number, within the tolerance."),
        (Question("Is it kind?").id, "Is it kind?"),
    ],
)
@pytest.mark.parametrize("matter", ["", "text.equal"])
def test_undone_mark_is_asked_for_as_it_was_whatever_is_wished_now(
    about: str, text: str, matter: str, choose: Make, store: ReviewStore
) -> None:
    store.ask(3, "person", Question("Is it kind?"), "regrade")
    store.keep(Mark(0, "ann", 3, about, 1.0, "sample"))
    wish = Wish(size=100, matter=matter, text="Well?" if matter else "", has_questions=False)
    item = choose("ann", wish).next(store.undo("ann"))
    assert item is not None
    assert (3, about, text) == (item.episode, item.about, item.question.text)


def test_undone_mark_of_another_domain_is_asked_for_too(choose: Make, store: ReviewStore) -> None:
    store.keep(Mark(0, "ann", 3, "num.equal", 1.0, "sample"))
    item = choose("ann", Wish(entries=("other",))).next(store.undo("ann"))
    assert item is not None
    assert (3, "edit") == (item.episode, item.entry)


def test_marks_can_stand_for_a_signal(choose: Make, stored: StoredRun) -> None:
    program = stored.plan.entries[0].program
    item = choose("ann", Wish(size=1, matter="num.equal")).next()
    assert item is not None
    assert ("num.equal", True) == (item.about, item.question.is_binary)
    assert "The answer is the expected number, within the tolerance." in item.question.text
    assert ["num.equal", "num.parsed", "text.equal"] == matters([program])
    assert None is find_signal(program, "num.nothing") and None is find_signal(program, "nobody.equal")
    assert "Well?" == matter_question(program, "num.equal", "Well?").text
