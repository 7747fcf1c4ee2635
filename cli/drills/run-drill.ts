import { once } from "node:events";
import type { Diagnosis, Finding, FindingCode } from "../../src/index.js";
import type { Context } from "../command.js";
import { exitCodes } from "../exit-codes.js";
import { CliError } from "../failure.js";
import { span } from "../figures.js";
import { wrap } from "../text-width.js";
import type { View } from "../view.js";
import type { Drill, Incident, Step } from "./drill.js";
import { limits } from "./limits.js";
import { Stage } from "./stage.js";

export interface DrillChoices {
  /** Goes straight through. */
  readonly yes: boolean;
  /** Keeps the incident open until Enter, before the walk. */
  readonly hold: boolean;
}

interface Report {
  readonly name: string;
  readonly incident: string;
  readonly findings: readonly FindingCode[];
  readonly expected: FindingCode;
  readonly found: boolean;
  readonly steps: readonly { readonly command: string; readonly exitCode: number }[];
  readonly fixed: boolean;
  readonly tookMs: number;
}

/** Makes the incident, walks through it, fixes it and verifies that. Ends everything that it started, however it ends. */
export async function runDrill(context: Context, drill: Drill, choices: DrillChoices): Promise<View> {
  const interrupted = new AbortController();
  const stopListening = context.onInterrupt(() => interrupted.abort());
  const { environment, note, progress } = context;
  const quiet = { note: () => {}, progress: () => () => {} };
  const parts = {
    environment,
    signal: interrupted.signal,
    ...(context.isJson ? quiet : { note, progress }),
  };
  const startedAt = performance.now();
  let stage: Stage | null = null;
  try {
    stage = await Stage.open(parts);
    const run = new DrillRun(context, drill, choices, { stage, signal: interrupted.signal });
    const report = await run.run();
    return viewOf(drill, { ...report, tookMs: Math.round(performance.now() - startedAt) });
  } catch (error) {
    // Errors after Ctrl-C are its consequences.
    if (!interrupted.signal.aborted) throw error;
  } finally {
    await stage?.stop();
    stopListening();
  }
  throw new CliError("CLI_INTERRUPTED", exitCodes.interrupted, { message: "The drill was interrupted." });
}

interface RunParts {
  readonly stage: Stage;
  readonly signal: AbortSignal;
}

class DrillRun {
  readonly #context: Context;
  readonly #drill: Drill;
  readonly #choices: DrillChoices;
  readonly #stage: Stage;
  readonly #signal: AbortSignal;
  readonly #steps: { readonly command: string; readonly exitCode: number }[] = [];
  #findings: readonly Finding[] = [];

  constructor(context: Context, drill: Drill, choices: DrillChoices, { stage, signal }: RunParts) {
    this.#context = context;
    this.#drill = drill;
    this.#choices = choices;
    this.#stage = stage;
    this.#signal = signal;
  }

