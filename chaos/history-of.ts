import pg from "pg";
import { entryOf, lasting, type Recorded } from "../simulation/engine/recorded.js";
import { recorderSchema } from "../simulation/engine/recorder.js";
import type { Entry } from "../simulation/entries.js";
import type { History } from "../simulation/history.js";
import { defaults } from "../src/index.js";
import { readJournal } from "./journal.js";
import { buckets, clockOffsetMs, maxCrashes, schema, ttlMs } from "./settings.js";

/** A claim that takes over from a dead worker, beside the registration with which that one comes back. */
const raceMs = 1_000;
const rowsPerRead = 50_000;
/** What a machine with more processes than cores may add to a promise. */
const slackMs = 6_000;

/** One history of what the database recorded and what the processes wrote down, in the order of time. */
export async function historyOf(
  url: string,
  journals: readonly string[],
  { strict, isClockMoved }: { readonly strict: boolean; readonly isClockMoved: boolean },
): Promise<History> {
  const entries: Entry[] = await recordedEntries(url);
  for (const journal of journals) for (const entry of readJournal(journal)) entries.push(entry);
  // Entries of one source keep their order: what the database did in one moment is told apart by its numbers.
  entries.sort((a, b) => a.atMs - b.atMs);
  // What was seen last before the clock went back seems to have been seen in the future.
  const movedMs = isClockMoved ? 2 * clockOffsetMs : 0;
  const ownedWithinMs = ttlMs + defaults.ringCacheMs + slackMs + movedMs;
  return {
    settings: {
      order: "key",
      onDeadLetter: "continue",
      keepsArchive: true,
      buckets,
      maxCrashes,
      ownedWithinMs,
      raceMs,
      lateClaimsMax: strict ? 0 : 1,
    },
    entries,
  };
}

interface StoredEntry extends Recorded {
  readonly n: string;
  readonly by: string;
  readonly at_ms: number;
  readonly clock_offset_ms: string;
}

/** A row is in line from its commit on, which in a queue that is not strict may come long after the insert that the trigger saw. */
const atSql = `case when "is" = 'moved' and body -> 'from' = 'null' and current_setting('track_commit_timestamp') = 'on'
  then coalesce(pg_xact_commit_timestamp(xact::xid8::xid), at) else at end`;

async function recordedEntries(url: string): Promise<Entry[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const recorded: StoredEntry[] = [];
  try {
    for (let after = "0"; ; ) {
      const { rows } = await client.query<StoredEntry>(
        `select n, xact, by, "is", body, extract(epoch from ${atSql})::float8 * 1000 as at_ms, clock_offset_ms from ${recorderSchema(schema)}.entries
         where n > $1 order by n limit ${rowsPerRead}`,
        [after],
      );
      for (const row of rows) recorded.push(row);
      const last = rows.at(-1);
      if (last === undefined) break;
      after = last.n;
    }
  } finally {
    await client.end();
  }
  return lasting(recorded).map((row) => {
    const offsetMs = Number(row.clock_offset_ms);
    return entryOf(row, { atMs: row.at_ms - offsetMs, by: row.by, baseMs: offsetMs });
  });
}
