"""Local files as sources: every row, or the file and row that cannot be read."""

from pathlib import Path

import pytest

from assay.core.error import DataError
from assay.core.source import Source
from assay.runtime.source.file import csv_file, json_file, jsonl


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Path(name)


def rows(source: Source) -> list[object]:
    return [source.read(index) for index in range(len(source))]


def test_jsonl_reads_one_object_a_line_and_skips_empty_lines(tmp_path: Path) -> None:
    path = write(tmp_path, "t.jsonl", '{"a": 1}\n\n  \n{"a": "ü"}')
    assert [{"a": 1}, {"a": "ü"}] == rows(jsonl(base=tmp_path, path=path))


def test_byte_order_mark_and_windows_line_ends_are_no_content(tmp_path: Path) -> None:
    path = write(tmp_path, "t.jsonl", b'\xef\xbb\xbf{"a": 1}\r\n{"a": 2}\r\n')
    assert [{"a": 1}, {"a": 2}] == rows(jsonl(base=tmp_path, path=path))


@pytest.mark.parametrize(
    "line", ["{", "[1]", "1", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000, b'{"a": "\xff"}', "{'a': 1}"]
)
def test_unreadable_jsonl_row_names_file_and_line(tmp_path: Path, line: str | bytes) -> None:
    data = line if isinstance(line, bytes) else line.encode()
    source = jsonl(base=tmp_path, path=write(tmp_path, "t.jsonl", b'{"a": 1}\n\n' + data + b"\n"))
    assert {"a": 1} == source.read(0)
    with pytest.raises(DataError) as caught:
        source.read(1)
    assert f"{tmp_path}/t.jsonl:3" == caught.value.at


@pytest.mark.parametrize("reader", [jsonl, json_file, csv_file])
def test_missing_file_is_a_data_error_that_names_it(tmp_path: Path, reader: type) -> None:
    with pytest.raises(DataError, match=r"must be readable, got No such file.*absent"):
        reader(base=tmp_path, path=Path("absent"))


def test_absolute_path_ignores_the_base(tmp_path: Path) -> None:
    write(tmp_path, "t.jsonl", '{"a": 1}')
    assert 1 == len(jsonl(base=Path("/nowhere"), path=tmp_path / "t.jsonl"))


def test_json_reads_a_list_of_objects(tmp_path: Path) -> None:
    assert [{"a": [1]}] == rows(json_file(base=tmp_path, path=write(tmp_path, "t.json", '[{"a": [1]}]')))


@pytest.mark.parametrize(("text", "place"), [('{"a": 1}', "t.json"), ('[{"a": 1}, 2]', "t.json: row 2")])
def test_json_that_is_no_list_of_objects_is_refused(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(DataError) as caught:
        json_file(base=tmp_path, path=write(tmp_path, "t.json", text))
    assert f"{tmp_path}/{place}" == caught.value.at


def test_csv_cells_are_texts_unless_their_column_is_json(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", 'name,weight,tags\nx,007,"[""a"", ""b""]"\n')
    assert [{"name": "x", "weight": "007", "tags": ["a", "b"]}] == rows(
        csv_file(base=tmp_path, path=path, json=["tags"])
    )


def test_quoted_csv_cell_keeps_its_line_ends(tmp_path: Path) -> None:
    assert [{"a": "1\n2"}] == rows(csv_file(base=tmp_path, path=write(tmp_path, "t.csv", 'a\n"1\n2"\n')))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a,b\n1\n", "t.csv:2"),
        ("a,b\n1,2,3\n", "t.csv:2"),
        ("a,a\n1,2\n", "t.csv"),
        ('a\n"x\n', "t.csv"),
        (b"a\n\xff\n", "t.csv"),
    ],
)
def test_ragged_or_unreadable_csv_is_refused(tmp_path: Path, text: str | bytes, place: str) -> None:
    with pytest.raises(DataError) as caught:
        csv_file(base=tmp_path, path=write(tmp_path, "t.csv", text))
    assert f"{tmp_path}/{place}" == caught.value.at


def test_json_column_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="named in `json` must exist, got wieght"):
        csv_file(base=tmp_path, path=write(tmp_path, "t.csv", "weight\n1\n"), json=["wieght"])


def test_changing_a_row_changes_no_other_reader(tmp_path: Path) -> None:
    source = json_file(base=tmp_path, path=write(tmp_path, "t.json", '[{"a": 1}]'))
    source.read(0)["a"] = 2
    assert {"a": 1} == source.read(0)
