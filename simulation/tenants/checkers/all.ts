import type { Violation } from "../../history.js";
import type { TenantChecker, TenantHistory } from "../history.js";
import { noActAfterFreeze } from "./no-act-after-freeze.js";
import { noStaleAct } from "./no-stale-act.js";
import { oneOwner } from "./one-owner.js";
import { ownedAgain } from "./owned-again.js";
import { risingTokens } from "./rising-tokens.js";
import { shareAfterJoin } from "./share-after-join.js";
import { steady } from "./steady.js";

const tenantCheckers: readonly TenantChecker[] = [
  oneOwner,
  risingTokens,
  noActAfterFreeze,
  noStaleAct,
  ownedAgain,
  steady,
  shareAfterJoin,
];

export function tenantViolationsOf(history: TenantHistory): readonly Violation[] {
  return tenantCheckers.flatMap((check) => check(history));
}
