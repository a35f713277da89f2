"""Puzzles on a board, and letters with their digits. All but few have many right answers; `check.board` knows them."""

from assay_domain_reasoning_gym.check.board import tsumego
from assay_domain_reasoning_gym.recipe.base import Entry, Recipe, Task, plain, rows


def _blanks(puzzle: list[list[int]]) -> str:
    return rows([[cell or "_" for cell in row] for row in puzzle])


def _sudoku(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    return plain(_blanks(metadata["puzzle"]), rows(metadata["solution"]), key=metadata["solution"])


def _futoshiki(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    orders = []
    for row, column, other_row, other_column, sign in metadata["constraints"]:
        places = [f"{row + 1},{column + 1}", f"{other_row + 1},{other_column + 1}"]
        orders.append(">".join(places if sign == ">" else reversed(places)))
    question = f"{_blanks(metadata['puzzle'])}; {' '.join(orders) or 'none'}"
    return plain(question, rows(metadata["solution"]), key=metadata["solution"])


def _kakurasu(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    sums = (" ".join(map(str, metadata[name])) for name in ("row_sums", "col_sums"))
    return plain("rows {}, columns {}".format(*sums), rows(metadata["solution"]))


def _survo(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    numbers = " ".join(map(str, sorted(metadata["candidate_numbers"])))
    return plain(f"{numbers}: {_blanks(metadata['puzzle'])}", rows(metadata["solution"]), key=metadata["solution"])


def _n_queens(entry: Entry, index: int) -> Task:
    metadata = entry["metadata"]
    given, solution = (
        " ".join(str(row.index("Q") + 1) if "Q" in row else "_" for row in board)
        for board in (metadata["puzzle"], metadata["solutions"][0])
    )
    return plain(given, solution)


def _tsumego(entry: Entry, index: int) -> Task | None:
    """Drop boards where the generator's move takes nothing, or less than another."""
    question = "/".join(map("".join, entry["metadata"]["board"]))
    return plain(question, entry["answer"]) if tsumego(entry["answer"], question).equal else None


def _cryptarithm(entry: Entry, index: int) -> Task | None:
    metadata = entry["metadata"]
    if metadata["allow_leading_zero"]:
        return None
    return plain(f"{' + '.join(metadata['words_letters'])} = {metadata['result_letters']}", entry["answer"])


def _palindrome_partitioning(entry: Entry, index: int) -> Task | None:
    """Ask for one of the shortest; drop words that are palindromes or have none but single letters."""
    metadata = entry["metadata"]
    text = metadata["string"]
    shortest = min(metadata["solution"], key=lambda pieces: (len(pieces), pieces))
    return plain(text, " ".join(shortest)) if 1 < len(shortest) < len(text) else None


RECIPES = (
    Recipe(
        "mini_sudoku",
        "mini_sudoku",
        _sudoku,
        "Fill in 1-4, each once per row, column and 2 x 2 block: {question}",
        "Solve a sudoku of 4 x 4.",
        {"min_empty": 4},
        verify="reasoning_gym.sudoku(question)",
    ),
    Recipe(
        "sudoku",
        "sudoku",
        _sudoku,
        "Fill in 1-9, each once per row, column and 3 x 3 block: {question}",
        "Solve a sudoku of 9 x 9.",
        {"min_empty": 5, "max_empty": 20},
        verify="reasoning_gym.sudoku(question)",
        max_tokens=512,
        eval_size=80,
    ),
    Recipe(
        "futoshiki",
        "futoshiki",
        _futoshiki,
        "Fill in 1 to n, each once per row and column, so that row,column>row,column holds: {question}",
        "Solve a futoshiki.",
        {"max_board_size": 4, "max_difficulty": 1},
        verify="reasoning_gym.futoshiki(question)",
        eval_size=80,
    ),
    Recipe(
        "kakurasu",
        "kakurasu",
        _kakurasu,
        "Write rows of 0 and 1 apart by /. A 1 counts its column's number in its row's sum and its row's number in its"
        " column's sum: {question}",
        "Solve a kakurasu.",
        verify="reasoning_gym.kakurasu(question)",
    ),
    Recipe(
        "survo",
        "survo",
        _survo,
        "Place the numbers in the blanks so that the last of each row and column is the sum of the others: {question}",
        "Solve a survo.",
        verify="reasoning_gym.survo(question)",
    ),
    Recipe(
        "n_queens",
        "n_queens",
        _n_queens,
        "Column of the queen in each row of a square board; fill in so that no two attack each other: {question}",
        "Place queens that do not attack each other.",
        verify="reasoning_gym.n_queens(question)",
    ),
    Recipe(
        "tsumego",
        "tsumego",
        _tsumego,
        "Go board from the highest row number down to 1, columns from A, with I. Point like C4 where one stone X takes"
        " the most O: {question}",
        "Take as many stones as one move can.",
        {"min_board_size": 6, "max_board_size": 9},
        verify="reasoning_gym.tsumego(question)",
    ),
    Recipe(
        "cryptarithm",
        "cryptarithm",
        _cryptarithm,
        "Letters are different digits, no first one 0. Write them like A=1,B=2: {question}",
        "Find the digits that letters stand for.",
        verify="reasoning_gym.cryptarithm(question)",
    ),
    Recipe(
        "palindrome_partitioning",
        "palindrome_partitioning",
        _palindrome_partitioning,
        "Cut into as few palindromes as can be, blanks between them: {question}",
        "Cut a word into palindromes.",
        verify="reasoning_gym.palindromes(question, expected)",
    ),
)
