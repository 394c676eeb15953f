// What every driver on Node shares: its order, the herd's names and expressions, and the record of what ran.
// See herd.py: both make the same herd.
import { openSync, writeSync } from "node:fs";

const SHAPES = 20;

export const order = JSON.parse(process.argv[2]);

const due = new Date(order.due * 1000);

export const herd = Array.from({ length: order.schedules }, (_, number) => ({
  name: `job-${String(number).padStart(6, "0")}`,
  expression: `${due.getUTCMinutes()} ${due.getUTCHours()},${(due.getUTCHours() + 2 + (number % SHAPES)) % 24} * * *`,
}));

let record;

// The handler that does nothing: one line in the record, by a write that survives the process's death.
export function handle(name) {
  record ??= openSync(order.record, "a");
  const now = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e3)) * 1000n;
  writeSync(record, `${name} ${now}\n`);
}

export const ready = () => process.stdout.write("ready\n");

export const sayOpen = (names) => process.stdout.write(`${JSON.stringify({ open: names.sort() })}\n`);

export async function inBatches(size, items, each) {
  for (let first = 0; first < items.length; first += size) {
    await Promise.all(items.slice(first, first + size).map(each));
  }
}

export async function play(roles) {
  await roles[order.role]();
}
