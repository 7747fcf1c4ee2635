import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { surroundingsOf } from "../../src/leasehold.js";
import { healthHandler } from "../../src/metrics.js";
import { defaults } from "../../src/settings.js";
import { heldClock } from "../support/held-clock.js";
import { setup } from "../support/world.js";
import { startWorker } from "../worker/worker-world.js";

const healthz = new Request("http://localhost/healthz");

/**
 * A probe of liveness asked the database first. With a full pool or a silent host the answer came after 10 s, when the orchestrator had given up: it restarted every process of the fleet,
 * none of which was ill.
 */
test("/healthz is answered without the database", async () => {
  const world = await setup();
  const pool = new pg.Pool({ connectionString: world.url, max: 2 });
  onTestFinished(() => pool.end());
  const lh = await world.connect({ pool, url: undefined });
  const held = [await pool.connect(), await pool.connect()];
  const { database } = surroundingsOf(lh);
  const before = database.counts.statements;
  const answer = await healthHandler(lh)(healthz);
  for (const client of held) client.release();
  expect(database.counts.statements).toBe(before);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toEqual({ isLive: true, checks: [{ name: "loops", isOk: true, detail: "" }] });
});

test("/healthz is 503 while a loop is late", async () => {
  const clock = heldClock({ isStill: true });
  const world = await setup({ workerId: "a", clock, ttlMs: 600_000 });
  await world.queue();
  await startWorker(world.lh, { k: () => {} });
  const probe = healthHandler(world.lh);
  expect((await probe(healthz)).status).toBe(200);
  // The loops have no chance to run between these two.
  clock.elapse(2 * defaults.healthLateMs);
  const late = probe(healthz);
  expect((await late).status).toBe(503);
  expect(await (await late).json()).toMatchObject({ checks: [{ name: "loops", isOk: false }] });
});
