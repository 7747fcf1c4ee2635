import { describe, expect, test } from "vitest";
import { type Recovery, recoveriesOf } from "../../../chaos/recoveries.js";
import { greyMs, lateRecoveries, recoveryBoundMs } from "../../../chaos/recovery-bound.js";
import type { Entry, RowState } from "../../../simulation/entries.js";

/** Writes a history of one key. */
class Line {
  readonly entries: Entry[] = [];
  readonly #states = new Map<string, RowState>();
  #token = 0n;

  pending(atMs: number, id: string, availableAtMs = atMs, by = "producer#0"): this {
    const attempts = this.#states.get(id)?.attempts ?? 0;
    return this.#move(atMs, id, { status: "pending", worker: null, token: 0n, attempts, availableAtMs }, by);
  }

  claimed(atMs: number, id: string, by: string): this {
    const attempts = (this.#states.get(id)?.attempts ?? 0) + 1;
    const token = ++this.#token;
    const worker = by.split("#")[0] ?? by;
    return this.#move(atMs, id, { status: "processing", worker, token, attempts, availableAtMs: 0 }, by);
  }

  handled(atMs: number, id: string, process: string, is: "started" | "ended" = "started"): this {
    const token = this.#states.get(id)?.token ?? 0n;
    this.entries.push({ is, atMs, process, id, key: "k", token });
    return this;
  }

  done(atMs: number, id: string, by: string): this {
    const from = this.#states.get(id) ?? null;
    this.entries.push({
      is: "moved",
      atMs,
      by,
      id,
      key: "k",
      seq: BigInt(id),
      idempotencyKey: null,
      from,
      to: null,
    });
    this.#states.delete(id);
    return this;
  }

  fault(atMs: number, process: string, what: string, state: "hit" | "ok" | "gone" = "hit"): this {
    this.entries.push({ is: "fault", atMs, process, what, state });
    return this;
  }

  #move(
    atMs: number,
    id: string,
    state: Pick<RowState, "status" | "worker" | "token" | "attempts" | "availableAtMs">,
    by: string,
  ): this {
    const to = { ...state, isFinished: false, crashes: 0, maxAttempts: 20, leaseExpiresAtMs: null };
    const from = this.#states.get(id) ?? null;
    this.entries.push({
      is: "moved",
      atMs,
      by,
      id,
      key: "k",
      seq: BigInt(id),
      idempotencyKey: null,
      from,
      to,
    });
    this.#states.set(id, to);
    return this;
  }
}

/** Rows 1 and 2 are held by a#1, which runs the first of them, when it is killed at 100. */
function lost(): Line {
  return new Line()
    .pending(0, "1")
    .pending(0, "2")
    .claimed(10, "1", "a#1")
    .claimed(10, "2", "a#1")
    .handled(20, "1", "a#1")
    .fault(100, "a#1", "killed", "gone");
}

function only({ entries }: Line, id: string): Recovery {
  const found = recoveriesOf(entries).find((recovery) => recovery.id === id);
  if (found === undefined) throw new Error(`${id} has not recovered`);
  return found;
}

