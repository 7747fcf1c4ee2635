import { costs } from "../costs.js";
import { type HandlerTimes, handlerTimes } from "../handler-times.js";
import type { QualifiedCluster } from "../inputs.js";
import type { Dice } from "./dice.js";
import { Fifo } from "./fifo.js";
import type { Timeline } from "./timeline.js";

interface Statement {
  /** Sees the tables when the statement runs; says how much CPU it takes beyond the least. */
  execute(): number;
  /** Comes back at its client. */
  answered(): void;
}

/** A server with some cores: a statement waits for a free one, keeps it for its CPU time, then waits for commit and network without it. */
export class ModelDatabase {
  readonly #timeline: Timeline;
  readonly #dice: Dice;
  readonly #waiting = new Fifo<Statement>();
  readonly #waits: HandlerTimes;
  #freeCores: number;
  busyMs = 0;

  constructor(timeline: Timeline, dice: Dice, cluster: QualifiedCluster) {
    const { statementP50Ms, statementP99Ms, databaseCores } = cluster;
    const waitMs = Math.max(0.05, statementP50Ms - costs.statementCpuMs);
    this.#timeline = timeline;
    this.#dice = dice;
    this.#waits = handlerTimes(waitMs, Math.max(waitMs, statementP99Ms - costs.statementCpuMs));
    this.#freeCores = databaseCores;
  }

  run(statement: Statement): void {
    this.#waiting.push(statement);
    this.#startNext();
  }

  #startNext(): void {
    const statement = this.#freeCores > 0 ? this.#waiting.shift() : undefined;
    if (statement === undefined) return;
    this.#freeCores--;
    const cpuMs = costs.statementCpuMs + statement.execute();
    this.busyMs += cpuMs;
    this.#timeline.at(this.#timeline.nowMs + cpuMs, () => {
      this.#freeCores++;
      const waitMs = this.#waits.sample(this.#dice.normal());
      this.#timeline.at(this.#timeline.nowMs + waitMs, statement.answered);
      this.#startNext();
    });
  }
}
