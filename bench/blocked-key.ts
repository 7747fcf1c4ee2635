import { startPostgres } from "../src/embedded.js";
import { connect, type Leasehold } from "../src/index.js";
import { percentile } from "./percentile.js";

/**
 * What keys that wait cost the others: the throughput of one worker with handlers that do nothing, over 10 000 keys, without a blocked key, with
 * one, and with 2 000. A blocked key has a head that failed and is due tomorrow, and 50 rows behind it. Rounds of the three take turns, each on a
 * queue of its own; prints each round, the medians, and their ratios.
 *
 *   npm run bench:blocked          (about three minutes; an argument gives the number of rounds)
 */
const rounds = Number(process.argv[2] ?? 5);
const keys = 10_000;
const behind = 50;
/** One job a key, where every pass walks over as many keys as it takes rows, and two. */
const jobCounts = [10_000, 20_000];

interface Round {
  readonly perSecond: number;
  readonly claims: number;
}

interface Plan {
  readonly name: string;
  readonly blocked: number;
  readonly jobs: number;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  const server = await startPostgres({ durable: true, settings: { shared_buffers: "512MB" } });
  try {
    const lh = await connect({ url: server.url });
    await lh.migrate();
    say(`PostgreSQL ${server.version}, ${keys} keys, one worker, no-op handlers, medians of ${rounds}`);
    for (const jobs of jobCounts) await compare(lh, jobs);
    await lh.close();
  } finally {
    await server.stop();
  }
}

/** Rounds take turns, so that whatever else the machine does hits all of them alike. */
async function compare(lh: Leasehold, jobs: number): Promise<void> {
  const plans: readonly Plan[] = [
    { name: "none", blocked: 0, jobs },
    { name: "one", blocked: 1, jobs },
    { name: "many", blocked: 2_000, jobs },
  ];
  const measured = new Map<string, Round[]>(plans.map((plan) => [plan.name, []]));
  // The first warms up and does not count.
  for (let i = 0; i <= rounds; i++) {
    for (const plan of plans) {
      const round = await measure(lh, plan, `q_${jobs}_${plan.name}_${i}`);
      if (i > 0) measured.get(plan.name)?.push(round);
    }
  }
  const base = percentile(
    (measured.get("none") ?? []).map((round) => round.perSecond),
    0.5,
  );
  say(`  ${jobs} jobs`);
  for (const { name, blocked } of plans) {
    const list = measured.get(name) ?? [];
    const each = list.map((round) => Math.round(round.perSecond));
    const rate = percentile(each, 0.5);
    const claims = percentile(
      list.map((round) => round.claims),
      0.5,
    );
    say(
      `    ${String(blocked).padStart(5)} blocked: ${Math.round(rate)} jobs/s, ${(rate / base).toFixed(3)} of none; ${claims} claims with rows; rounds ${each.join(" ")}`,
    );
  }
}

async function measure(lh: Leasehold, plan: Plan, name: string): Promise<Round> {
  await lh.queue(name, { order: "key" });
  await fill(lh, plan, name);
  let settled = 0;
  let claims = 0;
  let finish: () => void = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const ends = [
    lh.on("jobs:claimed", () => void claims++),
    lh.on("job:settled", () => {
      settled++;
      if (settled === plan.jobs) finish();
    }),
  ];
  const worker = lh.worker(name, { work: () => {} }, { handlesSignals: false });
  await worker.start();
  const startedAt = performance.now();
  await finished;
  const seconds = (performance.now() - startedAt) / 1_000;
  await worker.stop();
  for (const end of ends) end();
  await lh.transaction((tx) => tx.query(`truncate leasehold.${name}, leasehold.${name}_archive`));
  return { perSecond: plan.jobs / seconds, claims };
}

/** The blocked keys come from among the 10 000; the others share the jobs. */
async function fill(lh: Leasehold, { blocked, jobs }: Plan, name: string): Promise<void> {
  await lh.transaction(async (tx) => {
    await tx.query(
      `insert into leasehold.${name} (kind, payload, partition_key)
       select 'work', jsonb_build_object('n', n), 'key:' || ($2::int + n % ($3::int - $2::int)) from generate_series(1, $1::int) n`,
      [jobs, blocked, keys],
    );
    await tx.query(
      `insert into leasehold.${name} (kind, payload, partition_key, attempts, available_at)
       select 'work', '{}', 'key:' || k, case r when 0 then 1 else 0 end, now() + case r when 0 then interval '1 day' else interval '0' end
       from generate_series(0, $1::int - 1) k cross join generate_series(0, $2::int) r order by k, r`,
      [blocked, behind],
    );
  });
  await lh.transaction((tx) => tx.query(`analyze leasehold.${name}`));
}

await main();
