"""What importing costs."""

import subprocess
import sys


def test_importing_and_listing_hooks_imports_no_heavy_library() -> None:
    program = (
        "import sys, assay_domain_reasoning_gym as package\n"
        "for hook in ('domains', 'sources', 'verifiers', 'parsers', 'config_dirs'):\n"
        "    assert getattr(package, f'assay_{hook}')()\n"
        "print(sorted({'reasoning_gym', 'sympy', 'numpy', 'torch'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()
