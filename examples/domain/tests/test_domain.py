"""The domain keeps the contract of domains."""

from assay.testing import DomainContract

TestReceipt = DomainContract.of("receipt")
