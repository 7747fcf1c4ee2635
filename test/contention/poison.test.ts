import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { setup, type World } from "../support/world.js";

const innocents = 500;
const claimersMax = 40;

/** Real processes, killed with SIGKILL in the middle of their work by the row they run. */
test.each(["key", "none"] as const)(
  "with order %s a job that kills its claimer on every attempt takes none of 500 others with it",
  async (order) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order });
    const others = Array.from({ length: innocents }, (_, i) => ({
      kind: "innocent",
      payload: i,
      partitionKey: `key-${i}`,
    }));
    const poison = { kind: "poison", payload: null, partitionKey: "key-poison" };
    await inbox.enqueueMany([...others.slice(0, 250), poison, ...others.slice(250)]);

    const start = Date.now();
    let deaths = 0;
    for (let i = 0; i < claimersMax; i++) {
      if ((await claimer(world, `claimer-${i}`, start)) === 0) break;
      deaths += 1;
    }
    expect(deaths).toBe(5);
    const dead = await inbox.list({ status: "dead_letter" });
    expect(dead.map((job) => [job.kind, job.attempts, job.crashes])).toEqual([["poison", 5, 5]]);
    expect(await inbox.list({ status: "completed", kind: "innocent", limit: 1_000 })).toHaveLength(innocents);
  },
  120_000,
);

/** The exit code, or null when it was killed. */
function claimer(world: World, workerId: string, start: number): Promise<number | null> {
  const script = new URL("../../build/test/support/poison-claimer.js", import.meta.url).pathname;
  const child = spawn(process.execPath, [script, world.url, world.schema, workerId, String(start)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return new Promise((resolve) => child.on("exit", (code) => resolve(code)));
}
