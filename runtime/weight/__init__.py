"""Weights from trainer to engines of one machine: mmap files, two or more buffers, checked by sequence number."""
