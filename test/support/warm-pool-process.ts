import pg from "pg";
import { connect } from "../../src/index.js";

/**
 * A program whose pool was used before Leasehold got it, and has no error listeners of its own. It holds a connection of the pool
 * inside lh.transaction and another one by itself, says so, and goes on when it is told that both are lost.
 */
export interface WarmPoolReport {
  readonly is: "holding" | "done";
  /** What the statement after the loss came to, and whether Leasehold works again. */
  readonly outcome?: string;
  readonly works?: boolean;
}

const { url, schema } = JSON.parse(process.argv[2] ?? "{}") as { url: string; schema: string };
const abandoned = (): never => process.exit(3);
process.once("disconnect", abandoned);
const tell = (report: WarmPoolReport): void => void process.send?.(report);
const told = new Promise((resolve) => process.once("message", resolve));

const pool = new pg.Pool({ connectionString: url, max: 4 });
const warm = await Promise.all([1, 2, 3, 4].map(() => pool.connect()));
for (const client of warm) client.release();

const lh = await connect({ pool, schema });
const held = await pool.connect();
let outcome = "";
try {
  await lh.transaction(async (tx) => {
    await tx.query("select 1");
    tell({ is: "holding" });
    await told;
    await tx.query("select 2");
  });
} catch (error) {
  outcome = (error as { code?: string }).code ?? String(error);
}
await held.query("select 3").catch(() => {});
held.release(true);
const works = Array.isArray(await lh.workers());
await lh.close();
await pool.end();
tell({ is: "done", outcome, works });
process.off("disconnect", abandoned);
process.disconnect();
