import type { TenantContext } from "../../src/tenants.js";
import type { Member } from "../actors/member.js";
import type { Dice } from "../dice.js";
import type { World } from "../world/world.js";
import type { TenantNote } from "./entries.js";
import type { TenantPlan } from "./plan.js";

const actMs = { least: 1_000, most: 3_000 };
const endMsMax = 800;
const failuresMax = 2;

/** What start() of a supervisor is: acts every now and then until its signal is aborted, takes a moment to end, and tells the history. */
export function startOf(
  world: World,
  plan: TenantPlan,
  { process, clock }: Member,
): (tenant: string, context: TenantContext) => Promise<void> {
  const dice = process.dice.fork("tenants");
  return async (tenant, { signal, fenceToken: token, attempt }) => {
    const tell = (what: TenantNote["what"], more = ""): void => {
      if (what !== "acted") world.trace.say(process.name, `   ${tenant} ${what} under ${token}${more}`);
      world.note({
        ...{ is: "tenant", what, atMs: world.schedule.nowMs, process: process.name, tenant, token },
        ...{ reason: null, isStuck: false },
      });
    };
    tell("began");
    if (attempt <= failuresMax && dice.chance(plan.failShare)) {
      tell("failed");
      throw new Error("told to fail");
    }
    let acts = 0;
    while (!signal.aborted) {
      acts++;
      tell("acted");
      await clock.sleep(dice.between(actMs.least, actMs.most), signal);
    }
    tell("aborted", ` after ${acts} acts`);
    await clock.sleep(endingMs(dice, plan));
    tell("ended");
  };
}

function endingMs(dice: Dice, { stuckShare, drainLimitMs }: TenantPlan): number {
  return dice.chance(stuckShare) ? drainLimitMs + dice.between(100, 20_000) : dice.between(0, endMsMax);
}
