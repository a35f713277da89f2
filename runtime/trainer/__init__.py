"""Trainer ranks: Megatron-core behind the `Trainer` protocol.

Nothing here imports Megatron or torch; the modules do, and only trainer ranks load them.
"""
