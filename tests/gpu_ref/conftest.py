"""Fixtures of the tests of CUDA kernels."""

import pytest

from support.cuda_on_cpu import Compiler


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Return a function that compiles kernels with g++, each of them once."""
    return Compiler(tmp_path_factory.mktemp("cuda"))
