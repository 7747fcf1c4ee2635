import { redactedText } from "../log-redaction.js";
import { defaults } from "../settings.js";
import { storableText } from "../work/json.js";
import type { DiscardFilter } from "./job-filter.js";

/** What the history has of a redrive or discard: the filter as the person gave it and the reason, bounded, and the reason without secrets. As JSON. */
export function recordedFilter({ ids, reason, ...rest }: DiscardFilter): string {
  const given = Object.entries(rest).filter(([, value]) => value !== undefined);
  const filter = {
    ...Object.fromEntries(given.map(([name, value]) => [name, bounded(value)])),
    ...(ids === undefined ? {} : { ids: ids.slice(0, defaults.historyIdsMax) }),
  };
  return JSON.stringify({
    ...(reason === undefined ? {} : { reason: bounded(redactedText(reason)) }),
    ...(Object.keys(filter).length === 0 ? {} : { filter }),
  });
}

function bounded<T>(value: T): T | string {
  return typeof value === "string" ? storableText(value, defaults.historyTextMax) : value;
}
