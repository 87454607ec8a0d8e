"""The report's record: its schema, its numbers, its arrays, and its way to disk and back."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from optdsl.report import schema_file
from optdsl.report.model import Report, json_schema
from optdsl.report.store import from_json, to_json
from optdsl.report.values import INLINE_LIMIT, Values, plain_data
from optdsl.syntax.diagnostics import OptError
from tests.report import reports


def test_schema_file_is_current() -> None:
    assert schema_file.PATH.read_text(encoding="utf-8") == schema_file.text()


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("report", [reports.transport(), reports.cut_off(), reports.infeasible(), reports.vector(5)])
def test_reports_are_valid_by_the_schema(report: Report) -> None:
    document = json.loads(to_json(report), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    jsonschema.validate(document, json_schema())
    assert document["schema"] == "optdsl.report/1"


def test_the_keys_that_readers_rely_on() -> None:
    document = json.loads(to_json(reports.transport()))
    assert {"title", "file", "sha256", "sizes"} <= document["problem"].keys()
    assert {"name", "source", "sha256", "shape"} <= document["data"][0].keys()
    assert document["dispatch"]["refused"] == [{"backend": "osqp", "reason": "it has rows of its own"}]
    assert document["solution"]["ship"]["values"] == [[50.0, 300.0, 0.0], [275.0, 0.0, 275.0]]
    assert document["solution"]["ship"]["labels"] == [["Seattle", "San Diego"], ["New York", "Chicago", "Topeka"]]
    assert document["constraints"][2] == {
        "name": "demand", "label": "[New York]", "violation": 0.0, "slack": 0.0, "dual": 0.225,
    }  # fmt: skip
    assert document["seconds"].keys() == {"parse", "compile", "solve", "certify"}


def test_numbers_that_are_not_finite_are_words() -> None:
    report = reports.vector(5)
    document = json.loads(to_json(report))
    assert document["solution"]["x"]["values"][:3] == ["nan", "inf", "-inf"]
    assert document["bound"] == "-inf"
    back = from_json(to_json(report), "report")
    assert back.bound == -math.inf
    assert back.answer is not None and back.answer.bound is not None and math.isnan(back.answer.bound)
    np.testing.assert_array_equal(back["x"], report["x"])


@pytest.mark.parametrize("word", ["Infinity", "1.5", "", "NaN"])
def test_no_other_words_are_numbers(word: str) -> None:
    document = json.loads(to_json(reports.transport()))
    document["objective"] = word
    with pytest.raises(OptError, match="E609"):
        from_json(json.dumps(document), "report")


def _round_trip(values: Values) -> Values:
    return Values.model_validate_json(values.model_dump_json())


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
def test_floats_come_back_bit_for_bit(a: np.ndarray) -> None:
    b = _round_trip(Values.of(a)).array()
    assert b.shape == a.shape
    np.testing.assert_array_equal(b, a)
    assert np.array_equal(np.signbit(b[~np.isnan(b)]), np.signbit(a[~np.isnan(a)]))


@settings(max_examples=30, deadline=None)
@given(st.one_of(arrays(np.int64, 4), arrays(np.bool_, (2, 2)), arrays(np.float32, 3)))
def test_other_kinds_keep_their_kind(a: np.ndarray) -> None:
    b = _round_trip(Values.of(a)).array()
    assert b.dtype == a.dtype
    np.testing.assert_array_equal(b, a)


def test_labels_of_every_kind() -> None:
    kept = _round_trip(Values.of(np.zeros((2, 2, 2)), [["a", "b"], None, [("a", 1), ("b", 2)]]))
    assert [kept.axis_labels(k) for k in range(3)] == [["a", "b"], None, [["a", 1], ["b", 2]]]


def test_unknown_names_say_which_there_are() -> None:
    report = reports.transport()
    with pytest.raises(OptError) as caught:
        report["shop"]
    assert caught.value.diagnostics[0].help == "did you mean `ship`?"
    with pytest.raises(OptError, match="E612"):
        report.dual("transport")


def test_duals_and_labels() -> None:
    report = reports.transport()
    np.testing.assert_array_equal(report.dual("demand"), [0.225, 0.153, 0.126])
    assert report.labels("ship")[1] == ["New York", "Chicago", "Topeka"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "Invalid JSON"),
        ("[]", "Input should be an object"),
        ('{"schema": "optdsl.report/9"}', "optdsl.report/9"),
        ('{"schema": "optdsl.report/1"}', "Field required"),
    ],
)
def test_what_is_no_report_says_why(text: str, why: str) -> None:
    with pytest.raises(OptError, match="E609") as caught:
        from_json(text, "other.json")
    assert why in caught.value.diagnostics[0].message


def test_plain_data() -> None:
    given: dict[Any, Any] = {
        "a": (1, np.float64(2.5)),
        "b": math.inf,
        "c": Path("x"),
        "d": np.arange(2),
        3: None,
        "e": np.True_,
    }
    assert plain_data(given) == {"a": [1, 2.5], "b": "inf", "c": "x", "d": [0, 1], "3": None, "e": True}


def test_inline_up_to_the_limit() -> None:
    assert Values.of(np.zeros(INLINE_LIMIT)).values is not None
    assert Values.of(np.zeros(INLINE_LIMIT + 1)).values is None


@pytest.mark.parametrize(
    "change", [{"shape": [7]}, {"values": [[1.0], [1.0, 2.0]]}, {"dtype": "object[]"}, {"values": None}]
)
def test_values_that_are_no_array_are_an_altered_file(change: dict[str, Any]) -> None:
    document = Values.of(reports.SHIP).model_dump() | change
    with pytest.raises(OptError, match="E610"):
        Values.model_validate(document).array()
