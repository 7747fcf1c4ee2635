/**
 * What a queue costs when there are many: how long its creation takes, and how large pg_proc becomes. Fails when the last ones take more than twice as long as the
 * first ones (medians of ten), or the table pg_proc has more than 20 MB. `npm run bench:queues -- 500`; with `--roles` the least-privilege roles exist, so that rights are granted too.
 */
import pg from "pg";
import { startPostgres } from "../src/embedded.js";
import { connect } from "../src/index.js";

const MEDIAN_OF = 10;
const RATIO_MAX = 2;
const MEGABYTES_MAX = 20;

async function main(count: number, hasRoles: boolean): Promise<number> {
  const server = await startPostgres();
  const admin = new pg.Client({ connectionString: server.url });
  const lh = await connect({ url: server.url });
  try {
    await admin.connect();
    await lh.migrate();
    if (hasRoles) await lh.grant();
    const times: number[] = [];
    for (let nth = 1; nth <= count; nth++) {
      const began = performance.now();
      await lh.queue(`q${nth}`, { order: nth % 2 === 0 ? "none" : "key" });
      times.push(performance.now() - began);
    }
    const first = median(times.slice(0, MEDIAN_OF));
    const last = median(times.slice(-MEDIAN_OF));
    const { rows } = await admin.query<{ heap: number; all: number }>(
      "select (pg_relation_size('pg_proc') / 1e6)::float8 as heap, (pg_total_relation_size('pg_proc') / 1e6)::float8 as all",
    );
    const { heap = 0, all = 0 } = rows[0] ?? {};
    console.log(`${count} queues: the first ${first.toFixed(0)} ms, the last ${last.toFixed(0)} ms each`);
    console.log(`pg_proc: ${heap.toFixed(1)} MB, with its indexes and TOAST ${all.toFixed(1)} MB`);
    return last <= RATIO_MAX * first && heap < MEGABYTES_MAX ? 0 : 1;
  } finally {
    await lh.close();
    await admin.end();
    await server.stop();
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

process.exitCode = await main(
  Number(process.argv.slice(2).find((argument) => /^\d+$/.test(argument)) ?? 500),
  process.argv.includes("--roles"),
);
