import { expect, onTestFinished, test } from "vitest";
import { setup, type World } from "../support/world.js";

/** Any role that writes history could burn ids, which made the trim delete all of it, and date its entries as it liked. */

const roles = ["producer", "worker", "viewer", "operator"] as const;

async function granted() {
  const world = await setup();
  await world.queue();
  await world.lh.grant();
  const names = roles.map((role) => `${world.schema}_${role}`).join(", ");
  const logins = roles.map((role) => `${world.schema}_login_${role}`);
  onTestFinished(async () => {
    await world.sql(`drop owned by ${names}, ${logins.join(", ")}; drop role ${names}, ${logins.join(", ")}`);
  });
  for (const role of roles)
    await world.sql(`create role ${world.schema}_login_${role} login in role ${world.schema}_${role}`);
  return world;
}

/** As a login that is a member of the role. */
async function as(world: World, role: string, ...texts: readonly string[]): Promise<unknown> {
  const client = await world.client();
  await client.query(`set session authorization ${world.schema}_login_${role}`);
  try {
    for (const text of texts) await client.query(text.replaceAll("leasehold.", `${world.schema}.`));
    return "passed";
  } catch (error) {
    return (error as { code: string }).code;
  } finally {
    await client.query("rollback");
    await client.end();
  }
}

const kindsOf = async (world: World): Promise<readonly string[]> =>
  (await world.sql<{ kind: string }>("select kind from leasehold.history order by id")).map(
    ({ kind }) => kind,
  );

test("ids that are drawn and not stored make no entry go", async () => {
  const world = await granted();
  expect(await as(world, "operator", "insert into leasehold.history (at, kind) values (now(), 'mine')")).toBe(
    "passed",
  );
  const sequence = `'${world.schema}.history_ids'`;
  for (const role of roles) expect(await as(world, role, `select nextval(${sequence})`), role).toBe("42501");
  const burn =
    "insert into leasehold.history (at, kind) select now(), 'burnt' from generate_series(1, 100001)";
  expect(await as(world, "worker", "begin", burn, "rollback")).toBe("passed");
  expect(await as(world, "worker", "insert into leasehold.history (at, kind) values (now(), 'last')")).toBe(
    "passed",
  );
  expect(await as(world, "worker", "select leasehold.trim_history(null)")).toBe("passed");
  expect(await kindsOf(world)).toEqual(["queue:created", "mine", "last"]);
});

test("a flood of entries removes entries of its own actor only", async () => {
  const world = await granted();
  await as(world, "operator", "insert into leasehold.history (at, kind) values (now(), 'mine')");
  const flood =
    "insert into leasehold.history (at, kind) select now(), 'flood' from generate_series(1, 100500)";
  expect(await as(world, "worker", flood)).toBe("passed");
  await world.lh.housekeep();
  const counts = await world.sql(
    "select kind, count(*)::int as n from leasehold.history group by 1 order by 1",
  );
  expect(counts).toEqual([
    { kind: "flood", n: 100_000 },
    { kind: "mine", n: 1 },
    { kind: "queue:created", n: 1 },
  ]);
});

test("the time of an entry is the server's, and its id can't be chosen", async () => {
  const world = await granted();
  for (const role of ["worker", "operator"]) {
    for (const at of ["now() - interval '3 years'", "now() + interval '3 years'", "'infinity'"]) {
      expect(await as(world, role, `insert into leasehold.history (at, kind) values (${at}, 'dated')`)).toBe(
        "passed",
      );
      expect(
        await as(world, role, `select leasehold.note_history('dated', null, null, null, null, ${at})`),
      ).toBe("passed");
    }
    const chosen = "insert into leasehold.history (id, at, kind) values (9000000000, now(), 'x')";
    expect(await as(world, role, chosen)).toBe("42501");
  }
  const far = await world.sql(
    "select 1 from leasehold.history where at not between now() - interval '1 hour' and now() + interval '1 hour'",
  );
  expect(far).toEqual([]);
  await world.sql("insert into leasehold.history (at, kind) values ('2020-01-01', 'of the owner')");
  expect(await world.sql("select 1 from leasehold.history where at = '2020-01-01'")).toHaveLength(1);
});
