import { type Faults, faultCount } from "../faults.js";
import { type CellResult, outcomesOf } from "../results.js";

const words = {
  missing: "not handled",
  repeated: "handled again",
  disordered: "out of order",
  overlapping: "at the same time as another of the key",
} as const;

/** What went wrong in the worst round, by kind; "none" if nothing. */
export function faultsText(result: CellResult): string {
  const worst = worstFaults(result);
  const parts = (Object.keys(words) as (keyof Faults)[]).flatMap((kind) =>
    worst[kind] === 0 ? [] : [`${worst[kind]} ${words[kind]}`],
  );
  return parts.length === 0 ? "none" : parts.join(", ");
}

export function hasFaults(result: CellResult): boolean {
  return faultCount(worstFaults(result)) > 0;
}

function worstFaults(result: CellResult): Faults {
  const worst = { missing: 0, repeated: 0, disordered: 0, overlapping: 0 };
  for (const { faults } of outcomesOf(result)) {
    for (const kind of Object.keys(worst) as (keyof Faults)[]) {
      if (Math.abs(faults[kind]) > Math.abs(worst[kind])) worst[kind] = faults[kind];
    }
  }
  return worst;
}
