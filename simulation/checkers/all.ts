import type { Checker, History, Violation } from "../history.js";
import { allDone } from "./all-done.js";
import { archiveComplete } from "./archive-complete.js";
import { boundedAttempts } from "./bounded-attempts.js";
import { effectsOnce } from "./effects-once.js";
import { enqueueOrder } from "./enqueue-order.js";
import { fewVainLooks } from "./few-vain-looks.js";
import { inTime } from "./in-time.js";
import { keyOrder } from "./key-order.js";
import { legalMoves } from "./legal-moves.js";
import { noOverlap } from "./no-overlap.js";
import { nobodyForgotten } from "./nobody-forgotten.js";
import { nothingLost } from "./nothing-lost.js";
import { oneHolder } from "./one-holder.js";
import { onePerIdempotencyKey } from "./one-per-idempotency-key.js";
import { ownedBuckets } from "./owned-buckets.js";
import { pauseKept } from "./pause-kept.js";
import { risingTokens } from "./rising-tokens.js";

export const checkers: readonly Checker[] = [
  nothingLost,
  legalMoves,
  oneHolder,
  keyOrder,
  enqueueOrder,
  noOverlap,
  risingTokens,
  boundedAttempts,
  inTime,
  onePerIdempotencyKey,
  effectsOnce,
  archiveComplete,
  ownedBuckets,
  fewVainLooks,
  pauseKept,
  nobodyForgotten,
  allDone,
];

export function violationsOf(history: History): readonly Violation[] {
  return checkers.flatMap((check) => check(history));
}
