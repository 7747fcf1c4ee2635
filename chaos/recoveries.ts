import type { Entry, EntryOf, Move, RowState } from "../simulation/entries.js";
import { illnesses } from "./rights.js";

/** What a job that was lost with its process waits for, from then until its next start. */
export type Cause =
  | "its loss is noticed"
  | "a holder that does not start it"
  | "an earlier row runs"
  | "an earlier row is held and not running"
  | "an earlier row is backing off"
  | "its own backoff"
  | "a claim";

export interface Recovery {
  readonly id: string;
  readonly key: string;
  readonly lostAtMs: number;
  readonly ms: number;
  /** How long it waited for what. */
  readonly causes: ReadonlyMap<Cause, number>;
  /** The longest backoff that stood in its way. */
  readonly backoffMs: number;
  /** What happened meanwhile to the server, and to those who held rows of its key, or what these were still refused. */
  readonly faults: readonly string[];
  /** Whose claims were refused meanwhile: its bucket may have been theirs, until they gave it up. */
  readonly greys: readonly string[];
  /** It was claimed by hand: nobody but its lease can tell that its process is gone. */
  readonly isByHand: boolean;
  /** Something was wrong with its process already, so its lease may have ended before anybody could notice that the process was gone. */
  readonly wasIll: boolean;
}

interface Row {
  readonly seq: bigint;
  state: RowState;
  by: string;
  isRunning: boolean;
}

interface Lost {
  readonly id: string;
  readonly key: string;
  readonly lostAtMs: number;
  markedAtMs: number;
  backoffMs: number;
  readonly causes: Map<Cause, number>;
  readonly holders: Set<string>;
  readonly faults: Set<string>;
  readonly greys: Set<string>;
  readonly isByHand: boolean;
  readonly wasIll: boolean;
}

/** Of each process, what is wrong with it now. */
type OpenFaults = Map<string, Set<string>>;

/** From the end of a killed process to the next start of each job that it held, and what that time went by with. Pure. */
export function recoveriesOf(entries: readonly Entry[]): readonly Recovery[] {
  const lines = new Map<string, Map<string, Row>>();
  const lost = new Map<string, Lost>();
  const open: OpenFaults = new Map();
  const recoveries: Recovery[] = [];
  const markAll = (key: string, atMs: number): void => {
    for (const one of lost.values()) if (one.key === key) mark(one, lines.get(key), { nowMs: atMs, open });
  };
  for (const entry of entries) {
    if (entry.is === "moved") {
      markAll(entry.key, entry.atMs);
      move(lines, entry);
      const { to } = entry;
      if (to === null || to.isFinished) lost.delete(entry.id);
    } else if (entry.is === "fault") {
      const wasIll = (open.get(entry.process)?.size ?? 0) > 0;
      noteOpen(open, entry);
      for (const one of lost.values()) noteFault(one, entry);
      if (entry.what === "killed" && entry.state === "gone") lose(lines, lost, { ...entry, wasIll });
      for (const one of lost.values()) for (const grey of greysIn(open)) one.greys.add(grey);
    } else if (entry.is === "started" || entry.is === "ended") {
      markAll(entry.key, entry.atMs);
      const row = lines.get(entry.key)?.get(entry.id);
      if (row !== undefined && row.state.token === entry.token) row.isRunning = entry.is === "started";
      const one = lost.get(entry.id);
      if (entry.is !== "started" || one === undefined) continue;
      lost.delete(entry.id);
      const { id, key, lostAtMs, causes, backoffMs, isByHand, wasIll } = one;
      const ms = entry.atMs - lostAtMs;
      const [faults, greys] = [[...one.faults], [...one.greys]];
      recoveries.push({ id, key, lostAtMs, ms, causes, backoffMs, faults, greys, isByHand, wasIll });
    }
  }
  return recoveries;
}

