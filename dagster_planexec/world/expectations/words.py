"""The expectations that a warehouse answers with a few numbers, each with the kwargs it takes; and why not others."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_BOUNDS = ("min_value", "max_value", "strict_min", "strict_max")


def _takes(*needed: str, more: tuple[str, ...] = ("mostly",)) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(needed), frozenset(more)


KWARGS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = MappingProxyType(
    {
        # Of every row: how many break it is one number, with a few examples.
        "expect_column_values_to_not_be_null": _takes("column"),
        "expect_column_values_to_be_null": _takes("column"),
        "expect_column_values_to_be_unique": _takes("column"),
        "expect_column_values_to_be_between": _takes("column", more=(*_BOUNDS, "mostly")),
        "expect_column_values_to_be_in_set": _takes("column", "value_set"),
        "expect_column_values_to_not_be_in_set": _takes("column", "value_set"),
        "expect_column_values_to_match_regex": _takes("column", "regex"),
        "expect_column_values_to_not_match_regex": _takes("column", "regex"),
        "expect_column_values_to_match_like_pattern": _takes("column", "like_pattern"),
        "expect_column_values_to_not_match_like_pattern": _takes("column", "like_pattern"),
        "expect_column_value_lengths_to_be_between": _takes("column", more=(*_BOUNDS, "mostly")),
        "expect_column_value_lengths_to_equal": _takes("column", "value"),
        "expect_column_pair_values_to_be_equal": _takes("column_A", "column_B", more=("ignore_row_if", "mostly")),
        "expect_column_pair_values_a_to_be_greater_than_b": _takes(
            "column_A", "column_B", more=("or_equal", "ignore_row_if", "mostly")
        ),
        "expect_compound_columns_to_be_unique": _takes("column_list", more=("ignore_row_if", "mostly")),
        "expect_select_column_values_to_be_unique_within_record": _takes(
            "column_list", more=("ignore_row_if", "mostly")
        ),
        "expect_multicolumn_sum_to_equal": _takes("column_list", "sum_total", more=("ignore_row_if", "mostly")),
        # Of the table: a count, or names of columns.
        "expect_table_row_count_to_be_between": _takes(more=_BOUNDS),
        "expect_table_row_count_to_equal": _takes("value", more=()),
        "expect_table_column_count_to_be_between": _takes(more=("min_value", "max_value")),
        "expect_table_column_count_to_equal": _takes("value", more=()),
        "expect_table_columns_to_match_set": _takes("column_set", more=("exact_match",)),
        "expect_table_columns_to_match_ordered_list": _takes("column_list", more=()),
        "expect_column_to_exist": _takes("column", more=("column_index",)),
        "expect_column_unique_value_count_to_be_between": _takes("column", more=_BOUNDS),
    }
)
"""Type to the kwargs it needs and those it may have. `row_condition` is in none: it is text that becomes SQL."""

_FLOAT = "what it compares comes back as a binary number; state totals as `Task.plausible`, and bounds of each row with expect_column_values_to_be_between"  # noqa: E501 - one sentence
_ROWS = "every distinct value would be fetched; state what each row may be with expect_column_values_to_be_in_set"
_PANDAS = "it is only answered on rows that were fetched"
_SQL = "it runs SQL of its own; write a check, or a column of the result that an expectation is about"

WHY_NOT: Mapping[str, str] = MappingProxyType(
    {
        "expect_column_sum_to_be_between": _FLOAT,
        "expect_column_mean_to_be_between": _FLOAT,
        "expect_column_max_to_be_between": _FLOAT,
        "expect_column_min_to_be_between": _FLOAT,
        "expect_column_median_to_be_between": _FLOAT,
        "expect_column_stdev_to_be_between": _FLOAT,
        "expect_column_quantile_values_to_be_between": _FLOAT,
        "expect_column_proportion_of_unique_values_to_be_between": _FLOAT,
        "expect_column_proportion_of_non_null_values_to_be_between": _FLOAT,
        "expect_column_value_z_scores_to_be_less_than": _FLOAT,
        "expect_column_distinct_values_to_be_in_set": _ROWS,
        "expect_column_distinct_values_to_contain_set": _ROWS,
        "expect_column_distinct_values_to_equal_set": _ROWS,
        "expect_column_most_common_value_to_be_in_set": _ROWS,
        "expect_column_kl_divergence_to_be_less_than": _ROWS,
        "expect_column_pair_values_to_be_in_set": _PANDAS,
        "expect_column_values_to_be_dateutil_parseable": _PANDAS,
        "expect_column_values_to_be_json_parseable": _PANDAS,
        "expect_column_values_to_match_json_schema": _PANDAS,
        "expect_column_values_to_match_strftime_format": _PANDAS,
        "expect_column_values_to_be_increasing": _PANDAS,
        "expect_column_values_to_be_decreasing": _PANDAS,
        "unexpected_rows_expectation": _SQL,
        "expect_query_results_to_match_comparison": _SQL,
        "expect_table_row_count_to_equal_other_table": _SQL,
    }
)
"""Expectations that exist and are refused, each with the reason."""
