import { expect, inject, test } from "vitest";
import { pgBouncerUrl } from "../support/pgbouncer.js";
import { setup } from "../support/world.js";
import { heard } from "../worker/worker-world.js";
import { live } from "./life.js";

/** PgBouncer in transaction mode, in front of the server of the test run. */
const bouncerUrl = pgBouncerUrl();

test("PgBouncer in transaction mode: it works, and workers poll without a session", async (context) => {
  const world = await setup({ url: bouncerUrl(context) });
  const [missing, opened] = [heard(world.lh, "wake:unavailable"), heard(world.lh, "session:opened")];
  await live(world);
  expect(missing.length).toBeGreaterThan(0);
  expect(opened).toEqual([]);
});

test("PgBouncer in transaction mode with a directUrl: it works, with a session for the worker", async (context) => {
  const world = await setup({ url: bouncerUrl(context), directUrl: inject("databaseUrl") });
  const [missing, opened] = [heard(world.lh, "wake:unavailable"), heard(world.lh, "session:opened")];
  await live(world);
  expect(missing).toEqual([]);
  expect(opened.map(({ isLocked }) => isLocked)).toEqual(opened.map(() => true));
  expect(opened.length).toBeGreaterThan(0);
});
