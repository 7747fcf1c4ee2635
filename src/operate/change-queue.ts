import { isDenied, notTheOwner } from "../database/denied.js";
import { changeQueue as changeQueueStatement } from "../database/statements.generated.js";
import { InvalidOptionError, UnknownQueueError } from "../errors.js";
import { asObject } from "../settings.js";
import { changeable, type QueueChange } from "../work/queue-options.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { type QueueSettings, qualified } from "../work/queue-settings.js";

export async function changeQueue(seams: QueueSeams, change: QueueChange): Promise<QueueSettings> {
  const { settings } = seams;
  for (const [option, value] of Object.entries(asObject("change", change))) {
    if (changeable.some((name) => name === option)) continue;
    const why =
      option in settings
        ? "it is fixed when the queue is created"
        : `only ${changeable.join(", ")} can be changed`;
    throw new InvalidOptionError(option, value, `left out: ${why}`);
  }
  const checked = qualified(settings.name, settings.schema, change);
  const given = <K extends keyof QueueChange>(name: K): QueueSettings[K] | null =>
    change[name] === undefined ? null : checked[name];
  const kinds = given("kinds");
  const statement = seams.bind(changeQueueStatement, {
    name: settings.name,
    retentionMs: given("retentionMs"),
    deadLetterRetentionMs: given("deadLetterRetentionMs"),
    dedupeWindowMs: given("dedupeWindowMs"),
    maxAttempts: given("maxAttempts"),
    maxCrashes: given("maxCrashes"),
    kinds: kinds === null ? null : JSON.stringify(kinds),
  });
  const changed = await seams.database.run(statement).catch((error: unknown) => {
    throw isDenied(error)
      ? notTheOwner(settings.schema, `the change of the queue ${settings.name}`, error)
      : error;
  });
  if (changed.length === 0) throw refusal(settings, change);
  const now = changeable.filter((name) => change[name] !== undefined).map((name) => [name, checked[name]]);
  return Object.freeze({ ...settings, ...Object.fromEntries(now) });
}

/** The row was not there, or it keeps an archive and should not any more, or the other way round. */
function refusal(settings: QueueSettings, { retentionMs }: QueueChange): Error {
  const isZeroNow = settings.retentionMs === 0;
  if (retentionMs === undefined || (retentionMs === 0) === isZeroNow)
    return new UnknownQueueError(settings.name, settings.schema);
  const expected = isZeroNow
    ? "left out: this queue keeps no archive"
    : "over 0: this queue keeps an archive";
  return new InvalidOptionError("retentionMs", retentionMs, expected);
}
