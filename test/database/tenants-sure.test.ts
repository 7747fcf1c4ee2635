import { expect, inject, test } from "vitest";
import { binder } from "../../src/database/bind.js";
import { beatWorker } from "../../src/database/statements.generated.js";
import { defaults } from "../../src/settings.js";
import type { TenantContext } from "../../src/tenants.js";
import { createTenantSupervisor } from "../../src/tenants.js";
import { openTransaction } from "../support/claims.js";
import { cuttingProxy } from "../support/cutting-proxy.js";
import { heldClock } from "../support/held-clock.js";
import { setup, type World } from "../support/world.js";
import { heard, until } from "../worker/worker-world.js";

/** How long a process believes in its leases when its session breaks: never longer than others need to take it for dead. */

async function oneTenant(world: World): Promise<TenantContext> {
  let context: TenantContext | null = null;
  const supervisor = createTenantSupervisor(world.lh, {
    fleet: true,
    tickMs: 60_000,
    startupMs: 0,
    handlesSignals: false,
    hot: () => ["acme"],
    start: (_, given) => {
      context ??= given;
    },
  });
  await supervisor.start();
  await until("it runs", () => context !== null);
  return context!;
}

const endSessions = `select pg_terminate_backend(a.pid) from pg_stat_activity a join pg_locks l on l.pid = a.pid
  where l.locktype = 'advisory' and a.application_name = 'leasehold session'
    and (l.classid::bigint << 32 | l.objid::bigint) = leasehold.session_lock('a')`;

test("a session that breaks while the registry can't be told ends the tenants before the grace of 1.5 s", async () => {
  const proxy = await cuttingProxy(inject("databaseUrl"));
  const clock = heldClock({ longMs: 500, isStill: true });
  const world = await setup({ workerId: "a", heartbeatMs: 300, ttlMs: 30_000, directUrl: proxy.url, clock });
  const lost = heard(world.lh, "session:lost");
  const { signal } = await oneTenant(world);
  let isAborted = false;
  signal.addEventListener("abort", () => {
    isAborted = true;
  });
  const person = await openTransaction(world);
  await person.tx.query(`select 1 from ${world.schema}.workers for update`);
  await proxy.close();
  await until("it has noticed", () => lost.length > 0);
  const sureMs = defaults.sessionGraceMs * defaults.tenantSureShare;
  await until("it waits for as long as it is sure", () => clock.held().includes(sureMs));
  clock.elapse(sureMs - 1);
  expect(signal.aborted).toBe(false);
  clock.elapse(1);
  await until("it has given up by itself", () => isAborted);
  await person.commit();
});

test("a session that breaks and is told of in time ends nothing", async () => {
  const world = await setup({ workerId: "a", heartbeatMs: 300, ttlMs: 30_000 });
  const lost = heard(world.lh, "session:lost");
  const opened = heard(world.lh, "session:opened");
  const { signal } = await oneTenant(world);
  for (let breaks = 1; breaks <= 3; breaks++) {
    const before = opened.length;
    await world.sql(endSessions);
    await until("it has noticed", () => lost.length >= breaks);
    await until("it has another", () => opened.length > before);
  }
  await new Promise((resolve) => setTimeout(resolve, 1_700));
  expect(signal.aborted).toBe(false);
  const rows = await world.sql("select owner, token, state from leasehold.tenant_leases");
  expect(rows).toEqual([{ owner: "a", token: expect.any(String), state: "running" }]);
});

test("a beat that comes late can't say that there is a session", async () => {
  const world = await setup({ workerId: "a", heartbeatMs: 60_000, ttlMs: 180_000 });
  await oneTenant(world);
  const bind = binder({ schema: world.schema, queue: "inbox" });
  const client = await world.client();
  const [row] = await world.sql<{ generation: string }>("select generation from leasehold.workers");
  const beat = async (hasSession: boolean): Promise<unknown> => {
    const about = {
      id: "a",
      generation: BigInt(row!.generation),
      queues: ["q"],
      metadata: "{}",
      kinds: "{}",
      failing: "{}",
      now: null,
    };
    const { text, values } = bind(beatWorker, { ...about, hasSession });
    await client.query(text, [...values]);
    return (await world.sql("select has_session from leasehold.workers"))[0];
  };
  expect(await beat(true)).toEqual({ has_session: true });
  expect(await beat(false)).toEqual({ has_session: false });
  expect(await beat(true)).toEqual({ has_session: false });
});
