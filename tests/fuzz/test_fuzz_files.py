"""Files of any content are read rightly or refused with a message; see `surfaces.py`."""

import json

import numpy as np
import pytest
from hypothesis import strategies as st

from shtarkov.sampling.checkpoint import Checkpoint
from shtarkov.sampling.runs import Chunk
from tests.fuzz import surfaces
from tests.fuzz.cases import try_cases
from tests.fuzz.test_fuzz_numbers import CHECKS as NUMBER_CHECKS

VALUES = st.one_of(
    st.floats().map(repr),
    st.integers(-9, 9).map(str),
    st.sampled_from(
        ["", "NA", "nan", "inf", "1_0", "0x1", "1e999", " 3 ", "٣", "1,5", '"', "#", "x"]
    ),
    st.text(max_size=4),
)
NAMES = st.one_of(st.sampled_from(["a", "b", "y", "", " y ", '"a,b"', "1"]), st.text(max_size=4))


@st.composite
def csv_bytes(draw):
    """Tables that are nearly right, in several encodings, some of them damaged."""
    delimiter, end = draw(st.sampled_from(",;\t|")), draw(st.sampled_from(["\n", "\r\n", "\r"]))
    names = ["y", *draw(st.lists(NAMES, max_size=3))]
    plain = draw(st.booleans())
    values = st.integers(-9, 9).map(str) if plain else VALUES
    n_rows = draw(st.integers(0, 4))
    rows = [draw(st.lists(values, min_size=len(names), max_size=len(names))) for _ in range(n_rows)]
    text = end.join(delimiter.join(row) for row in [names, *rows])
    codec = draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16"]))
    return damaged(draw, text.encode(codec, "replace"))


def damaged(draw, content):
    kind = draw(st.sampled_from(["none", "none", "cut", "flip", "insert"]))
    if kind == "none" or not content:
        return content
    place = draw(st.integers(0, len(content) - 1))
    if kind == "cut":
        return content[:place]
    extra = draw(st.binary(min_size=1, max_size=3))
    return content[:place] + extra + content[place + (kind == "flip") :]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["seed", "format", "n_chains", "x"]), inner, max_size=4)
    ),
    max_leaves=6,
)


@st.composite
def json_bytes(draw):
    """JSON of any shape, some of it damaged."""
    return damaged(draw, json.dumps(draw(JSON)).encode())


@st.composite
def row_bytes(draw):
    """A CSV of two lines, the second of JSON values, some of it damaged."""
    row = draw(st.dictionaries(st.sampled_from("abc"), JSON, max_size=3))
    names, values = ",".join(row), ",".join(json.dumps(value) for value in row.values())
    return damaged(draw, f"{names}\n{values}\n".encode())


def good_chunk():
    folder = surfaces.FOLDER / "good"
    streams = np.random.default_rng(1).bit_generator.state
    chunk = Chunk(np.ones((2, 3)), np.ones(2), np.zeros(4, np.int64), np.ones(2), {"x": np.ones(2)})
    path = folder / "chunk-00000.npz"
    if not path.exists():
        checkpoint = Checkpoint(folder, surfaces.REQUEST)
        checkpoint.append([chunk], [{"y": np.zeros(3), "rng": streams}])
    return path.read_bytes()


@st.composite
def chunk_bytes(draw):
    """A stored chunk, most of them damaged."""
    return damaged(draw, good_chunk())


GROUP_LINES = st.sampled_from(["a,1", "b,2", "a", ",", "b,", "a,1,2", "", "a,é"])


@st.composite
def group_bytes(draw):
    """Lines of column,label, some of them damaged."""
    return damaged(draw, "\n".join(draw(st.lists(GROUP_LINES, max_size=4))).encode())


# name: the surface, its content, how many on every commit and in the slow job
CHECKS = {
    "table": ("table", csv_bytes(), 60, 2500),
    "any bytes as a table": ("table", st.binary(max_size=60), 20, 500),
    "groups": ("groups", group_bytes(), 30, 500),
    "run header": ("run header", json_bytes(), 30, 800),
    "run chunk": ("run chunk", chunk_bytes(), 20, 500),
    "stored row": ("stored row", row_bytes(), 30, 500),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_few_files(name):
    surface, strategy, few, _ = CHECKS[name]
    assert try_cases(surfaces.SURFACES[surface], strategy, few) >= few


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_many_files(name):
    surface, strategy, _, many = CHECKS[name]
    assert try_cases(surfaces.SURFACES[surface], strategy, many) >= many


def test_the_slow_job_tries_ten_thousand_cases():
    total = sum(check[3] for checks in (CHECKS, NUMBER_CHECKS) for check in checks.values())
    assert total >= 10_000


def test_a_good_table_is_read():
    found = surfaces.table(b"a,y\n1,2\n3,4\n")
    np.testing.assert_array_equal(found.X, [[1.0], [3.0]])
    assert surfaces.groups(b"a,1\nb,2\n") == ["1", "2"]
    assert surfaces.run_chunk(good_chunk()) is not None
    assert surfaces.stored_row(b"a,b\n1,2.5\n") == {"a": 1, "b": 2.5}
