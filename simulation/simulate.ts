import { defaults } from "../src/settings.js";
import { Edges } from "./actors/edges.js";
import { Fleet } from "./actors/fleet.js";
import { GreyFailures } from "./actors/grey.js";
import { Nemesis } from "./actors/nemesis.js";
import { Operator } from "./actors/operator.js";
import { type Plan, planOf } from "./actors/plan.js";
import { Producer } from "./actors/producer.js";
import { violationsOf } from "./checkers/all.js";
import { Dice } from "./dice.js";
import type { Engine } from "./engine/engine.js";
import { queueName } from "./engine/variants.js";
import type { History, Violation } from "./history.js";
import { World } from "./world/world.js";

export interface SimulateOptions {
  /** Statements at least; faults end when two thirds of them have run. */
  readonly steps: number;
  /** Workers are half ill now and then, beside everything else. */
  readonly isGrey?: boolean;
  /** Transactions commit late, functions claim by hand, an operator acts in bulk, and the server's clock is set, beside everything else. */
  readonly hasEdges?: boolean;
}

export interface Simulated {
  readonly seed: number;
  readonly variant: string;
  /** Of everything that happened: two runs of a seed have the same. */
  readonly hash: string;
  readonly statements: number;
  readonly virtualMs: number;
  readonly faults: number;
  readonly jobs: number;
  readonly starts: number;
  readonly violations: readonly Violation[];
  readonly trace: readonly string[];
}

const endLookMs = 500;
/** After the last fault everything has this long, in virtual time. */
const endMsMax = 900_000;
const happeningsMax = 200_000;

/** Runs one seed from an empty queue to the end, and looks at what happened. */
export async function simulate(engine: Engine, seed: number, options: SimulateOptions): Promise<Simulated> {
  const { steps, isGrey = false, hasEdges = false } = options;
  const dice = new Dice(seed).fork("simulation");
  const plan = planOf(seed, dice.fork("plan"));
  await engine.reset(plan.variant);
  const world = new World(engine, dice, { ...plan.weather });
  const fleet = new Fleet(world, plan, dice.fork("fleet"));
  const parts = { fleet, dice: dice.fork("nemesis") };
  const nemesis = new Nemesis(world, plan, parts);
  const operator = new Operator(world, plan, { fleet, dice: dice.fork("operator") });
  const producers = Array.from({ length: plan.producers }, (_, n) => {
    const name = `producer${n + 1}`;
    return new Producer(world, plan, { fleet, name, dice: dice.fork(name) });
  });
  for (const id of ["a", "b", "c", "d"].slice(0, plan.workers)) fleet.startWorker(id);
  const grey = new GreyFailures(world, { fleet, dice: dice.fork("grey") });
  const edges = new Edges(world, plan, { fleet, dice: dice.fork("edges") });
  const harms = [...(isGrey ? [grey] : []), ...(hasEdges ? [edges] : [])];
  for (const actor of [...producers, operator, nemesis, ...harms]) actor.start();
  const isChaosOver = (): boolean =>
    world.trace.statements >= (steps * 2) / 3 && [...producers, edges].every((one) => one.isDone);
  let happenings = await run(world, fleet, () => isChaosOver());
  nemesis.calmDown();
  for (const harm of harms) harm.calmDown();
  operator.calmDown();
  happenings += await run(
    world,
    fleet,
    await ending(world, () => edges.isQuiet && operator.isQuiet && world.trace.statements >= steps),
  );
  nemesis.end();
  for (const member of fleet.workers) fleet.drain(member);
  happenings += await run(world, fleet, () => fleet.workers.length === 0);
  world.schedule.clear();
  const violations = [...violationsOf(historyOf(world, plan, edges.clockOffsetMsMax)), ...stuck(happenings)];
  return summaryOf({ seed, world, plan, violations, faults: nemesis.faults + grey.faults + edges.faults });
}

/** Lets things happen until it is time, or until too many have. */
async function run(world: World, fleet: Fleet, isTime: () => boolean): Promise<number> {
  let happenings = 0;
  while (!isTime() && happenings < happeningsMax && (await world.schedule.step())) {
    happenings++;
    fleet.noteOwned();
  }
  return happenings;
}

/** True when nothing is left to do, or its time is up. Looks now and then, beside what is simulated. */
async function ending(world: World, mayEnd: () => boolean): Promise<() => boolean> {
  const untilMs = world.schedule.nowMs + endMsMax;
  let isOver = false;
  const look = async (): Promise<void> => {
    const [row] = await world.engine.ask<{ open: boolean }>(
      `select exists (select 1 from ${world.engine.schema}.${queueName} where status <> 'dead_letter' or finished_at is null) as open`,
    );
    const isIdle = row?.open === false && mayEnd();
    isOver = isIdle || world.schedule.nowMs > untilMs;
    if (!isOver) world.schedule.after(endLookMs, look);
  };
  world.schedule.after(endLookMs, look);
  return () => isOver;
}

function historyOf(world: World, plan: Plan, clockOffsetMsMax: number): History {
  const { order, onDeadLetter = "continue", retentionMs, buckets = 0, maxCrashes } = plan.variant.options;
  // What was seen last before the server's clock went back seems to have been seen in the future.
  const slackMs = 4_000 + plan.weather.slowMsMax * 2 + clockOffsetMsMax * 2;
  const ownedWithinMs = plan.ttlMs + defaults.ringCacheMs + slackMs;
  const settings = {
    order,
    onDeadLetter,
    keepsArchive: retentionMs !== 0,
    buckets,
    maxCrashes,
    ownedWithinMs,
    raceMs: 0,
    lateClaimsMax: 0,
  };
  return { settings, entries: world.history };
}

function stuck(happenings: number): readonly Violation[] {
  if (happenings < happeningsMax) return [];
  const message = `More than ${happeningsMax} things happened and it was not over: somebody runs in circles.`;
  return [{ checker: "the simulation", message, about: [] }];
}

function summaryOf(given: {
  readonly seed: number;
  readonly world: World;
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  readonly faults: number;
}): Simulated {
  const { seed, world, plan, violations, faults } = given;
  const { history, trace, schedule } = world;
  return {
    seed,
    variant: plan.variant.name,
    hash: trace.hash,
    statements: trace.statements,
    virtualMs: schedule.nowMs,
    faults,
    jobs: history.filter((entry) => entry.is === "moved" && entry.from === null).length,
    starts: history.filter((entry) => entry.is === "started").length,
    violations,
    trace: trace.lines,
  };
}
