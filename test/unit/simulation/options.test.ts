import { parseArgs } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { SimulationValues } from "../../../cli/simulation.js";
import { simulationOptions } from "../../../cli/simulation-options.js";
import { againCommand, runOptions } from "../../../simulation/options.js";

test("without options there are 100 seeds, from 1 on", () => {
  expect(runOptions({}).seeds).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
  expect(runOptions({ from: 7, count: 2 }).seeds).toEqual([7, 8]);
  expect(runOptions({ seed: 0 })).toMatchObject({ seeds: [0], processes: 1, tenantMinutes: null });
  expect(runOptions({ tenants: true })).toMatchObject({ tenantMinutes: 30 });
});

/** Any values that the options of the command can have. */
const anyValues = fc.record(
  Object.fromEntries(
    simulationOptions.map(({ flags }) => {
      const [name = "", argument] = flags.slice(2).split(" ");
      return [name, argument === undefined ? fc.constant(true) : fc.integer({ min: 1, max: 60 })];
    }),
  ),
  { requiredKeys: [] },
) as fc.Arbitrary<SimulationValues>;

test("the command that runs a seed again does the same in it, whatever the options were", () => {
  fc.assert(
    fc.property(anyValues, fc.integer({ min: 0, max: 4_294_967_295 }), (values, seed) => {
      const words = againCommand(seed, values).split(" ");
      expect(words.slice(0, 2)).toEqual(["leasehold", "simulate"]);
      const again = runOptions(parsed(words.slice(2)));
      const { steps, tenantMinutes, isGrey, hasEdges } = runOptions(values);
      expect(again).toMatchObject({ seeds: [seed], times: 1, steps, tenantMinutes, isGrey, hasEdges });
    }),
  );
});

function parsed(args: readonly string[]): SimulationValues {
  const options = Object.fromEntries(
    simulationOptions.map(({ flags }) => {
      const [name = "", argument] = flags.slice(2).split(" ");
      return [name, { type: argument === undefined ? ("boolean" as const) : ("string" as const) }];
    }),
  );
  const { values } = parseArgs({ args: [...args], options });
  const entries = Object.entries(values).map(([name, value]) => [
    name,
    value === true ? true : Number(value),
  ]);
  return Object.fromEntries(entries) as SimulationValues;
}
