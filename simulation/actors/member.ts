import { GuardedDatabase } from "../../src/database/guarded-database.js";
import { createEvents, type Events } from "../../src/events.js";
import { Leasehold } from "../../src/leasehold.js";
import { memberSettings } from "../../src/membership/member-settings.js";
import type { Sessions } from "../../src/seams/session.js";
import { SimClock } from "../world/clock.js";
import { SimDatabase } from "../world/database.js";
import type { SimProcess } from "../world/process.js";
import { simSessions } from "../world/sessions.js";
import type { World } from "../world/world.js";

/** A process with the library in it. */
export interface Member {
  readonly process: SimProcess;
  readonly clock: SimClock;
  readonly events: Events;
  readonly lh: Leasehold;
}

export interface MemberPlan {
  /** Of the process, such as `a#2`. */
  readonly name: string;
  readonly workerId: string;
  readonly region?: string;
  readonly heartbeatMs: number;
  readonly ttlMs: number;
  /** How fast its clock runs. */
  readonly rate: number;
  /** Other sessions than the usual ones. */
  sessionsOf?(process: SimProcess): Sessions;
}

/** A new process, over simulated seams. */
export function makeMember(world: World, plan: MemberPlan): Member {
  const { workerId, region, heartbeatMs, ttlMs } = plan;
  const process = world.spawn(plan.name);
  const clock = new SimClock(process, plan.rate);
  const events = createEvents();
  const random = process.dice.fork("random");
  const driver = new SimDatabase(process);
  const seams = {
    clock,
    random,
    events,
    database: new GuardedDatabase({ database: driver, clock, random, events }),
    sessions: plan.sessionsOf?.(process) ?? simSessions(process),
    signals: { onStop: () => () => {}, exit: () => {} },
  };
  const settings = memberSettings(
    { workerId, heartbeatMs, ttlMs, ...(region === undefined ? {} : { region }) },
    { hostname: "simulation", pid: 1, workerId: undefined, heartbeatMs: undefined, ttlMs: undefined },
  );
  return { process, clock, events, lh: new Leasehold(seams, world.engine.schema, settings) };
}
