import { expect, test } from "vitest";
import { allDrills } from "../../cli/drills/all-drills.js";
import { findingCodes } from "../../src/index.js";
import { leasehold } from "./in-process.js";

test("drills are listed with a line each, in text and in data", async () => {
  const listed = await leasehold(["drill"], { environment: { COLUMNS: "80" } });
  expect(listed.exitCode).toBe(0);
  const lines = listed.stdout.split("\n");
  for (const { name } of allDrills)
    expect(lines.filter((line) => line.startsWith(`${name} `))).toHaveLength(1);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  const data = JSON.parse((await leasehold(["drill", "--json"])).stdout) as object[];
  expect(data).toEqual(allDrills.map(({ name, summary, expected }) => ({ name, summary, expected })));
});

test("an unknown drill is not found, and the help has examples", async () => {
  const unknown = await leasehold(["drill", "crashed-workers"]);
  expect(unknown).toMatchObject({ exitCode: 3, stdout: "" });
  expect(unknown.stderr).toBe(
    "error CLI_NOT_FOUND: There is no drill crashed-workers.\nadvice: See what there is: leasehold drill\n",
  );
  const help = await leasehold(["drill", "--help"]);
  expect(help.stdout).toContain("leasehold drill crashed-worker --json");
  expect(await leasehold(["drill", "--holding"])).toMatchObject({ exitCode: 2 });
});

test("each drill expects a code of doctor's, another one each", () => {
  const expected = allDrills.map((drill) => drill.expected);
  expect(new Set(expected).size).toBe(allDrills.length);
  for (const code of expected) expect(findingCodes).toContain(code);
});
