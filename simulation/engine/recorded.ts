import type { Entry, EntryOf, Move, RowState } from "../entries.js";

/** An entry as the recorder's triggers have written it. */
export interface Recorded {
  readonly xact: string;
  readonly is: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Without rows that were inserted and deleted by one transaction, which nobody else has ever seen. Given whole transactions. */
export function lasting<R extends Pick<Recorded, "xact" | "is" | "body">>(rows: readonly R[]): readonly R[] {
  const born = new Map<string, R>();
  const dropped = new Set<R>();
  for (const row of rows) {
    if (row.is !== "moved") continue;
    const name = `${row.xact} ${String(row.body.id)}`;
    const insert = born.get(name);
    if (row.body.from === null) born.set(name, row);
    else if (row.body.to === null && insert !== undefined) {
      dropped.add(insert).add(row);
      born.delete(name);
    }
  }
  return dropped.size === 0 ? rows : rows.filter((row) => !dropped.has(row));
}

/** As an entry of a history whose time begins at `baseMs`. */
export function entryOf(
  recorded: Recorded,
  about: { readonly atMs: number; readonly by: string; readonly baseMs: number },
): Entry {
  const { atMs, by, baseMs } = about;
  const { is, body } = recorded;
  const token = BigInt((body.token as string | undefined) ?? 0);
  if (is === "moved") {
    const { id, key, idempotencyKey } = body as unknown as Move;
    const seq = BigInt(body.seq as string);
    return {
      is,
      atMs,
      by,
      id,
      key,
      idempotencyKey,
      seq,
      from: stateOf(body.from, baseMs),
      to: stateOf(body.to, baseMs),
    };
  }
  if (is === "paused") return { is, atMs, isPaused: body.isPaused === true };
  if (is === "archived") return { ...(body as unknown as EntryOf<"archived">), is, atMs, token };
  if (is === "effect") return { ...(body as unknown as EntryOf<"effect">), is, atMs, token };
  if (is === "registered") {
    const { worker, status } = body as unknown as EntryOf<"registered">;
    return { is, atMs, worker, status, generation: BigInt(body.generation as string) };
  }
  throw new Error(`The recorder wrote an entry ${is}, which nobody knows.`);
}

function stateOf(body: unknown, baseMs: number): RowState | null {
  if (body === null || body === undefined) return null;
  const { expires, available, token, ...rest } = body as Omit<RowState, "token"> & {
    readonly expires: number | null;
    readonly available: number;
    readonly token: string;
  };
  return {
    ...rest,
    token: BigInt(token),
    leaseExpiresAtMs: expires === null ? null : expires - baseMs,
    availableAtMs: available - baseMs,
  };
}
