/** How the process ends, for every error code there is; a test holds it against the library's table of errors. */

export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  unreachable: 5,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

const { failed, usage, notFound, conflict, unreachable } = exitCodes;

interface Ending {
  readonly exitCode: ExitCode;
  /** What to do, in terms of this command line; without it the library's own advice is printed. */
  readonly advice?: string;
}

const endings: Readonly<Record<string, Ending>> = Object.freeze({
  LH_INVALID_NAME: { exitCode: usage },
  LH_INVALID_OPTION: { exitCode: usage, advice: "Read the range, or the nearest name, in the message." },
  LH_INVALID_PAYLOAD: { exitCode: usage },
  LH_PAYLOAD_TOO_LARGE: { exitCode: usage },
  LH_INVALID_KEY: { exitCode: usage },
  LH_UNKNOWN_QUEUE: {
    exitCode: notFound,
    advice:
      "See what there is: leasehold queues; create it: leasehold queues create <queue> --order key, or leasehold dev --queue <queue>",
  },
  LH_UNKNOWN_WORKER: { exitCode: notFound, advice: "See who is there: leasehold workers" },
  LH_QUEUE_MISMATCH: {
    exitCode: conflict,
    advice:
      "See the stored settings: leasehold queues show <queue>; some can be changed: leasehold queues change --help",
  },
  LH_QUEUE_IN_USE: {
    exitCode: conflict,
    advice: "Stop the workers and let them finish the jobs, or add --force.",
  },
  LH_RING_MISMATCH: { exitCode: conflict },
  LH_RESTORED: { exitCode: conflict },
  LH_REPLICA_MISMATCH: { exitCode: conflict },
  LH_OUTDATED_LIBRARY: { exitCode: conflict },
  LH_LEASE_LOST: { exitCode: conflict },
  LH_ALREADY_COMPLETED: { exitCode: conflict },
  LH_STALE_FENCE: { exitCode: conflict },
  LH_NOT_OWNER: { exitCode: conflict },
  LH_TENANT_ENDED: { exitCode: conflict },
  LH_ENQUEUE_BLOCKED: { exitCode: conflict },
  LH_WORKER_STATE: { exitCode: conflict },
  LH_NOT_MIGRATED: { exitCode: failed, advice: "Create or update it: leasehold migrate" },
  LH_MIGRATION_FAILED: {
    exitCode: failed,
    advice: "Run leasehold migrate again; it goes on where it stopped.",
  },
  LH_MISSING_RIGHT: {
    exitCode: failed,
    advice:
      "Connect with --url or DATABASE_URL as the owner of the schema; for leasehold grant, let an administrator create the roles that the message names.",
  },
  LH_UNSUPPORTED_SERVER: { exitCode: failed },
  LH_INVALID_TX: { exitCode: failed },
  LH_HANDLER_TIMEOUT: { exitCode: failed },
  LH_DRAINED: { exitCode: failed },
  LH_DATABASE_REFUSED: { exitCode: failed },
  LH_READ_ONLY_SERVER: {
    exitCode: failed,
    advice: "Name the primary with --url or DATABASE_URL; commands that only read work on a standby.",
  },
  LH_CLOSED: { exitCode: failed },
  LH_EMBEDDED_POSTGRES: {
    exitCode: failed,
    advice: "Read the message, or name a server of yours with --url.",
  },
  LH_CONNECT_REFUSED: { exitCode: unreachable },
  LH_DATABASE_UNAVAILABLE: {
    exitCode: unreachable,
    advice: "Check that the server runs and that --url or DATABASE_URL names it.",
  },
});

/** Null for a code that is not in the table. */
export function endingOf(code: string): Ending | null {
  return endings[code] ?? null;
}