  async run(): Promise<Omit<Report, "tookMs">> {
    const { name, incident: cause, expected } = this.#drill;
    this.#say(`Drill ${name}`, cause);
    const incident = await this.#drill.begin(this.#stage);
    this.#say("The incident is there", incident.symptom);
    if (this.#choices.hold) await this.#hold();
    for (const step of incident.steps) await this.#walk(step);
    const [first] = this.#findings;
    const found = first?.code === expected;
    const fixed = found && (await this.#fix(incident, first));
    const findings = this.#findings.map(({ code }) => code);
    return { name, incident: cause, findings, expected, found, steps: this.#steps, fixed };
  }

  async #walk({ asks, command, read }: Step): Promise<void> {
    await this.#pause();
    this.#say(asks);
    const line = `leasehold ${command.map(quoted).join(" ")}`;
    this.#context.show(({ paint }) => [`$ ${paint.bold(line)}`]);
    const { output, data, exitCode } = await this.#context.runLine(command, this.#stage.url);
    this.#steps.push({ command: line, exitCode });
    if (command[0] === "doctor") this.#findings = (data as Diagnosis | null)?.findings ?? [];
    this.#context.show(() => [...output.trimEnd().split("\n"), ""]);
    this.#context.show(({ width }) => wrap(read, width, "  "));
  }

  async #fix(incident: Incident, finding: Finding): Promise<boolean> {
    try {
      return await this.#fixAndVerify(incident, finding);
    } catch (error) {
      if (!(error instanceof CliError) || error.code !== "CLI_DRILL_FAILED") throw error;
      this.#context.note(error.message);
      return false;
    }
  }

  /** True when the real effect was seen, and doctor does not name it any more. */
  async #fixAndVerify(incident: Incident, finding: Finding): Promise<boolean> {
    const { expected, staysListed } = this.#drill;
    await this.#pause();
    this.#say("Fix it", `The advice of doctor: ${finding.advice}`);
    this.#say(null, `Done: ${await incident.fix(finding)}`);
    const effect = await incident.verify();
    if (staysListed !== undefined) {
      this.#say("Verified", `${effect} doctor goes on naming ${expected} for ${staysListed}.`);
      return true;
    }
    const { diagnose } = await import("../../src/index.js");
    await this.#stage.until(
      `doctor does not find ${expected} any more`,
      async () => !(await diagnose(this.#stage.lh)).findings.some(({ code }) => code === expected),
      limits.fixMs,
    );
    this.#say("Verified", `${effect} doctor does not find ${expected} any more.`);
    return true;
  }

  async #hold(): Promise<void> {
    const { note } = this.#context;
    note("The incident stays open. In another terminal:");
    note(`  export DATABASE_URL=${this.#stage.url}`);
    note("  unset LEASEHOLD_SCHEMA LEASEHOLD_REPLICA_URL");
    note("  leasehold doctor");
    if (this.#context.isInteractive) {
      await this.#enter("Enter goes on with the walk, Ctrl-C ends the drill. ");
      return;
    }
    note("Ctrl-C ends the drill.");
    await this.#broken();
    this.#signal.throwIfAborted();
  }

  async #pause(): Promise<void> {
    if (this.#context.isInteractive && !this.#choices.yes && !this.#context.isJson)
      await this.#enter("\nEnter goes on. ");
  }

  async #enter(words: string): Promise<void> {
    await Promise.race([this.#context.waitForEnter(words), this.#broken()]);
    this.#signal.throwIfAborted();
  }

  /** Resolves at Ctrl-C. */
  async #broken(): Promise<void> {
    if (!this.#signal.aborted) await once(this.#signal, "abort");
  }

  #say(title: string | null, words?: string): void {
    this.#context.show(({ paint, width }) => [
      ...(title === null ? [] : ["", paint.bold(title)]),
      ...(words === undefined ? [] : wrap(words, width, "  ")),
    ]);
  }
}

function quoted(word: string): string {
  return /^[\w./:=@-]+$/.test(word) ? word : `'${word}'`;
}

function viewOf({ learned, links, expected }: Drill, report: Report): View {
  const { found, fixed, findings, tookMs } = report;
  return {
    data: report,
    exitCode: found && fixed ? exitCodes.ok : exitCodes.failed,
    lines: ({ paint, width }) => {
      const took = `The drill took ${span(tookMs)}.`;
      if (!found) {
        const named = findings.length === 0 ? "nothing" : findings.join(", ");
        return ["", paint.bad(`doctor did not name ${expected} first: it named ${named}. ${took}`)];
      }
      if (!fixed) return ["", paint.bad(`The incident is not over. ${took}`)];
      return [
        "",
        paint.bold("What to keep in mind"),
        ...learned.flatMap((sentence) => wrap(`- ${sentence}`, width, "  ")),
        "",
        `Read on: ${links.join(", ")}`,
        took,
      ];
    },
  };
}
