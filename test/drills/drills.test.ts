import { expect, test } from "vitest";
import { allDrills } from "../../cli/drills/all-drills.js";
import { until } from "../worker/worker-world.js";
import { expectNothingLeft, processesOf, startDrill } from "./drill-process.js";

/** For what hangs: the longest drill takes a minute and a half on an idle machine. */
const limitMs = 900_000;

test.each(allDrills.map(({ name, expected }) => [name, expected]))(
  "%s: doctor names %s first, its advice fixes it, and nothing is left behind",
  async (name, expected) => {
    const drill = startDrill([name, "--json"]);
    const exitCode = await drill.ended;
    expect(exitCode, `${drill.stdout()}${drill.stderr()}`).toBe(0);
    const report = JSON.parse(drill.stdout()) as { findings: string[]; steps: { command: string }[] };
    expect(Object.keys(report)).toEqual([
      "name",
      "incident",
      "findings",
      "expected",
      "found",
      "steps",
      "fixed",
      "tookMs",
    ]);
    expect(report).toMatchObject({ name, expected, found: true, fixed: true });
    expect(report.findings[0]).toBe(expected);
    expect(report.steps.map(({ command }) => command)).toContain("leasehold doctor");
    await expectNothingLeft(drill);
  },
  limitMs,
);

test(
  "--hold keeps the incident open until Ctrl-C, which stops all of it",
  async () => {
    const drill = startDrill(["grey-worker", "--hold"]);
    await until("the address is printed", () => /DATABASE_URL=\S+/.test(drill.stderr()), limitMs / 2);
    expect(await processesOf(drill)).toBeGreaterThanOrEqual(3);
    drill.child.kill("SIGINT");
    expect(await drill.ended).toBe(130);
    expect(drill.stderr()).toContain("error CLI_INTERRUPTED: ");
    await expectNothingLeft(drill);
  },
  limitMs,
);

test(
  "a drill that is killed leaves nothing behind",
  async () => {
    const drill = startDrill(["grey-worker", "--hold"]);
    await until("the address is printed", () => /DATABASE_URL=\S+/.test(drill.stderr()), limitMs / 2);
    drill.child.kill("SIGKILL");
    await drill.ended;
    await expectNothingLeft(drill);
  },
  limitMs,
);
