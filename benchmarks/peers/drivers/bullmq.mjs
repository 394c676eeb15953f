// Driver of BullMQ: a worker that takes a scheduler's job also lays its next one, so scheduler and worker are one.
import { Queue, Worker } from "bullmq";
import { handle, herd, inBatches, order, play, ready, sayOpen } from "./herd.mjs";

const CONCURRENCY = 10;
const { hostname, port } = new URL(order.url);
const connection = { host: hostname, port: Number(port), maxRetriesPerRequest: null };

async function setUp() {
  const queue = new Queue("herd", { connection });
  await inBatches(100, herd, ({ name, expression }) =>
    queue.upsertJobScheduler(name, { pattern: expression, tz: "UTC" }, { name: "handle", data: { name } }),
  );
  await queue.close();
}

async function schedule() {
  const worker = new Worker("herd", async (job) => handle(job.data.name), { connection, concurrency: CONCURRENCY });
  worker.on("error", (error) => console.error(error));
  await worker.waitUntilReady();
  ready();
}

async function left() {
  const queue = new Queue("herd", { connection });
  const jobs = await queue.getJobs(["active", "waiting", "prioritized", "paused", "delayed", "failed"]);
  const last = (order.due + 60) * 1000;
  sayOpen(jobs.filter((job) => job && job.timestamp + (job.delay ?? 0) < last).map((job) => job.data.name));
  await queue.close();
}

await play({ setup: setUp, scheduler: schedule, left });
