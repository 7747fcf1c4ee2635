import { Engine } from "./engine/engine.js";
import { type Simulated, simulate } from "./simulate.js";

/** A process that runs the seeds its parent sends, one after another, on a database of its own. */
export interface SeedTask {
  readonly seed: number;
  readonly steps: number;
  /** Otherwise the trace comes only with violations. */
  readonly wantsTrace: boolean;
}

export type SeedAnswer =
  | { readonly is: "ready" }
  | { readonly is: "done"; readonly result: Simulated }
  | { readonly is: "failed"; readonly seed: number; readonly error: string };

const tell = (answer: SeedAnswer): void => void process.send?.(answer);

const engine = await Engine.open(process.argv[2] ?? "");
const floating: string[] = [];
process.on("unhandledRejection", (error) => {
  floating.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
});
process.on("disconnect", () => process.exit(0));
process.on("message", (task: SeedTask) => void work(task));
tell({ is: "ready" });

async function work({ seed, steps, wantsTrace }: SeedTask): Promise<void> {
  floating.length = 0;
  try {
    const result = await simulate(engine, seed, { steps });
    const loose = floating.map((message) => ({ checker: "no loose rejection", message, about: [] }));
    const violations = [...result.violations, ...loose];
    const trace = wantsTrace || violations.length > 0 ? result.trace : [];
    tell({ is: "done", result: { ...result, violations, trace } });
  } catch (error) {
    tell({
      is: "failed",
      seed,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  }
}
