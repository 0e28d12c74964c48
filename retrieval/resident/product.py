"""Products of bytes with small whole numbers, summed without rounding, by onnxruntime's kernels.

numpy has no kernels for them (its own loops are slower than the float32 product); onnxruntime, which runs the embedded
model, has them for every processor it is made for. `product.onnx` is the one operator `MatMulInteger`
(https://onnx.ai/onnx/operators/onnx__MatMulInteger.html): bytes `(n, dims)` times signed bytes `(dims, columns)`
gives int32 `(n, columns)`; `tools/product_model.py` makes the file.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

# Kernels for processors without VNNI add two products in 16 bits, and 2 x 255 x 64 just fits.
GREATEST_FACTOR: Final = 64
_MODEL: Final = Path(__file__).with_name("product.onnx")


def integer_product(codes: NDArray[np.uint8], factors: NDArray[np.int8]) -> NDArray[np.int32]:
    """Return the exact product of two matrices. Thread-safe; other threads run meanwhile.

    Args:
        codes: `(n, dims)`, C-contiguous.
        factors: `(dims, columns)`, -`GREATEST_FACTOR` to `GREATEST_FACTOR`; a second column costs a tenth more.
    """
    product: NDArray[np.int32] = _session().run(None, {"codes": codes, "factors": factors})[0]
    return product


@cache
def _session() -> "InferenceSession":
    # Only who holds vectors in memory pays for the import.
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    # As with OpenBLAS: searches that run side by side would get in each other's way.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    return onnxruntime.InferenceSession(_MODEL.read_bytes(), options, providers=["CPUExecutionProvider"])
