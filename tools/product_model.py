"""Remakes retrieval/resident/product.onnx: one operator, the product of bytes with signed bytes.

Run it with `python -m tools.product_model` where onnx is installed (`pip install onnx`); neither the product nor its
tests need that package.
"""

from pathlib import Path
from typing import Final

from onnx import TensorProto, checker, helper

TARGET: Final = Path(__file__).parents[1] / "retrieval" / "resident" / "product.onnx"


def main() -> None:
    """Write the model, with names for its lengths so that they may be any."""
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["codes", "factors"], ["product"])],
        "product",
        [
            helper.make_tensor_value_info("codes", TensorProto.UINT8, ["n", "dims"]),
            helper.make_tensor_value_info("factors", TensorProto.INT8, ["dims", "columns"]),
        ],
        [helper.make_tensor_value_info("product", TensorProto.INT32, ["n", "columns"])],
    )
    # The oldest format that has the operator: any onnxruntime of today reads it.
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=5, producer_name="slackquery"
    )
    checker.check_model(model, full_check=True)
    TARGET.write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
