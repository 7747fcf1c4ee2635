import { expect, test } from "vitest";
import { setup } from "../support/world.js";
import { heard, startWorker, until } from "./worker-world.js";

/** What a producer can store, or try to, through leasehold.enqueue: fifty of each beside jobs that mean well. */
const hostile: Readonly<Record<string, (n: number) => object>> = {
  "huge as text": () => ({ kind: "k", payload: "HUGE" }),
  "a kind that nobody has": (n) => ({ kind: `k${n}`, payload: n }),
  "a kind that objects have": () => ({ kind: "constructor", payload: 1 }),
  "a large payload": () => ({ kind: "bad", payload: "x".repeat(300_000) }),
  "deep nesting": () => ({ kind: "bad", payload: "DEEP" }),
  "keys of prototypes": () => ({ kind: "bad", payload: { __proto__: null, constructor: 1, toJSON: 2 } }),
  "headers that are no object": (n) => ({ kind: "bad", payload: n, headers: [1, 2] }),
  "numbers beyond a double": () => ({ kind: "bad", payload: "BEYOND" }),
  "odd keys": (n) => ({ kind: "bad", payload: n, partition_key: `\n\\'"%$1 ${"\u{1f600}".repeat(60)}${n}` }),
  "many attempts": (n) => ({ kind: "bad", payload: n, max_attempts: 1_000 }),
  "far away": (n) => ({ kind: "bad", payload: n, available_at: "9999-12-31" }),
  "most urgent": (n) => ({ kind: "bad", payload: n, priority: -2_147_483_648 }),
  "the key of an innocent": (n) => ({ kind: "bad", payload: n, partition_key: `innocent ${n}` }),
};

/** JSON that JavaScript can't write by itself. */
function json(job: object): string {
  return JSON.stringify(job)
    .replace('"HUGE"', `[${"1e131000,".repeat(600)}1]`)
    .replace('"DEEP"', `${"[".repeat(900)}${"]".repeat(900)}`)
    .replace('"BEYOND"', "[1e400, -1e400, 0.1e-400]");
}

for (const order of ["key", "none"] as const) {
  test(`jobs that mean well run beside fifty of each hostile kind, and no claim fails, order ${order}`, async () => {
    const world = await setup({ workerId: "w" });
    const inbox = await world.queue("inbox", { order });
    const refused = new Set<string>();
    for (const [name, of] of Object.entries(hostile)) {
      const enqueue = (n: number) => world.sql("select id from leasehold.enqueue($1)", [json(of(n))]);
      // One that is refused is refused every time, and costs the server a second.
      if (
        await enqueue(0).then(
          () => false,
          () => true,
        )
      )
        refused.add(name);
      else for (let n = 1; n < 50; n++) await enqueue(n);
    }
    expect([...refused]).toEqual(["huge as text"]);
    const innocents = Array.from({ length: 1_200 }, (_, n) => ({
      kind: "innocent",
      payload: n,
      partitionKey: `innocent ${100 + (n % 300)}`,
    }));
    await inbox.enqueueMany(innocents);
    const failed = heard(world.lh, "activity:failed");
    const done = new Set<unknown>();
    await startWorker(world.lh, {
      innocent: (job) => void done.add(job.payload),
      bad: () => {
        throw new Error("hostile");
      },
    });
    await until("all that mean well are done", () => done.size === 1_200);
    expect(failed).toEqual([]);
    const archived =
      "select count(*)::int as jobs, max(attempts) as attempts from leasehold.inbox_archive where kind = 'innocent'";
    const outcome = async () => (await world.sql<{ jobs: number; attempts: number }>(archived))[0]!;
    await until("they are settled", async () => (await outcome()).jobs === 1_200);
    expect(await outcome()).toEqual({ jobs: 1_200, attempts: 1 });
  });
}
