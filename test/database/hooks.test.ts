import { expect, test } from "vitest";
import type { Leasehold } from "../../src/index.js";
import { surroundingsOf } from "../../src/leasehold.js";
import type { EnqueueCall } from "../../src/work/hooks.js";
import { setup } from "../support/world.js";

const added = { trace: "00-1", part: 7 };

/** Notes every call with its end, and adds headers to its jobs. */
function noted(lh: Leasehold): [call: EnqueueCall, error: unknown][] {
  const calls: [EnqueueCall, unknown][] = [];
  surroundingsOf(lh).hooks.onEnqueue((call) => ({
    headers: added,
    end: (error) => calls.push([call, error]),
  }));
  return calls;
}

test("a hook sees every enqueue and its end, and adds headers to its jobs", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const calls = noted(world.lh);
  const one = await inbox.enqueue("k", 1, { headers: { mine: "yes" } });
  const [two] = await inbox.enqueueMany([{ kind: "k", payload: 2 }]);
  const three = await world.lh.transaction((tx) => inbox.enqueue("k", 3, { tx }));
  await expect(inbox.enqueue("k", 1n)).rejects.toThrow();
  await expect(inbox.enqueueMany([{ kind: "", payload: 1 }])).rejects.toThrow();
  expect((await inbox.get(one.id))?.headers).toEqual({ mine: "yes", ...added });
  expect((await inbox.get(two?.id ?? ""))?.headers).toEqual(added);
  expect((await inbox.get(three.id))?.headers).toEqual(added);
  expect(calls.map(([, error]) => error === null)).toEqual([true, true, true, false, false]);
  expect(calls[0]?.[0]).toEqual({ queue: "inbox", jobs: 1 });
});

test("added headers are left out when the producer has one of their names, or when they do not fit", async () => {
  const world = await setup();
  const inbox = await world.queue();
  noted(world.lh);
  const named = await inbox.enqueue("k", 1, { headers: { part: 1 } });
  expect((await inbox.get(named.id))?.headers).toEqual({ part: 1 });
  const full = "x".repeat(inbox.settings.payloadLimitBytes - '{"mine":""}'.length);
  const large = await inbox.enqueue("k", 1, { headers: { mine: full } });
  expect((await inbox.get(large.id))?.headers).toEqual({ mine: full });
});

test("without a hook nothing is added", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const remove = surroundingsOf(world.lh).hooks.onEnqueue(() => ({ headers: added, end: () => {} }));
  remove();
  const { id } = await inbox.enqueue("k", 1);
  expect((await inbox.get(id))?.headers).toEqual({});
});
