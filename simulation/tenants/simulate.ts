import { Dice } from "../dice.js";
import type { Engine } from "../engine/engine.js";
import { type Variant, variants } from "../engine/variants.js";
import type { Violation } from "../history.js";
import type { Simulated } from "../simulate.js";
import { World } from "../world/world.js";
import { tenantViolationsOf } from "./checkers/all.js";
import { TenantFleet } from "./fleet.js";
import { settingsOf } from "./history.js";
import { TenantNemesis } from "./nemesis.js";
import { TenantOperator } from "./operator.js";
import { startMsMax, type TenantPlan, tenantPlanOf } from "./plan.js";

/** Tenants have no queue; any kind of schema will do. */
export const tenantVariants: readonly Variant[] = variants.slice(0, 1);

const happeningsMax = 3_000_000;
/** At the end everybody drains, for this long at most. */
const drainMsMax = 200_000;

/** Runs one seed: a fleet of supervisors over so many virtual minutes, and looks at what happened. */
export async function simulateTenants(
  engine: Engine,
  seed: number,
  { minutes }: { readonly minutes: number },
): Promise<Simulated> {
  const dice = new Dice(seed).fork("tenants");
  const plan = tenantPlanOf(dice.fork("plan"), minutes);
  for (const variant of tenantVariants) await engine.reset(variant);
  const world = new World(engine, dice, { ...plan.weather });
  const fleet = new TenantFleet(world, plan, dice.fork("fleet"));
  const operator = new TenantOperator(world, { fleet, dice: dice.fork("operator") });
  const nemesis = new TenantNemesis(world, plan, { fleet, operator, dice: dice.fork("nemesis") });
  world.trace.say("", `${JSON.stringify(plan)} ${JSON.stringify(settingsOf(plan))}`);
  startAll(world, fleet, { plan, dice: dice.fork("starts") });
  nemesis.start();
  await run(world, () => world.schedule.nowMs >= plan.chaosUntilMs);
  nemesis.calmDown();
  await run(world, () => world.schedule.nowMs >= plan.endMs);
  nemesis.end();
  for (const member of fleet.members) fleet.drain(member);
  const untilMs = world.schedule.nowMs + drainMsMax;
  await run(world, () => fleet.members.length === 0 || world.schedule.nowMs > untilMs);
  world.schedule.clear();
  const violations = [
    ...tenantViolationsOf({ settings: settingsOf(plan), entries: world.history }),
    ...(await leftBehind(world, fleet)),
  ];
  return summaryOf(seed, { world, plan, violations, faults: nemesis.faults });
}

/** A deploy starts them together, or one after another. */
function startAll(
  world: World,
  fleet: TenantFleet,
  { plan, dice }: { readonly plan: TenantPlan; readonly dice: Dice },
): void {
  const withinMs = dice.pick([100, 1_500, startMsMax]);
  for (let n = 1; n <= plan.workers; n++)
    world.schedule.after(n === 1 ? 0 : dice.between(0, withinMs), () => void fleet.start(`w${n}`));
}

/** Lets things happen until it is time. */
async function run(world: World, isTime: () => boolean): Promise<void> {
  for (let happenings = 0; !isTime() && (await world.schedule.step()); happenings++)
    if (happenings > happeningsMax)
      throw new Error(
        `More than ${happeningsMax} things happened and it was not over: somebody runs in circles.`,
      );
}

/** After everybody has drained nothing is held any more. */
async function leftBehind(world: World, fleet: TenantFleet): Promise<readonly Violation[]> {
  const rows = await world.engine.ask<{ tenant: string; owner: string }>(
    `select tenant, owner from ${world.engine.schema}.tenant_leases where owner is not null order by tenant`,
  );
  const held = rows.map(({ tenant, owner }) => ({
    checker: "nothing left behind",
    message: `Everybody has left, and tenant ${tenant} is still held by ${owner}.`,
    about: [tenant, owner],
  }));
  const late = fleet.members.map(({ process: { name } }) => ({
    checker: "nothing left behind",
    message: `${name} was told to drain and has not ended.`,
    about: [name],
  }));
  return [...held, ...late];
}

function summaryOf(
  seed: number,
  ran: {
    readonly world: World;
    readonly plan: TenantPlan;
    readonly violations: readonly Violation[];
    readonly faults: number;
  },
): Simulated {
  const { world, plan, violations, faults } = ran;
  const { history, trace, schedule } = world;
  return {
    seed,
    variant: plan.hasSessions ? "tenants" : "tenants without sessions",
    hash: trace.hash,
    statements: trace.statements,
    virtualMs: schedule.nowMs,
    faults,
    jobs: plan.tenants.length,
    starts: history.filter((entry) => entry.is === "tenant" && entry.what === "began").length,
    violations,
    trace: trace.lines,
  };
}
