// Driver of graphile-worker: its runner adds cron's jobs and runs them, so scheduler and worker are one process.
import { parseCronItems, run, runMigrations } from "graphile-worker";
import pg from "pg";
import { handle, herd, order, play, ready, sayOpen } from "./herd.mjs";

const CONCURRENCY = 10;
const preset = { worker: { connectionString: order.url, concurrentJobs: CONCURRENCY } };

async function schedule() {
  const items = herd.map(({ name, expression }) => ({
    task: "handle",
    match: expression,
    identifier: name,
    payload: { name },
  }));
  const taskList = { handle: (payload) => handle(payload.name) };
  const runner = await run({ preset, taskList, parsedCronItems: parseCronItems(items) });
  ready();
  await runner.promise;
}

async function left() {
  const client = new pg.Client(order.url);
  await client.connect();
  const { rows } = await client.query("SELECT payload->>'name' AS name FROM graphile_worker._private_jobs");
  sayOpen(rows.map((row) => row.name));
  await client.end();
}

await play({ setup: () => runMigrations({ preset }), scheduler: schedule, left });
