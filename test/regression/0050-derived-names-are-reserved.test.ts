import { expect, test } from "vitest";
import { checkQueueName } from "../../src/database/names.js";
import { setup, type World } from "../support/world.js";

/** A queue named like a table that another queue needs made that queue's table be skipped, and its claims fail for good. */

async function namesOf(world: World): Promise<{ relations: string[]; functions: string[] }> {
  const relations = await world.sql<{ name: string }>(
    "select relname as name from pg_class where relnamespace = $1::regnamespace order by 1",
    [world.schema],
  );
  const functions = await world.sql<{ name: string }>(
    "select distinct proname as name from pg_proc where pronamespace = $1::regnamespace order by 1",
    [world.schema],
  );
  return { relations: relations.map((row) => row.name), functions: functions.map((row) => row.name) };
}

/** Names of queues that would make an object of this name, if every ending of a queue's object could follow them. */
const beginnings = (name: string, endings: readonly string[]) =>
  endings.filter((ending) => name.endsWith(ending)).map((ending) => name.slice(0, -ending.length));

test("no queue can have the name of a relation of the schema or of another queue", async () => {
  const world = await setup();
  await world.lh.queue("fifo", { order: "key", strict: true });
  await world.lh.queue("bag", { order: "none" });
  const { relations } = await namesOf(world);
  expect(relations).toEqual(expect.arrayContaining(["queues", "fifo_turns", "bag_archive_rest"]));
  for (const name of relations.filter((each) => each !== "fifo" && each !== "bag"))
    expect(() => checkQueueName(name), name).toThrow(/reserved/);
});

test("no two queues have a relation or a function in common", async () => {
  const world = await setup();
  const before = await namesOf(world);
  await world.lh.queue("fifo", { order: "key" });
  await world.lh.queue("bag", { order: "none" });
  const after = await namesOf(world);
  for (const what of ["relations", "functions"] as const) {
    const made = after[what].filter((name) => !before[what].includes(name));
    const endings = made
      .map((name) => name.replace(/^(fifo|bag)/, ""))
      .filter((ending, index, all) => ending !== "" && all.indexOf(ending) === index);
    expect(endings.length).toBeGreaterThan(5);
    for (const name of [...before[what], ...endings.map((ending) => `fifo${ending}`)])
      for (const queue of beginnings(name, endings).filter((each) => each !== "fifo" && each !== ""))
        expect(() => checkQueueName(queue), `${queue}, because of ${name}`).toThrow(/reserved/);
  }
});

test("a queue is refused while the schema has a table or function that it needs", async () => {
  const world = await setup();
  await world.sql("create table leasehold.mail_turns (id int)");
  await world.sql("create function leasehold.post_claim() returns int language sql as 'select 1'");
  await world.sql("create sequence leasehold.news_a20261115");
  const refusal = (queue: string) => world.lh.queue(queue, { order: "key" }).catch((error: Error) => error);
  expect(await refusal("mail")).toMatchObject({
    code: "LH_INVALID_NAME",
    message: expect.stringContaining("mail_turns"),
  });
  expect(await refusal("post")).toMatchObject({ message: expect.stringContaining("post_claim") });
  expect(await refusal("news")).toMatchObject({ message: expect.stringContaining("news_a20261115") });
  expect(await world.sql("select * from leasehold.queues")).toEqual([]);
  await expect(world.lh.queue("mail_turns", { order: "key" })).rejects.toThrow(/reserved/);
});

test("a name that only ends like a function of a queue is free, beside that queue too", async () => {
  const world = await setup();
  for (const name of ["insurance", "insurance_claim"]) {
    const queue = await world.lh.queue(name, { order: "key" });
    await queue.enqueue("check", {});
  }
  for (const name of ["insurance", "insurance_claim"])
    expect(await (await world.lh.queue(name)).claim({ workerId: "w", limit: 5 })).toHaveLength(1);
});
