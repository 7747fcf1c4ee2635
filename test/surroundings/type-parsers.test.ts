import pg from "pg";
import { inject, onTestFinished, test } from "vitest";
import { setup, type World } from "../support/world.js";
import { live } from "./life.js";

/** Parsers for the types of columns that an application gave to `pg`, for all of it or for one pool. */

const oids = {
  bool: 16,
  int8: 20,
  int4: 23,
  json: 114,
  float8: 701,
  textArray: 1009,
  timestamptz: 1184,
  jsonb: 3802,
};

/** Parses bigints as numbers and leaves everything else as text. */
function parse(oid: number): (text: string) => unknown {
  return oid === oids.int8 ? Number : (text) => text;
}

/** Tokens above 2^53, as after a restore. */
async function withLargeTokens(world: World): Promise<World> {
  await world.sql("select leasehold.begin_token_epoch()");
  return world;
}

test("other parsers for all of pg: it works", async () => {
  const world = await withLargeTokens(await setup());
  for (const oid of Object.values(oids)) {
    const shipped = pg.types.getTypeParser(oid);
    pg.types.setTypeParser(oid, parse(oid));
    onTestFinished(() => pg.types.setTypeParser(oid, shipped));
  }
  await live(world);
});

test("a pool with parsers of its own: it works", async () => {
  const types = { getTypeParser: (oid: number) => parse(oid) };
  const pool = new pg.Pool({ connectionString: inject("databaseUrl"), max: 4, types });
  onTestFinished(() => pool.end());
  await live(await withLargeTokens(await setup({ pool, url: undefined })));
});
