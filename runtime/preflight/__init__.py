"""Graders are tried before they judge: examples through the compiled reward, controls through the real verifiers."""
