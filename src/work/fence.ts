import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import { runOn } from "../database/run-on.js";
import { handleOnce, raiseFence, readFence } from "../database/statements.generated.js";
import { InvalidKeyError, InvalidOptionError, StaleFenceError } from "../errors.js";
import type { Clock } from "../seams/clock.js";
import type { Tx } from "../seams/database.js";
import { isStorableText } from "./json.js";

export interface FenceSeams {
  readonly bind: Binder;
  readonly clock: Clock;
  readonly database: GuardedDatabase;
}

const textBytesMax = 1_024;
const tokenMax = 2n ** 63n - 1n;

/**
 * Lets a write through only while no higher token was seen for the resource. Call it first in the transaction that writes: it
 * locks the resource's fence until that transaction ends. An equal token passes: a claim shares one among its rows.
 */
export async function fence(
  { bind, clock, database }: FenceSeams,
  tx: Tx,
  resource: string,
  token: bigint,
): Promise<void> {
  checkText("resource", resource);
  if (typeof token !== "bigint" || token < 0n || token > tokenMax)
    throw new InvalidOptionError("token", token, "a fence token (a bigint of 0 to 2^63 - 1)");
  const raised = await runOn(tx, bind(raiseFence, { resource, token, now: clock.databaseNow() }), database);
  if (raised.length > 0) return;
  const [seen] = await runOn(tx, bind(readFence, { resource }));
  throw new StaleFenceError(resource, token, BigInt(seen?.token ?? 0));
}

/** True the first time a handler sees a message, false afterwards; counts only if the transaction commits. */
export async function once(
  { bind, clock, database }: FenceSeams,
  tx: Tx,
  handler: string,
  messageId: string,
): Promise<boolean> {
  checkText("handler", handler);
  checkText("message id", messageId);
  const now = clock.databaseNow();
  return (await runOn(tx, bind(handleOnce, { handler, messageId, now }), database)).length > 0;
}

function checkText(what: string, value: unknown): void {
  if (
    typeof value !== "string" ||
    value === "" ||
    Buffer.byteLength(value) > textBytesMax ||
    !isStorableText(value)
  ) {
    throw new InvalidKeyError(
      what,
      value,
      `it must be text of 1 to ${textBytesMax} bytes without NUL or lone surrogates`,
    );
  }
}
