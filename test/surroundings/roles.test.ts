import { expect, onTestFinished, test } from "vitest";
import type { Leasehold } from "../../src/index.js";
import { ownDatabase, ownRole } from "../support/own-database.js";
import { setup, type World } from "../support/world.js";
import { allAs, live, type Parties } from "./life.js";

/** Who connects: roles of lh.grant(), and the owner of a database on a managed server. */

const roles = ["producer", "worker", "operator", "viewer"] as const;
type Role = (typeof roles)[number];

/** A connection for each role, under a login of its own as an application would have it. */
async function connectEach(world: World): Promise<Record<Role, Leasehold>> {
  const connections: [Role, Leasehold][] = [];
  for (const role of roles) {
    const url = await ownRole();
    await world.sql(`grant ${world.schema}_${role} to ${url.username}`);
    connections.push([role, await world.connect({ url: url.href })]);
  }
  return Object.fromEntries(connections) as Record<Role, Leasehold>;
}

function dropRolesAfterwards(world: World): void {
  const names = roles.map((role) => `${world.schema}_${role}`).join(", ");
  onTestFinished(async () => void (await world.sql(`drop owned by ${names}; drop role ${names}`)));
}

test("the producer enqueues, the worker works, the operator redrives, the viewer reads: it works", async () => {
  const world = await setup();
  await world.lh.grant();
  dropRolesAfterwards(world);
  const parties: Parties = await connectEach(world);
  await live(world, parties);
});

test.each(roles.filter((role) => role !== "worker"))(
  "a worker under the role of a %s: start() is refused with LH_DATABASE_REFUSED, and nothing of it is in the registry",
  async (role) => {
    const world = await setup();
    const inbox = await world.queue();
    await inbox.enqueue("step", 1);
    await world.lh.grant();
    dropRolesAfterwards(world);
    const lh = (await connectEach(world))[role];
    const worker = lh.worker("inbox", { step: () => {} }, { handlesSignals: false });
    await expect(worker.start()).rejects.toMatchObject({ code: "LH_DATABASE_REFUSED", sqlState: "42501" });
    expect(worker.state).toBe("stopped");
    expect(await world.lh.workers()).toEqual([]);
  },
);

/** Neither superuser nor CREATEROLE; owns its database and nothing else, as on a managed server. */
async function managedWorld(): Promise<World> {
  const url = await ownRole();
  url.pathname = (await ownDatabase({}, url.username)).pathname;
  const world = await setup({}, url.href);
  expect(
    await world.sql(
      "select rolsuper or rolcreaterole or rolcreatedb as may from pg_roles where rolname = current_user",
    ),
  ).toEqual([{ may: false }]);
  return world;
}

test("the owner of a database who is no superuser and may not create roles: it works", async () => {
  const world = await managedWorld();
  await live(world, allAs(world.lh));
});

test("lh.grant() by one who may not create roles: it is refused with LH_MISSING_RIGHT, which names CREATEROLE", async () => {
  const world = await managedWorld();
  await world.queue();
  await expect(world.lh.grant()).rejects.toMatchObject({
    code: "LH_MISSING_RIGHT",
    right: "CREATEROLE",
    message: expect.stringContaining(`${world.schema}_producer`),
  });
});

test("lh.grant() by one who may not create roles, when an administrator has made them: it works", async () => {
  const world = await managedWorld();
  await world.queue();
  const admin = await setup();
  for (const role of roles) await admin.sql(`create role ${world.schema}_${role} nologin`);
  onTestFinished(async () => {
    for (const role of roles) await admin.sql(`drop role ${world.schema}_${role}`);
  });
  await world.lh.grant();
  await world.sql(`drop schema ${world.schema} cascade`);
});
