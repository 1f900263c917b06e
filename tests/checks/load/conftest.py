"""One load per test, on a real DuckDB file."""

import pytest

from tests.support.loading import Loading


@pytest.fixture
def loading(tmp_path):
    return Loading(tmp_path)
