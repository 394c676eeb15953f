"""Control plane: when to run. API, ticker, dispatcher, sweeper, clerk."""

import aws_cdk as cdk
from constructs import Construct

from cronfleet.adapters.sqs import queues
from infra.config.installation import Config
from infra.constructs.api import Api
from infra.constructs.authorizer import Authorizer
from infra.constructs.clerk import Clerk
from infra.constructs.code import Code
from infra.constructs.dead_letters import DeadLetters
from infra.constructs.dispatcher import Dispatcher
from infra.constructs.event_bus import EventBus
from infra.constructs.gateway import Gateway
from infra.constructs.job_store import JobStore
from infra.constructs.queue import NewQueue, Queue
from infra.constructs.run_queues import RunQueues
from infra.constructs.sweeper import Sweeper
from infra.constructs.ticker import Ticker
from infra.stacks.environment import environment_of
from infra.stacks.outputs import list_functions


class ControlPlane(cdk.Stack):
    """Everything that decides when a schedule fires, and the API that changes schedules."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(
            scope,
            construct_id,
            description="Cronfleet: API, ticker, dispatcher, sweeper, clerk",
            env=environment_of(config),
        )
        job_store, event_bus = JobStore(config), EventBus(config)
        run_queues = RunQueues(self, "RunQueues", config)
        code = Code(self, "Code", config)
        tick_queue = NewQueue(self, "Ticks", config, queues.TICKS)
        errand_queue = NewQueue(self, "Errands", config, queues.ERRANDS)
        ticker = Ticker(self, "Ticker", config, code, job_store=job_store, tick_queue=tick_queue)
        dispatcher = Dispatcher(
            self,
            "Dispatcher",
            config,
            code,
            job_store=job_store,
            tick_queue=tick_queue,
            errand_queue=errand_queue,
            run_queues=run_queues,
            event_bus=event_bus,
        )
        sweeper = Sweeper(
            self,
            "Sweeper",
            config,
            code,
            job_store=job_store,
            run_queues=run_queues,
            errand_queue=errand_queue,
            event_bus=event_bus,
        )
        clerk = Clerk(self, "Clerk", config, code, job_store=job_store, errand_queue=errand_queue, event_bus=event_bus)
        dead_letters = DeadLetters(
            self,
            "DeadLetters",
            config,
            code,
            job_store=job_store,
            event_bus=event_bus,
            sources=(tick_queue, errand_queue, *run_queues.by_tier.values()),
        )
        api = Api(self, "Api", config, code, job_store=job_store, event_bus=event_bus)
        authorizer = Authorizer(self, "Authorizer", config, code, job_store)
        # Last: what is new can be asked for only when every part that meets it can read it.
        api.live.node.add_dependency(*(part.live for part in (ticker, dispatcher, sweeper, clerk, dead_letters)))
        gateway = Gateway(self, "Gateway", config, api=api, authorizer=authorizer)
        list_functions(self, [ticker, dispatcher, sweeper, clerk, dead_letters, api, authorizer])
        self._outputs(gateway, tick_queue)

    def _outputs(self, gateway: Gateway, tick_queue: Queue) -> None:
        cdk.CfnOutput(self, "ApiId", value=gateway.http_api.api_id)
        cdk.CfnOutput(self, "ApiEndpoint", value=gateway.url)
        cdk.CfnOutput(self, "TickQueueUrl", value=tick_queue.url)
