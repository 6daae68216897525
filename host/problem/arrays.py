"""The type of the tables of problems and results."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Numbers in double precision, of any shape; which one, a docstring says."""
