import { Dice } from "../../simulation/dice.js";
import type { ConnectOptions } from "../../src/index.js";
import type { World } from "../support/world.js";
import { commandWords } from "./command-words.js";
import { leasehold } from "./in-process.js";

/**
 * Runs the command lines of a page and puts what they print below them. A block of the language `console` holds lines that begin with `$ leasehold`; all else in it is output. A comment
 * `<!-- given: ... -->` before a block names what has happened in the meantime. The time and the ids are those of seams, so the page is the same each time.
 */
export async function transcribed(page: string, world: World, givens: Givens): Promise<string> {
  const stage = new Stage(world);
  const parts = page.split(/(<!-- given: .*? -->\n|```console\n.*?```\n)/s);
  const written: string[] = [];
  for (const part of parts) {
    const [, given] = /^<!-- given: (.*?) -->/.exec(part) ?? [];
    if (given !== undefined) await stage.happen(givens, given);
    written.push(part.startsWith("```console") ? await stage.block(part) : part);
  }
  return written.join("");
}

/** What may have happened, by the words of the page. */
export type Givens = Readonly<Record<string, (stage: Stage) => Promise<void>>>;

const startedAtMs = Date.UTC(2026, 0, 15, 10, 0, 0);
const commandMs = 1_000;

export class Stage {
  readonly world: World;
  readonly connectOptions: ConnectOptions;
  #nowMs = startedAtMs;

  constructor(world: World) {
    this.world = world;
    const ids = new Dice(15);
    const waits = new Dice(16);
    this.connectOptions = {
      clock: {
        monotonicMs: () => this.#nowMs,
        epochMs: () => this.#nowMs,
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        databaseNow: () => this.now,
      },
      random: {
        fraction: () => waits.fraction(),
        bytes: (count) => Uint8Array.from({ length: count }, () => Math.floor(256 * ids.fraction())),
      },
    };
  }

  get now(): Date {
    return new Date(this.#nowMs);
  }

  pass(ms: number): void {
    this.#nowMs += ms;
  }

  async happen(givens: Givens, words: string): Promise<void> {
    const given = givens[words];
    if (given === undefined) throw new Error(`The page says "given: ${words}", and no test knows how.`);
    await given(this);
  }

  async block(block: string): Promise<string> {
    const lines: string[] = [];
    for (const [, line = ""] of block.matchAll(/^\$ leasehold ?(.*)$/gm)) {
      this.pass(commandMs);
      const { stdout, stderr, exitCode } = await leasehold(commandWords(line), {
        environment: {
          DATABASE_URL: this.world.url,
          LEASEHOLD_SCHEMA: this.world.schema,
          COLUMNS: "80",
          USER: "ana",
        },
        now: this.now,
        connectOptions: this.connectOptions,
      });
      // Times that no statement takes from the clock.
      await this.world.sql("update leasehold.queues set created_at = $1 where created_at > $1", [this.now]);
      await this.world.sql("update leasehold.history set at = $1 where at > $1", [this.now]);
      // Whatever the role is that the tests run as.
      await this.world.sql("update leasehold.history set actor = 'postgres' where actor = session_user");
      const ending = exitCode === 0 ? [] : [`(exit code ${exitCode})`];
      const output = `${stdout}${stderr}`.replaceAll(this.world.schema, "leasehold").trimEnd();
      lines.push(`$ leasehold ${line}`, ...(output === "" ? [] : [output]), ...ending, "");
    }
    return `\`\`\`console\n${lines.join("\n").trimEnd()}\n\`\`\`\n`;
  }
}
