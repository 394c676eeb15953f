// Driver of pg-boss: one process keeps time and sends, another works.
import pg from "pg";
import { PgBoss } from "pg-boss";
import { handle, herd, inBatches, order, play, ready, sayOpen } from "./herd.mjs";

const QUEUE = "herd";
const BATCH = 100;

async function boss(options) {
  const made = new PgBoss({ connectionString: order.url, ...options });
  made.on("error", (error) => console.error(error));
  await made.start();
  return made;
}

async function setUp() {
  const made = await boss({ schedule: false });
  await made.createQueue(QUEUE);
  await inBatches(10, herd, ({ name, expression }) =>
    made.schedule(QUEUE, expression, { name }, { tz: "UTC", key: name }),
  );
  await made.stop();
}

async function schedule() {
  await boss({ schedule: true, cronWorkerIntervalSeconds: 1, cronMonitorIntervalSeconds: 5 });
  ready();
}

async function work() {
  const made = await boss({ schedule: false, supervise: false });
  await made.work(QUEUE, { batchSize: BATCH, pollingIntervalSeconds: 0.5 }, async (jobs) =>
    jobs.forEach((job) => handle(job.data.name)),
  );
  ready();
}

async function left() {
  const client = new pg.Client(order.url);
  await client.connect();
  // What keeps time forwards to itself carries the schedule's data one level deeper.
  const { rows } = await client.query(
    "SELECT coalesce(data->>'name', '') AS name, data->'data'->>'name' AS forwarded FROM pgboss.job" +
      " WHERE state IN ('created', 'retry', 'active') AND name IN ('herd', '__pgboss__send-it')",
  );
  sayOpen(rows.map((row) => row.forwarded ?? row.name));
  await client.end();
}

await play({ setup: setUp, scheduler: schedule, worker: work, left });
