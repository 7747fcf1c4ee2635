import { expect, test } from "vitest";
import { createEvents } from "../../../src/events.js";
import { memberSettings } from "../../../src/membership/member-settings.js";
import { TenantCounts } from "../../../src/tenants/metrics.js";
import { Runs } from "../../../src/tenants/runs.js";
import { SingleOwnership } from "../../../src/tenants/single-ownership.js";
import { tenantSettings } from "../../../src/tenants/tenant-settings.js";
import { type ManualClock, manualClock } from "./manual-clock.js";

/** One process, whose belief in its leases a test sets. */
class Believing extends SingleOwnership {
  sureMs = 1_000;
  readonly freed: string[] = [];

  override sureForMs(): number {
    return this.sureMs;
  }

  override async free(held: Parameters<SingleOwnership["free"]>[0]): Promise<void> {
    this.freed.push(...held.map(({ tenant }) => tenant));
    await super.free(held);
  }
}

interface Staged {
  readonly runs: Runs<unknown>;
  readonly ownership: Believing;
  readonly counts: TenantCounts;
  readonly clock: ManualClock;
}

function runsOf(start: () => void): Staged {
  const clock = manualClock();
  const settings = memberSettings(
    { workerId: "a" },
    { hostname: "h", pid: 1, workerId: undefined, heartbeatMs: undefined, ttlMs: undefined },
  );
  const ownership = new Believing(settings, clock);
  const counts = new TenantCounts();
  const seams = {
    clock,
    events: createEvents(),
    random: { fraction: () => 0, bytes: () => new Uint8Array() },
  };
  const tasks = { size: 0, endAll: () => {} };
  const options = { start };
  const runs = new Runs(seams, {
    ownership,
    settings: tenantSettings(options, 30_000),
    options,
    counts,
    tasks: () => tasks,
  });
  return { runs, ownership, counts, clock };
}

test("what was won when nobody can be sure of it any more is not started, and given up", async () => {
  let starts = 0;
  const { runs, ownership, clock } = runsOf(() => void starts++);
  runs.open();
  ownership.sureMs = 0;
  expect(runs.begin("x", 7n)).toBe(false);
  await clock.advance(1);
  await clock.advance(1);
  expect({ starts, size: runs.size, freed: ownership.freed }).toEqual({ starts: 0, size: 0, freed: ["x"] });
  ownership.sureMs = 1_000;
  expect(runs.begin("x", 8n)).toBe(true);
  expect(starts).toBe(1);
});

test("everything ends when leases are not sure any more, whoever asks", () => {
  const { runs, ownership, counts } = runsOf(() => {});
  runs.open();
  for (const tenant of ["x", "y"]) runs.begin(tenant, 7n);
  expect(runs.endUnsure()).toBe(1_000);
  ownership.sureMs = 0;
  runs.doubt();
  expect(runs.running).toEqual([]);
  expect(counts.demoted.evicted).toBe(2);
});
