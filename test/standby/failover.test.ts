import { expect, onTestFinished, test } from "vitest";
import { ServerProxy } from "../../chaos/proxy.js";
import { makeSynchronous, promote } from "../../chaos/standby.js";
import { connect } from "../../src/index.js";
import { ask } from "../embedded/server-world.js";
import { hotStandby } from "../support/hot-standby.js";
import { heard, startWorker, until } from "../worker/worker-world.js";

test("a worker goes on by itself when its address moves to a standby that is promoted later", async () => {
  const { primary, standby } = await hotStandby(undefined, { durable: true });
  await makeSynchronous(primary);
  const front = await ServerProxy.before(primary.url);
  onTestFinished(() => front.close());
  const lh = await connect({ url: front.url, logger: false, heartbeatMs: 500 });
  onTestFinished(() => lh.close());
  const inbox = await lh.queue("inbox");
  const handled: { readonly n: unknown; readonly token: bigint }[] = [];
  const worker = await startWorker(lh, {
    k: (job) => void handled.push({ n: job.payload, token: job.fenceToken }),
  });
  const { id: first } = await inbox.enqueue("k", 1, { partitionKey: "a" });
  const isDone = async (url: string, id: string): Promise<boolean> =>
    (await ask(url, `select count(*) from leasehold.inbox_archive where id = '${id}'`)) === "1";
  await until("the first has run", () => isDone(primary.url, first));

  const retried = heard(lh, "database:retried");
  await primary.kill();
  front.retarget(standby.url);
  front.cut();
  const enqueued = (async (): Promise<string> => {
    for (let tries = 0; tries < 100; tries++) {
      const answer = await inbox
        .enqueue("k", 2, { partitionKey: "a", idempotencyKey: "second" })
        .catch(() => null);
      if (answer !== null) return answer.id;
    }
    throw new Error("The enqueue never came through.");
  })();
  await until("a write has met the standby", () => retried.some(({ reason }) => reason.includes("25006")));
  await promote(standby);
  const second = await enqueued;
  await until("the second has run", () => isDone(standby.url, second));

  expect(worker.state).toBe("working");
  expect(handled.map(({ n }) => n)).toEqual([1, 2]);
  expect(handled[1]!.token).toBeGreaterThan(handled[0]!.token);
  await until("it is ready again", async () => (await lh.health()).isReady);
});
