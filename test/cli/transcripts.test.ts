import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { setup } from "../support/world.js";
import { type Givens, type Stage, transcribed } from "./transcripts.js";

const page = new URL("../../docs/cli.md", import.meta.url);

/** What the page says has happened. Workers are rows here: nothing beats or claims by itself. */
const givens: Givens = {
  "two workers": async (stage) => {
    await join(stage, "web-1:4711");
    await join(stage, "web-2:4712");
  },
  "a worker has tried the jobs of two orders": async (stage) => {
    await fail(stage, 3, (order) => `SMTP 550: no mailbox for order ${order}`);
  },
  "a minute and a half": (stage) => {
    stage.pass(90_000);
    return Promise.resolve();
  },
};

/** `npm run transcripts` writes the page again. */
test("docs/cli.md shows what the commands print", async () => {
  const world = await setup();
  const text = await transcribed(await readFile(page, "utf8"), world, givens);
  await expect(text).toMatchFileSnapshot("../../docs/cli.md");
});

async function join({ world, now }: Stage, id: string): Promise<void> {
  const insert = `insert into leasehold.workers (id, hostname, pid, status, started_at, last_seen_at, ttl, queues, metadata)
    values ($1, 'web', 4711, 'alive', $2, $2, interval '1 hour', '{inbox}', '{"version": "1.4.2"}')`;
  await world.sql(insert, [id, now]);
}

async function fail(stage: Stage, orders: number, words: (order: number) => string): Promise<void> {
  const { schema, connect } = stage.world;
  const lh = await connect({ schema, ...stage.connectOptions });
  const queue = await lh.queue("inbox");
  for (let order = 9_183; order < 9_183 + orders; order++)
    await queue.enqueue("receipt.send", { order }, { partitionKey: `order:${order}`, maxAttempts: 1 });
  for (const job of await queue.claim({ workerId: "web-1:4711", limit: orders + 1 })) {
    const { order } = job.payload as { readonly order: number };
    if (order > 9_182) await queue.fail(job, new Error(words(order)));
  }
}
