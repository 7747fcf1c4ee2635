import { expect, onTestFinished, test } from "vitest";
import { openFleet } from "../support/fleet.js";
import { findingsOf } from "../support/history.js";
import { isFull } from "../support/length.js";
import { Load, untilDrained } from "../support/load.js";
import { watchingProxy } from "../support/watching-proxy.js";
import { setup, type World } from "../support/world.js";
import { until } from "./worker-world.js";

/**
 * A worker is frozen past its lease and its TTL, at each step of a job, and wakes up when its rows have long been somebody else's. Everything it
 * writes then must be refused, and it must not start another of the rows it still believes to hold.
 */

/**
 * By its own clock it is frozen for longer than its lease, so it knows when it wakes up. That its TTL is over is written into the registry: one that
 * is short would also be over now and then because the machine is slow.
 */
const timing = { heartbeatMs: 400, ttlMs: 600_000, leaseMs: 1_500 };

/** What the statement of each step is named. */
const steps = ["lh_claim_jobs", "handle", "lh_renew_jobs", "lh_settle_jobs"] as const;
const frozenMs = 2_000;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test("a worker that was frozen past its lease changes nothing and starts nothing it has lost", async () => {
  const world = await setup();
  await world.queue();
  await world.sql(`create table leasehold.effects (at bigserial, key text, n int, token bigint)`);
  const proxy = await watchingProxy(world.url);
  onTestFinished(() => proxy.close());
  const fleet = openFleet(world, { ...timing, concurrency: 4 });
  const frozen = await fleet.add("frozen", { url: proxy.url });
  await fleet.add("healthy");
  const load = new Load(world, 60);
  load.start(50, { workMs: 60, effect: true });
  const toldBy = (id: string): number => fleet.told.filter((one) => one.worker === id).length;
  await until("both work", () => toldBy("frozen") > 0 && toldBy("healthy") > 0);
  const freezes = isFull ? 50 : 4;
  for (let i = 0; i < freezes; i++) {
    const step = steps[i % steps.length] ?? "handle";
    await untilAt(step, { proxy, told: () => toldBy("frozen") });
    frozen.child.kill("SIGSTOP");
    await Promise.all([sleep(frozenMs), expire(world)]);
    frozen.child.kill("SIGCONT");
    const before = toldBy("frozen");
    await until("it works again", () => toldBy("frozen") > before);
  }
  await load.stop();
  await untilDrained(world);
  const effects = await world.sql<{ key: string; n: number; token: string }>(
    `select key, n, token::text from leasehold.effects order by at`,
  );
  const last = new Map<string, { n: number; token: bigint }>();
  const stale: string[] = [];
  for (const { key, n, token } of effects) {
    const before = last.get(key) ?? { n: -1, token: 0n };
    if (n !== before.n + 1 || BigInt(token) < before.token) stale.push(`${key} #${n} under ${token}`);
    last.set(key, { n, token: BigInt(token) });
  }
  expect(stale).toEqual([]);
  expect(effects.length).toBe(load.enqueued);
  // A start under a token lower than one already seen for the key would be a row started after it was lost.
  expect(findingsOf(fleet).fallingTokens).toEqual([]);
  const lost = fleet.events.filter((one) => one.worker === "frozen" && one.name === "lease:lost").length;
  process.stdout.write(`freeze: ${JSON.stringify({ freezes, jobs: effects.length, leasesLost: lost })}\n`);
  expect(lost).toBeGreaterThan(0);
}, 400_000);

/** The registry has not seen it for its TTL, and everybody is told to look. */
async function expire(world: World): Promise<void> {
  await world.sql("update leasehold.workers set last_seen_at = now() - ttl where id = 'frozen'");
  await world.sql("select pg_notify($1, '')", [`${world.schema}_ring`]);
}

/** Resolves when the worker is just at the step. A renewal comes with the next renewal of the lease; the others come all the time. */
async function untilAt(
  step: (typeof steps)[number],
  at: { readonly proxy: Awaited<ReturnType<typeof watchingProxy>>; readonly told: () => number },
): Promise<void> {
  if (step === "handle") {
    const before = at.told();
    while (at.told() === before) await new Promise((resolve) => setTimeout(resolve, 1));
    return;
  }
  await new Promise<void>((resolve) => {
    // The statement reaches the server a moment after the process has been stopped.
    at.proxy.before(step, () => {
      resolve();
      return new Promise((go) => setTimeout(go, 30));
    });
  });
}
