import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { startPostgres } from "../../src/embedded.js";
import { report } from "../support/figures.js";
import { type Fleet, now, openFleet } from "../support/fleet.js";
import { findingsOf } from "../support/history.js";
import { isFull } from "../support/length.js";
import { Load, untilDrained } from "../support/load.js";
import { setup, type World } from "../support/world.js";
import { until } from "./worker-world.js";

/** The database goes away under a working fleet: every backend ended twice a second, then the server restarted the hard way, five times. */
test("workers survive ended backends and restarts, lose nothing, and all work again", async () => {
  // A commit that was acknowledged must outlive the restart, as on any server in production.
  const server = await startPostgres({ durable: true });
  onTestFinished(() => server.stop("immediate"));
  const world = await setup({}, server.url);
  await world.queue();
  await world.sql(`create table leasehold.effects (key text, n int, token bigint)`);
  const fleet = openFleet(world, { concurrency: 8 });
  for (const id of ["w0", "w1", "w2", "w3"]) await fleet.add(id);
  const load = new Load(world, 400);
  // A backlog, so that there is work for all of them all the time, whatever happens to producers.
  await fill(load, isFull ? 60_000 : 10_000);
  await untilAllWork(fleet, now());
  if (isFull) await new Promise((resolve) => setTimeout(resolve, 3_000)); // For the rate to compare with.
  const rate = rateBetween(fleet, now() - 2_000, now());

  const ended = await endBackends(server.url, isFull ? 30_000 : 3_000);
  const back: number[] = [];
  for (let i = 0; i < (isFull ? 5 : 2); i++) {
    const before = now();
    await server.restart("immediate");
    const at = now();
    // Everybody opened another session by himself, and works again.
    await until("all have a session again", () =>
      fleet.alive().every(({ id }) => isReopened(fleet, id, before)),
    );
    await untilAllWork(fleet, at);
    if (isFull) back.push(await untilFast(fleet, at, rate * 0.9));
  }
  await untilDrained(world, 200_000);
  const figures = { rate, ended, backMs: Math.max(...back, 0), processes: fleet.alive().length };
  report("outage", figures, { backMs: 3_000 });
  expect(fleet.alive().length).toBe(4);
  await proveNothingLost(world, fleet, load);
}, 400_000);

/** The session that it has was opened after the time given. It may have lost the one before earlier, when its backend was ended. */
function isReopened(fleet: Fleet, id: string, at: number): boolean {
  const last = fleet.events.findLast(
    ({ worker, name }) => worker === id && (name === "session:lost" || name === "session:opened"),
  );
  return last?.name === "session:opened" && last.at > at;
}

/** Each of them has ended a job after the time given, so it is still at work. */
async function untilAllWork(fleet: Fleet, at: number): Promise<void> {
  const hasWorked = (id: string): boolean =>
    fleet.told.some((one) => one.worker === id && one.is === "end" && one.at > at);
  await until("all work", () => fleet.alive().every(({ id }) => hasWorked(id)));
}

async function fill(load: Load, jobs: number): Promise<void> {
  for (let sent = 0; sent < jobs; sent += 5_000) await load.enqueue(5_000, { workMs: 10, effect: true });
}

/** Ends every connection but its own each half second. */
async function endBackends(url: string, forMs: number): Promise<number> {
  const endAt = now() + forMs;
  let count = 0;
  while (now() < endAt) {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => {});
    await client.connect();
    const { rows } = await client.query<{ count: number }>(
      `select count(pg_terminate_backend(pid))::int as count from pg_stat_activity
       where pid <> pg_backend_pid() and backend_type = 'client backend'`,
    );
    count += rows[0]?.count ?? 0;
    await client.end();
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return count;
}

/** Starts a second between two times. */
function rateBetween(fleet: Fleet, from: number, to: number): number {
  const starts = fleet.told.filter((one) => one.is === "end" && one.at >= from && one.at < to).length;
  return (starts * 1_000) / (to - from);
}

/** How long after `since` until a window of half a second shows the rate wanted. */
async function untilFast(fleet: Fleet, since: number, wanted: number): Promise<number> {
  while (now() < since + 20_000) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (now() > since + 500 && rateBetween(fleet, now() - 500, now()) >= wanted) return now() - 500 - since;
  }
  return Number.POSITIVE_INFINITY;
}

async function proveNothingLost(world: World, fleet: Fleet, load: Load): Promise<void> {
  const effects = await world.sql<{ key: string; n: number; count: number }>(
    `select key, n, count(*)::int as count from leasehold.effects group by key, n`,
  );
  expect(effects.filter((one) => one.count > 1)).toEqual([]);
  expect(effects.length).toBe(load.enqueued);
  const [dead] = await world.sql<{ count: number }>(`select count(*)::int as count from leasehold.inbox`);
  expect(dead).toEqual({ count: 0 });
  expect(findingsOf(fleet).fallingTokens).toEqual([]);
}
