"""Policies: a Hugging Face folder in, an own small model, chat formats, and a Hugging Face folder out."""

from assay.core.leaf import Factory

EXPORTERS = (
    Factory("huggingface", "assay.runtime.policy.export:HuggingFaceExporter", "A folder that transformers loads."),
)
CHAT_FORMATS = (
    Factory("plain", "assay.runtime.policy.chat:PlainChat", "Text, a separator, the answer, an end token."),
    Factory("template", "assay.runtime.policy.chat:TemplateChat", "The tokenizer's own chat template."),
)
