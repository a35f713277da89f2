"""The exporter `huggingface` keeps the contract of exporters."""

from assay.runtime.policy import EXPORTERS
from assay.runtime.policy.model import read_tensors
from assay.runtime.testing.exporter import ExporterContract

(HUGGINGFACE,) = EXPORTERS

TestHuggingFace = ExporterContract.of(HUGGINGFACE, read=read_tensors)
TestHalf = ExporterContract.of(HUGGINGFACE, read=read_tensors, options={"dtype": "bfloat16"}, tolerance=0.02)
