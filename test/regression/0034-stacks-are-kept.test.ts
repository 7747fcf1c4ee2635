import { expect, test } from "vitest";
import { defaults } from "../../src/settings.js";
import { setup } from "../support/world.js";
import { startWorker, until } from "../worker/worker-world.js";

function failDeep(levels: number, message = "no mailbox"): never {
  if (levels > 0) failDeep(levels - 1, message);
  throw new Error(message);
}

test("the stack of what a handler threw is in the history, where it was thrown first", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await startWorker(world.lh, { bad: () => failDeep(2) });
  const { id } = await inbox.enqueue("bad", 1, { maxAttempts: 1 });
  await until("it is a dead letter", async () => (await inbox.get(id))?.status === "dead_letter");
  const [entry] = (await inbox.get(id))!.errors;
  expect(entry).toMatchObject({ attempt: 1, worker: "a", message: "Error: no mailbox" });
  expect(entry?.stack).toMatch(/^ *at failDeep .*0034-stacks-are-kept/);
});

test("the stack of fail() by hand is kept, with that of its causes", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const { id } = await inbox.enqueue("k", 1);
  const [job] = await inbox.claim({ workerId: "w" });
  const cause = new TypeError("socket\u0000closed");
  await inbox.fail(job!, new Error("no mailbox", { cause }));
  const [entry] = (await inbox.get(id))!.errors;
  expect(entry?.stack).toContain("caused by TypeError: socket\ufffdclosed\n");
});

test("a stack is bounded, whatever threw it, and the message stays", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const hostile = [
    Object.assign(new Error("long"), { stack: `Error: long\n${"    at f (\u0000\ud800)\n".repeat(10_000)}` }),
    Object.assign(new Error("x".repeat(100_000))),
    Object.assign(new Error("none"), { stack: undefined }),
    Object.assign(new Error("number"), { stack: 5 }),
    Object.defineProperty(new Error("getter"), "stack", {
      get: () => {
        throw new Error("hostile");
      },
    }),
    cyclic(),
    "a text",
    undefined,
  ];
  for (const error of hostile) {
    const { id } = await inbox.enqueue("k", 1);
    const [job] = await inbox.claim({ workerId: "w" });
    expect(await inbox.fail(job!, error)).toBe(true);
    const [entry] = (await inbox.get(id))!.errors;
    expect(entry?.message).toBe((await inbox.get(id))?.lastError);
    expect((entry?.stack ?? "").length).toBeLessThanOrEqual(defaults.errorStackMax);
  }
  const stacks = await world.sql("select errors -> 0 ->> 'stack' as stack from leasehold.inbox order by seq");
  expect(stacks[0]).toMatchObject({ stack: expect.stringContaining("at f (\ufffd\ufffd)") });
  expect(stacks[1]).toMatchObject({ stack: expect.stringContaining("0034-stacks-are-kept") });
});

function cyclic(): Error {
  const error = new Error("itself");
  error.cause = error;
  return error;
}
