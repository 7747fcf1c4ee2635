import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { DeployFleet, DeployProcess } from "./deploy-fleet.js";
import { doneTable, queueName, schema } from "./deploy-settings.js";

const stepLimitMs = 120_000;
const note = (line: string): void => void process.stderr.write(`${line}\n`);

/** What happens step by step, under load. */
export class DeployStage {
  readonly client: pg.Client;
  readonly fleet: DeployFleet;
  readonly #jobs: number;
  schemaChanges = 0;

  constructor(client: pg.Client, fleet: DeployFleet, jobs: number) {
    this.client = client;
    this.fleet = fleet;
    this.#jobs = jobs;
  }

  async start(role: "worker" | "producer", name: string, library: string): Promise<DeployProcess> {
    const started = await this.fleet.start(role, name, library);
    note(`${name}: ${started.refusal ?? `${started.migrations} migrations`}`);
    if (role === "worker" && started.refusal === null) await this.#someMore();
    return started;
  }

  /** The new one starts before the old one stops. */
  async replace(old: DeployProcess, name: string, library: string): Promise<void> {
    await this.start("worker", name, library);
    await this.fleet.stop(old);
    await this.#someMore();
  }

  async restartOld(old: DeployProcess | null, name: string, library: string): Promise<DeployProcess> {
    const before = await this.#schema();
    if (old !== null) await this.fleet.stop(old);
    const started = await this.start("worker", name, library);
    if ((await this.#schema()) !== before) this.schemaChanges++;
    return started;
  }

  async done(): Promise<number> {
    const { rows } = await this.client.query<{ n: number }>(`select count(*)::int as n from ${doneTable}`);
    return rows[0]?.n ?? 0;
  }

  async unfinished(): Promise<number> {
    const { rows } = await this.client.query<{ n: number }>(
      `select count(*)::int as n from ${schema}.${queueName} where finished_at is null`,
    );
    return rows[0]?.n ?? 0;
  }

  async until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const lateAtMs = performance.now() + stepLimitMs;
    while (!(await isSo())) {
      if (performance.now() > lateAtMs) throw new Error(`Not so after ${stepLimitMs} ms: ${what}`);
      await sleep(50);
    }
  }

  async #someMore(): Promise<void> {
    const before = await this.done();
    await this.until("more jobs are done", async () => (await this.done()) >= before + this.#jobs);
  }

  /** Every function, table, column and index of the schema. */
  async #schema(): Promise<string> {
    const { rows } = await this.client.query<{ digest: string }>(
      `select md5(string_agg(it, e'\\n' order by it)) as digest from (
         select concat(p.oid::regprocedure, prosrc, proconfig) as it from pg_proc p where pronamespace = $1::text::regnamespace
         union all select c.relname || '.' || attname || format_type(atttypid, atttypmod) from pg_class c join pg_attribute on attrelid = c.oid
           where relnamespace = $1::text::regnamespace and relkind in ('r', 'p', 'v') and attnum > 0 and not attisdropped and c.relname !~ '_archive_'
         union all select indexdef from pg_indexes where schemaname = $1::text and tablename !~ '_archive_') x`,
      [schema],
    );
    return rows[0]?.digest ?? "";
  }
}
