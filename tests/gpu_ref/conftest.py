"""What the tests of CUDA kernels have in common."""

import pytest

from support.cuda_on_cpu import Compiler


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Kernels that g++ compiles, each once."""
    return Compiler(tmp_path_factory.mktemp("cuda"))
