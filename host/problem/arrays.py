"""The type of the tables of problems and results."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""An array in double precision. Docstrings state the shape."""
