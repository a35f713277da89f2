"""The folder keeps the contract of config folders."""

from assay.testing import ConfigDirContract

TestConf = ConfigDirContract.of("assay_example_config_dir/conf")
