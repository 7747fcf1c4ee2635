import { expect, test } from "vitest";
import { ringLegend } from "../../cli/ring-drawing.js";
import { leasehold } from "../cli/in-process.js";
import { setup } from "../support/world.js";

/** `-` in the drawing of a ring was not in its legend, and `tenants --owner` of an unknown name said that no tenants are hot. */

test("the legend of a ring names buckets without an owner, with their number", () => {
  const screen = { width: 80, paint: {} as never, now: new Date() };
  const drawing = { letters: new Map([["web-1", "a"]]), tint: (_owner: string | null, text: string) => text };
  const lines = ringLegend(
    screen,
    [
      { worker: "web-1", buckets: 30 },
      { worker: null, buckets: 10 },
    ],
    drawing,
  );
  expect(lines[0]).toMatch(/^a {2}web-1 +30 +75\.0 %/);
  expect(lines[1]).toMatch(/^- {2}no owner +10 +25\.0 %/);
});

test("tenants of a worker that runs none: it says so and names those that run some", async () => {
  const { url, schema, sql } = await setup();
  const run = (args: string) =>
    leasehold(["tenants", ...args.split(" ")], {
      environment: { DATABASE_URL: url, LEASEHOLD_SCHEMA: schema },
    });
  expect((await run("--owner nobody")).stdout).toContain("No tenants are hot.");
  await sql(
    "insert into leasehold.tenant_leases (tenant, owner, state) values ('acme', 'web-1', 'running'), ('globex', 'web-2', 'running'), ('initech', 'web-2', 'running')",
  );
  const { stdout, exitCode } = await run("--owner nobody");
  expect(stdout).toBe("No tenant runs on nobody. Those that run tenants now: web-1, web-2.\n");
  expect(exitCode).toBe(0);
  expect(JSON.parse((await run("--owner nobody --json")).stdout)).toEqual([]);
  expect((await run("--owner web-2 --limit 1")).stdout).toContain(
    "More: leasehold tenants --owner web-2 --after globex\n",
  );
});
