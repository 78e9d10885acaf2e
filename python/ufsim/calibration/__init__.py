"""Calibration: parameters of a profile from what a real phone took, and how well a profile predicts it.

- `recording`: what the traced device did, request by request
- `loss`: how far a run is from it, in one number
- `parameters`, `search`: which values are tried, and how the best are found
- `resampling`: how well a recording knows its own statistics
- `determined`: what the data says of each fitted value
- `score`, `residuals`: how well a profile predicts, as a verdict and in detail
- `calibrating`, `calibration`: the call, and what it gives
"""

from ufsim.calibration.calibrating import calibrate
from ufsim.calibration.calibration import Calibration

__all__ = ["Calibration", "calibrate"]