function move(lines: Map<string, Map<string, Row>>, { id, key, seq, to, by, from }: Move): void {
  const line = lines.get(key) ?? new Map<string, Row>();
  lines.set(key, line);
  const before = line.get(id);
  if (to === null || to.isFinished) line.delete(id);
  else {
    const isRenewed = from?.status === "processing" && from.token === to.token && to.status === "processing";
    line.set(id, {
      seq,
      state: to,
      by: isRenewed ? (before?.by ?? by) : by,
      isRunning: isRenewed && before?.isRunning === true,
    });
  }
}

function lose(
  lines: ReadonlyMap<string, ReadonlyMap<string, Row>>,
  lost: Map<string, Lost>,
  { process, atMs, wasIll }: EntryOf<"fault"> & { readonly wasIll: boolean },
): void {
  for (const [key, line] of lines)
    for (const [id, row] of line) {
      if (row.state.status !== "processing" || row.by !== process) continue;
      row.isRunning = false;
      lost.set(id, {
        id,
        key,
        lostAtMs: atMs,
        markedAtMs: atMs,
        backoffMs: 0,
        causes: new Map(),
        holders: new Set(),
        faults: new Set(),
        greys: new Set(),
        isByHand: process.startsWith("hand#"),
        wasIll,
      });
    }
}

function noteOpen(open: OpenFaults, { process, what, state }: EntryOf<"fault">): void {
  const faults = open.get(process) ?? new Set<string>();
  open.set(process, faults);
  if (state === "hit") faults.add(what);
  else if (state === "ok") faults.delete(what);
  else open.delete(process);
}

function greysIn(open: OpenFaults): readonly string[] {
  return [...open].flatMap(([process, faults]) =>
    faults.has("claims fail") ? [`${process} claims fail`] : [],
  );
}

function noteFault(one: Lost, { process, what, state }: EntryOf<"fault">): void {
  if (state === "ok" || (process !== "*" && !one.holders.has(process))) return;
  one.faults.add(process === "*" ? what : `${process} ${what}`);
}

/** Adds the time since the last mark to what it waited for. */
function mark(
  one: Lost,
  line: ReadonlyMap<string, Row> | undefined,
  { nowMs, open }: { readonly nowMs: number; readonly open: OpenFaults },
): void {
  const fromMs = one.markedAtMs;
  one.markedAtMs = nowMs;
  const row = line?.get(one.id);
  if (line === undefined || row === undefined || nowMs <= fromMs) return;
  const head = headOf(line, row);
  if (head.state.status === "processing") {
    one.holders.add(head.by);
    // One that is half ill may claim a row and then not be able to work on it.
    for (const what of illnesses) if (open.get(head.by)?.has(what)) one.faults.add(`${head.by} ${what}`);
  }
  const dueAtMs = head.state.status === "pending" ? head.state.availableAtMs : fromMs;
  const backoffMs = Math.max(0, Math.min(nowMs, dueAtMs) - fromMs);
  if (backoffMs > 0) {
    add(one, head === row ? "its own backoff" : "an earlier row is backing off", backoffMs);
    one.backoffMs = Math.max(one.backoffMs, dueAtMs - fromMs);
  }
  add(one, causeOf(one, row, head), nowMs - fromMs - backoffMs);
}

function causeOf(one: Lost, row: Row, head: Row): Cause {
  if (head.state.status !== "processing") return "a claim";
  if (head !== row) return head.isRunning ? "an earlier row runs" : "an earlier row is held and not running";
  return one.holders.size > 1 ? "a holder that does not start it" : "its loss is noticed";
}

/** The row of its key that has to finish, or start, first. */
function headOf(line: ReadonlyMap<string, Row>, row: Row): Row {
  let head = row;
  for (const other of line.values())
    if (other.seq < head.seq && other.state.status !== "scheduled" && other.state.status !== "dead_letter")
      head = other;
  return head;
}

function add({ causes }: Lost, cause: Cause, ms: number): void {
  if (ms > 0) causes.set(cause, (causes.get(cause) ?? 0) + ms);
}
