import { startPostgres } from "../src/embedded.js";
import { connect, type Leasehold } from "../src/index.js";
import { createTenantSupervisor, type TenantSupervisor } from "../src/tenants.js";
import { percentile } from "./percentile.js";

/**
 * What a tick of the tenant supervisor costs one process of a large fleet: CPU of the process, by its own account, over ticks of a supervisor that works
 * against a real database. At rest; when a member is gone, so that its tenants are shared out; and when nobody has any tenant yet.
 *
 *   npm run bench:tenants          (about a minute; --tenants N --workers N --ticks N)
 */
interface Plan {
  readonly tenants: number;
  readonly workers: number;
  readonly ticks: number;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const self = "worker-0";

function planOf(args: readonly string[]): Plan {
  const number = (name: string, fallback: number): number => {
    const at = args.indexOf(`--${name}`);
    const value = at < 0 ? fallback : Number(args[at + 1]);
    if (!Number.isSafeInteger(value) || value < 1)
      throw new RangeError(`--${name} must be a whole number above 0.`);
    return value;
  };
  return { tenants: number("tenants", 10_000), workers: number("workers", 50), ticks: number("ticks", 30) };
}

async function main(): Promise<void> {
  const plan = planOf(process.argv.slice(2));
  const server = await startPostgres({ durable: true });
  try {
    const lh = await connect({ url: server.url, workerId: self });
    await lh.migrate();
    say(
      `PostgreSQL ${server.version}, ${plan.tenants} tenants, ${plan.workers} workers, ${plan.ticks} ticks each`,
    );
    for (const state of ["at rest", "a member is gone", "nobody has any"] as const)
      await measure(lh, plan, state);
    await lh.close();
  } finally {
    await server.stop();
  }
}

type State = "at rest" | "a member is gone" | "nobody has any";

async function measure(lh: Leasehold, plan: Plan, state: State): Promise<void> {
  const name = state.replaceAll(" ", "_");
  const names = Array.from({ length: plan.tenants }, (_, n) => `tenant-${n}`);
  await fill(lh, plan, { name, state });
  // Nothing is started: what start() does is the user's, and winning is part of the tick only when there is something to win.
  const supervisor = createTenantSupervisor(lh, {
    name,
    fleet: true,
    tickMs: 3_600_000,
    startupMs: 0,
    handlesSignals: false,
    hot: () => names,
    start: () => {},
  });
  await supervisor.start();
  const ticks: { cpuMs: number; ms: number }[] = [];
  for (let n = 0; n < plan.ticks; n++) {
    if (state !== "at rest") await fill(lh, plan, { name, state });
    ticks.push(await tickOf(supervisor));
  }
  const warm = ticks.slice(Math.ceil(plan.ticks / 5));
  const figure = (of: (tick: { cpuMs: number; ms: number }) => number, share: number): string =>
    percentile(warm.map(of), share).toFixed(1);
  say(
    `  ${state}: CPU ${figure(({ cpuMs }) => cpuMs, 0.5)} ms (p99 ${figure(({ cpuMs }) => cpuMs, 0.99)}), ` +
      `with the database ${figure(({ ms }) => ms, 0.5)} ms; the first ${ticks[0]?.cpuMs.toFixed(1)} ms`,
  );
  await supervisor.stop();
}

async function tickOf(supervisor: TenantSupervisor): Promise<{ cpuMs: number; ms: number }> {
  const startedAtMs = performance.now();
  const before = process.cpuUsage();
  await supervisor.tick();
  const used = process.cpuUsage(before);
  return { cpuMs: (used.user + used.system) / 1_000, ms: performance.now() - startedAtMs };
}

/** Members that are alive for a long time, and leases spread over them; the others' are running, so a tick leaves them alone. */
async function fill(
  lh: Leasehold,
  plan: Plan,
  { name, state }: { name: string; state: State },
): Promise<void> {
  const gone = state === "a member is gone" ? plan.workers - 1 : -1;
  await lh.transaction(async (tx) => {
    await tx.query(
      `insert into leasehold.workers (id, status, last_seen_at, ttl, queues, incarnation, alive_since)
       select 'worker-' || n, 'alive', now(), interval '1 day', array['tenants:' || $2], 'x', now() - interval '1 day'
       from generate_series(1, $1 - 1) n on conflict (id) do update set queues = excluded.queues, alive_since = excluded.alive_since`,
      [plan.workers, name],
    );
    await tx.query(`update leasehold.workers set alive_since = now() - interval '1 day' where id = $1`, [
      self,
    ]);
    if (state === "nobody has any") {
      await tx.query(
        "delete from leasehold.tenant_leases where supervisor = $1 and owner is distinct from $2",
        [name, self],
      );
      return;
    }
    // What the process itself wins stays its own: a tick only takes what is free.
    await tx.query(
      `insert into leasehold.tenant_leases (supervisor, tenant, owner, incarnation, token, state)
       select $1, 'tenant-' || n, case when n % $3 = $4 then null else 'worker-' || n % $3 end, 'x',
              nextval('leasehold.lease_tokens'), case when n % $3 = $4 then 'free' else 'running' end
       from generate_series(0, $2 - 1) n where n % $3 <> 0
       on conflict (supervisor, tenant) do nothing`,
      [name, plan.tenants, plan.workers, gone],
    );
  });
}

await main();
