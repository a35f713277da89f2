"""The tool keeps the contract of tools."""

from assay_example_tool.calculator import calculate

from assay.testing import ToolCase, ToolContract

TestCalculate = ToolContract.of(
    calculate,
    cases=[
        ToolCase({"expression": "(3 + 4) * 2 / 5"}, "14/5"),
        ToolCase({"expression": "0.1 + 0.2"}, "3/10"),
        ToolCase({"expression": "-2 ** 3"}, "-8"),
        ToolCase({"expression": "1 / 0"}, "error: division by zero"),
        ToolCase({"expression": "9**9**9**9"}, "error: a power must be whole and its value small"),
        ToolCase({"expression": "open('x')"}, "error: only numbers, + - * / ** and brackets are known"),
    ],
)
