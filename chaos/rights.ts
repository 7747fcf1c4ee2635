import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { recorderSchema } from "../simulation/engine/recorder.js";
import { queueName, schema } from "./settings.js";

const triesMax = 120;
const tryEveryMs = 500;
const record = recorderSchema(schema);
const password = "chaos";

/** What fails for a worker that is half ill, as the checkers know it. */
export type Illness = "claims fail" | "settles fail" | "completions fail" | "renewals fail";

/** For each the right without which the server refuses it. All else works: beats, sessions, reads. */
const needed: Readonly<Record<Illness, string>> = {
  "claims fail": `execute on function ${schema}.${queueName}_claim, ${schema}.${queueName}_claim_woken`,
  "settles fail": `insert on table ${schema}.${queueName}_archive`,
  "completions fail": `execute on function ${schema}.${queueName}_complete`,
  "renewals fail": `select on table ${record}.may_renew`,
};

export const illnesses = Object.keys(needed) as readonly Illness[];

/** The rights above are taken from the role of all workers; each process gets them for itself. A renewal is an update like others, so a trigger asks for its right. */
const rightsSql = `
create table ${record}.may_renew ();
create function ${record}.on_renewal() returns trigger language plpgsql as $$
begin
  perform 1 from ${record}.may_renew;
  return new;
end $$;
create trigger ask_to_renew before update on ${schema}.${queueName} for each row
  when (old.status = 'processing' and new.status = 'processing' and old.lease_generation = new.lease_generation)
  execute function ${record}.on_renewal();
grant usage on schema ${record} to ${schema}_worker;
grant insert on ${record}.entries to ${schema}_worker;
grant usage on sequence ${record}.entries_n_seq to ${schema}_worker;
${Object.values(needed)
  .map((right) => `revoke ${right} from ${schema}_worker;`)
  .join("\n")}`;

/** A role of its own for each worker process, and the rights of which the nemesis deprives it. Waits while the server is away. */
export class Rights {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async prepare(): Promise<void> {
    await this.#run(rightsSql);
  }

  /** The address under which a process of this name connects, as itself. */
  async admit(name: string): Promise<(url: string) => string> {
    const role = pg.escapeIdentifier(name);
    const grants = Object.values(needed).map((right) => `grant ${right} to ${role};`);
    await this.#run(
      `create role ${role} login password '${password}' in role ${schema}_worker; ${grants.join(" ")}`,
    );
    return (url) => {
      const own = new URL(url);
      own.username = name;
      own.password = password;
      return own.href;
    };
  }

  async refuse(name: string, illness: Illness): Promise<void> {
    await this.#run(`revoke ${needed[illness]} from ${pg.escapeIdentifier(name)}`);
  }

  async allow(name: string, illness: Illness): Promise<void> {
    await this.#run(`grant ${needed[illness]} to ${pg.escapeIdentifier(name)}`);
  }

  async #run(sql: string): Promise<void> {
    for (let tries = 1; ; tries++) {
      const client = new pg.Client({ connectionString: this.#url });
      client.on("error", () => {});
      try {
        await client.connect();
        await client.query(sql);
        return;
      } catch (error) {
        if (isDone(error)) return;
        if (tries === triesMax) throw error;
        await sleep(tryEveryMs);
      } finally {
        await client.end().catch(() => {});
      }
    }
  }
}

/** An earlier try has made the role, and its answer was lost: the statements of one query commit together. */
function isDone(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === "42710";
}
