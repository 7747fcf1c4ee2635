import { expect, test } from "vitest";
import { setup, type World } from "../support/world.js";

/** `leasehold.enqueue` ignored fields in camelCase, so jobs lost their order, their delay and their deduplication without a word. */

function enqueue(world: World, jobs: unknown): Promise<unknown[]> {
  return world.sql("select * from leasehold.enqueue($1::jsonb)", [JSON.stringify(jobs)]);
}

test.each([
  ["partitionKey", "a", "partition_key"],
  ["idempotencyKey", "a", "idempotency_key"],
  ["delayMs", 1_000, "delay_ms"],
  ["delay", 1_000, "delay_ms"],
  ["partiton_key", "a", "partition_key"],
  ["Kind", "k", "kind"],
] as const)(
  "a field %s is refused with the nearest known one, and nothing is stored",
  async (field, value, nearest) => {
    const world = await setup();
    const inbox = await world.queue();
    const refused = {
      code: "22023",
      message: expect.stringContaining(field),
      hint: expect.stringContaining(`Did you mean ${nearest}?`),
    };
    const job = { kind: "k", [field]: value };
    await expect(enqueue(world, job)).rejects.toMatchObject(refused);
    await expect(enqueue(world, [{ kind: "k" }, job])).rejects.toMatchObject(refused);
    expect((await inbox.stats()).pending).toBe(0);
  },
);

test("a field that resembles none is refused with all that there are", async () => {
  const world = await setup();
  await world.queue();
  await expect(enqueue(world, { kind: "k", colour: "red" })).rejects.toMatchObject({
    code: "22023",
    hint: expect.stringContaining("partition_key"),
  });
  await expect(enqueue(world, [5])).rejects.toMatchObject({ code: "22023" });
});

test("every known field may be given at once", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "none" });
  const id = "0190b5a0-0000-7000-8000-000000000001";
  const job = {
    id,
    queue: "inbox",
    kind: "k",
    payload: { a: 1 },
    headers: { b: 2 },
    partition_key: "p",
    idempotency_key: "i",
    priority: 3,
    max_attempts: 4,
    delay_ms: 5_000,
    available_at: null,
  };
  expect(await enqueue(world, job)).toEqual([{ id, duplicate: false }]);
  expect(await inbox.get(id)).toMatchObject({
    kind: "k",
    payload: { a: 1 },
    headers: { b: 2 },
    partitionKey: "p",
    idempotencyKey: "i",
    priority: 3,
    maxAttempts: 4,
    status: "scheduled",
  });
});