describe("a recovery", () => {
  test("is explained by what the job waited for", () => {
    const line = lost()
      .pending(1_100, "1", 3_100, "b#1")
      .pending(1_100, "2", 0, "b#1")
      .claimed(3_200, "1", "b#1")
      .claimed(3_200, "2", "b#1")
      .handled(3_250, "1", "b#1")
      .handled(3_950, "1", "b#1", "ended")
      .done(4_000, "1", "b#1")
      .handled(4_010, "2", "b#1");
    expect(only(line, "1")).toMatchObject({ lostAtMs: 100, ms: 3_150, backoffMs: 2_000, faults: [] });
    expect(Object.fromEntries(only(line, "1").causes)).toEqual({
      "its loss is noticed": 1_000,
      "its own backoff": 2_000,
      "a claim": 100,
      "a holder that does not start it": 50,
    });
    expect(only(line, "2").causes.get("an earlier row is backing off")).toBe(2_000);
    expect(only(line, "2").causes.get("an earlier row runs")).toBe(700);
    expect([...only(line, "2").causes.values()].reduce((sum, ms) => sum + ms)).toBe(only(line, "2").ms);
  });

  test("knows what happened to the server and to those who held rows of its key, and to nobody else", () => {
    const line = lost()
      .pending(1_100, "1", 0, "b#1")
      .claimed(1_100, "1", "b#1")
      .fault(1_200, "c#1", "frozen")
      .fault(1_200, "*", "server")
      .pending(1_300, "1", 0, "b#1")
      .fault(1_400, "b#1", "cut")
      .claimed(1_500, "1", "c#1")
      .handled(1_600, "1", "c#1");
    expect(only(line, "1").faults).toEqual(["server", "b#1 cut"]);
  });

  test("counts from the last loss, and not at all for what never starts again", () => {
    const line = lost()
      .claimed(1_000, "1", "b#1")
      .fault(2_000, "b#1", "killed", "gone")
      .claimed(2_500, "1", "c#1")
      .handled(2_600, "1", "c#1");
    expect(only(line, "1")).toMatchObject({ lostAtMs: 2_000, ms: 600 });
    expect(recoveriesOf(line.entries)).toHaveLength(1);
  });

  test("what was wrong with a holder before the loss is named, and whose claims were refused", () => {
    const line = new Line()
      .pending(0, "1")
      .claimed(10, "1", "a#1")
      .fault(20, "b#1", "settles fail", "hit")
      .fault(30, "c#1", "claims fail", "hit")
      .fault(40, "d#1", "claims fail", "hit")
      .fault(50, "d#1", "claims fail", "ok")
      .fault(1_000, "a#1", "killed", "gone")
      .pending(2_000, "1")
      .claimed(2_500, "1", "b#1")
      .handled(2_600, "1", "b#1");
    expect(only(line, "1")).toMatchObject({ faults: ["b#1 settles fail"], greys: ["c#1 claims fail"] });
  });
});

describe("the bound", () => {
  const late = {
    id: "1",
    key: "k",
    lostAtMs: 0,
    backoffMs: 0,
    faults: [],
    greys: [],
    isByHand: false,
    wasIll: false,
  };

  test("allows a backoff, and nothing longer, for what an ill process could not renew or settle", () => {
    const killed = (isOver: boolean): Line => {
      const line = new Line()
        .pending(0, "1")
        .claimed(10, "1", "a#1")
        .fault(20, "a#1", "completions fail", "hit");
      if (isOver) line.fault(30, "a#1", "completions fail", "ok");
      return line
        .fault(100, "a#1", "killed", "gone")
        .pending(1_100, "1", 3_100, "b#1")
        .claimed(3_200, "1", "b#1")
        .handled(3_250, "1", "b#1");
    };
    expect(lateRecoveries(recoveriesOf(killed(false).entries))).toEqual([]);
    expect(lateRecoveries(recoveriesOf(killed(true).entries))).toHaveLength(1);
    const causes = new Map([["a claim", recoveryBoundMs + 1] as const]);
    expect(lateRecoveries([{ ...late, wasIll: true, ms: recoveryBoundMs + 1, causes }])).toHaveLength(1);
  });

  test("is kept without the time that earlier rows run", () => {
    const causes = new Map([["an earlier row runs", 60_000] as const, ["a claim", 1_000] as const]);
    expect(lateRecoveries([{ ...late, ms: 61_000, causes }])).toEqual([]);
  });

  test("is broken by any other wait, and by a backoff; not where something else had happened", () => {
    const causes = new Map([["a claim", recoveryBoundMs + 1] as const]);
    const slow = { ...late, ms: recoveryBoundMs + 1, causes };
    expect(lateRecoveries([slow])).toMatchObject([{ checker: "recovery in time", about: ["1", "k"] }]);
    expect(lateRecoveries([{ ...slow, faults: ["server"] }])).toEqual([]);
    expect(lateRecoveries([{ ...late, ms: 3_000, backoffMs: 2_000, causes: new Map() }])).toHaveLength(1);
  });

  test("is longer while somebody's claims are refused, and no longer than that", () => {
    const causes = new Map([["a claim", recoveryBoundMs + greyMs] as const]);
    const slow = { ...late, ms: recoveryBoundMs + greyMs, causes, greys: ["b#1 claims fail"] };
    expect(lateRecoveries([slow])).toEqual([]);
    expect(lateRecoveries([{ ...slow, ms: slow.ms + 1 }])).toHaveLength(1);
  });

  test("lets a job that was claimed by hand have its backoff, and nothing else", () => {
    const causes = new Map([["its own backoff", 20_000] as const]);
    const slow = { ...late, ms: 20_000 + recoveryBoundMs, backoffMs: 20_000, causes, isByHand: true };
    expect(lateRecoveries([slow])).toEqual([]);
    expect(lateRecoveries([{ ...slow, ms: slow.ms + 1 }])).toHaveLength(1);
  });
});
