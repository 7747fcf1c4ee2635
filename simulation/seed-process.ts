import { Engine } from "./engine/engine.js";
import { variants } from "./engine/variants.js";
import { type Simulated, simulate } from "./simulate.js";
import { simulateTenants, tenantVariants } from "./tenants/simulate.js";

/** A process that runs the seeds its parent sends, one after another, on a database of its own. */
export interface SeedTask {
  readonly seed: number;
  readonly steps: number;
  readonly tenantMinutes: number | null;
  readonly isGrey: boolean;
  readonly hasEdges: boolean;
  /** Otherwise the trace comes only with violations. */
  readonly wantsTrace: boolean;
}

export type SeedAnswer =
  | { readonly is: "done"; readonly result: Simulated }
  | { readonly is: "failed"; readonly seed: number; readonly error: string };

const tell = (answer: SeedAnswer | "ready"): void => void process.send?.(answer);

const [database = "", what] = process.argv.slice(2);
const engine = await Engine.open(database, what === "tenants" ? tenantVariants : variants);
const floating: string[] = [];
process.on("unhandledRejection", (error) => {
  floating.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
});
// Ctrl-C reaches the whole process group; the parent decides when this process ends.
process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit(0));
process.on("message", (task: SeedTask) => void work(task));
tell("ready");

async function work({ seed, steps, tenantMinutes, isGrey, hasEdges, wantsTrace }: SeedTask): Promise<void> {
  floating.length = 0;
  try {
    const result =
      tenantMinutes === null
        ? await simulate(engine, seed, { steps, isGrey, hasEdges })
        : await simulateTenants(engine, seed, { minutes: tenantMinutes });
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
