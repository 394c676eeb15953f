"""Code: what the functions of one stack run, as layers and bundles of the runtime the installation chose."""

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import bundles
from infra.config.installation import Config


class Code(Construct):
    """The vendor layer and the core layer of a stack, and the code of each function."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        self._target = bundles.Runtime(config.python, config.wheel_platform)
        self.runtime = lambda_.Runtime(f"python{config.python}", lambda_.RuntimeFamily.PYTHON)
        self.architecture = (
            lambda_.Architecture.ARM_64 if config.architecture == "arm64" else lambda_.Architecture.X86_64
        )
        self.layers = [
            self._layer("Vendor", bundles.vendor_layer(self._target), "third-party packages"),
            self._layer("Core", bundles.core_layer(self._target), "the package cronfleet"),
        ]

    def of(self, name: str) -> lambda_.Code:
        """The code of `functions/<name>`."""
        return _code(bundles.function_code(name, self._target))

    def _layer(self, construct_id: str, bundle: bundles.Bundle, holds: str) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            construct_id,
            code=_code(bundle),
            description=f"Cronfleet: {holds}",
            compatible_runtimes=[self.runtime],
            compatible_architectures=[self.architecture],
        )


def _code(bundle: bundles.Bundle) -> lambda_.Code:
    # The bundle's own hash, not that of its bytes: byte code need not come out the same twice.
    return lambda_.Code.from_asset(str(bundle.path), asset_hash=bundle.digest)
