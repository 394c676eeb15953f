"""Brings the stack up, from nothing or from whatever an earlier run left."""

import contextlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from local import demo, deployment, emulator, surroundings
from local.aws import Aws
from local.dashboard.observatory import Observatory
from local.deployment import Deployment
from local.emulator import Emulator
from local.errors import StackError
from local.folder import Folder
from local.gateway import Gateway
from local.journal import Journal
from local.long_worker import LongWorker
from local.options import ROOT, Options
from local.screen import Screen
from local.steps import alone
from local.traces.receiver import Receiver
from local.traces.store import Store

LIVE: Final = "live"
"""The alias by which every function is reached, as `infra/` has it; a test compares them."""

TOOLS_LOCK: Final = ROOT / ".local" / "tools.lock"


@dataclass(frozen=True, slots=True)
class Running:
    """A stack that is up."""

    folder: Folder
    emulator: Emulator
    aws: Aws
    gateway: Gateway
    journal: Journal
    observatory: Observatory
    long_worker: LongWorker
    long_journal: Journal
    key: str

    def describe(self) -> None:
        """Write down what a test needs to know: address, key, processes."""
        processes = {
            "supervisor": os.getpid(),
            "emulator": self.emulator.process.pid,
            "front": self.gateway.front.pid,
            "long_worker": self.long_worker.process.pid,
        }
        facts = {"url": self.gateway.url, "key": self.key, "emulator": self.emulator.endpoint, "processes": processes}
        written = self.folder.description.with_suffix(".new")
        written.touch(mode=0o600)
        written.write_text(json.dumps(facts))
        written.replace(self.folder.description)


def start(options: Options, folder: Folder, screen: Screen) -> Running:
    """Bring everything up and say how to use it; raises `StackError` where that cannot be done."""
    folder.require_room()
    gateway = Gateway(folder, options.port)
    running_emulator = _emulator(options, folder, screen)
    # Before the deployment, which tells the functions where it listens.
    receiver = Receiver(folder)
    receiver.open()
    try:
        running = _product(running_emulator, gateway, receiver.store, options, folder, screen)
    except (StackError, ClientError, BotoCoreError):
        # Whatever failed, it may have been for that.
        emulator.require_alive(running_emulator, folder)
        raise
    running.describe()
    screen.ready(gateway.url, running.key)
    return running


def _product(
    running_emulator: Emulator, gateway: Gateway, traces: Store, options: Options, folder: Folder, screen: Screen
) -> Running:
    aws = Aws(running_emulator.endpoint)
    deployed = _deployment(running_emulator, aws, folder, screen)
    # What waits in the queues may not come before the API.
    deployment.set_polling(aws, enabled=False)
    journal = Journal(folder.emulator_log)
    observatory = Observatory(aws, traces)
    observatory.open()
    with screen.step("API, demo tenant, first tick"):
        key = demo.put_key(running_emulator.endpoint, deployed.outputs["TablePrefix"], folder)
        gateway.open(running_emulator.port, f"/_aws/execute-api/{deployed.api_id}/$default", observatory.port)
        api = demo.Api(gateway.port, surroundings.HOST, key)
        _warm_up(aws, deployed, api)
    if options.demo:
        with screen.step("demo schedules"):
            demo.register(api)
    deployment.set_polling(aws, enabled=True)
    long_worker = LongWorker(folder, aws, running_emulator.endpoint, deployed.outputs["TablePrefix"])
    long_journal = Journal(folder.long_worker_log)
    return Running(folder, running_emulator, aws, gateway, journal, observatory, long_worker, long_journal, key)


def _emulator(options: Options, folder: Folder, screen: Screen) -> Emulator:
    left = emulator.running(folder)
    if left is not None and (options.fresh or not emulator.is_installed()):
        emulator.stop(left, folder)
        left = None
    if options.fresh:
        folder.forget()
    if left is not None:
        screen.say(f"found the emulator of an earlier run alive (process {left.process.pid}), going on with it")
        return left
    if not emulator.is_installed():
        with screen.step("environment of the emulator (once)"), alone(TOOLS_LOCK):
            if not emulator.is_installed():
                emulator.install(folder.deploy_log)
    with screen.step("emulator"):
        return emulator.launch(folder)


def _deployment(running: Emulator, aws: Aws, folder: Folder, screen: Screen) -> Deployment:
    mark = deployment.fingerprint(*deployment.context(folder))
    note = deployment.noted(aws)
    if note is not None and note.fingerprint == mark:
        with screen.step("deployment of an earlier run, unchanged"):
            there = deployment.inspect(aws, note.stacks)
            lost = deployment.missing_from(aws, there)
        if not lost:
            return there
        screen.note(f"the emulator has lost {lost}: deploying again")
    return deploy(running, aws, folder, screen, mark)


def deploy(running: Emulator, aws: Aws, folder: Folder, screen: Screen, mark: str) -> Deployment:
    """Synthesise what is in the checkout and deploy it; `mark` notes what that was. Raises `StackError`."""
    log = folder.deploy_log
    with contextlib.ExitStack() as commands:
        # Both take seconds, and neither needs the emulator.
        synthesis = deployment.synthesise(folder)
        commands.callback(synthesis.close)
        if not deployment.is_cdk_installed():
            with screen.step("CDK command (once)"), alone(TOOLS_LOCK):
                if not deployment.is_cdk_installed():
                    deployment.install_cdk(log)
        with screen.step("CDK bootstrap"):
            deployment.bootstrap(running, aws, log)
        with screen.step("synthesis of infra/, with layers and functions"):
            synthesis.wait()
    with screen.step("CDK deploy"):
        return deployment.deploy(running, aws, folder, mark)


def _warm_up(aws: Aws, deployed: Deployment, api: demo.Api) -> None:
    """See that a request gets through to the job store, and have the first ticks laid."""
    # Old ticks would all come at once.
    aws.client("sqs").purge_queue(QueueUrl=deployed.outputs["TickQueueUrl"])
    # Side by side, because each of these functions takes a second or two to start.
    side_by_side = ThreadPoolExecutor()
    try:
        begun = [
            side_by_side.submit(api.call, "GET", "/v1/health"),
            side_by_side.submit(api.call, "GET", "/openapi.json"),
            side_by_side.submit(invoke, aws, deployed.outputs["TickerFunction"]),
        ]
        for call in begun:
            call.result()
    finally:
        # Whoever stops the start does not wait for the other answers.
        side_by_side.shutdown(wait=False, cancel_futures=True)


def invoke(aws: Aws, function: str) -> None:
    """Invoke a function as its schedule does, and wait for it; raises `StackError` where it fails again and again."""
    said = b""
    for _ in range(demo.MOST_TRIES):
        answer = aws.client("lambda").invoke(FunctionName=function, Qualifier=LIVE, Payload=b"{}")
        said = answer["Payload"].read()
        if not answer.get("FunctionError"):
            return
    raise StackError(f"{function} failed: {said[:300].decode(errors='replace')}")
