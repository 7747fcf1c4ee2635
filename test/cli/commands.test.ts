import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { setup, type World } from "../support/world.js";
import { commandWords } from "./command-words.js";
import { leasehold, type Ran, type RunOptions } from "./in-process.js";

/** Runs command lines on the schema of a world. */
function cli({ url, schema }: World): (line: string, options?: RunOptions) => Promise<Ran> {
  return (line, options = {}) =>
    leasehold(commandWords(line), {
      ...options,
      environment: { DATABASE_URL: url, LEASEHOLD_SCHEMA: schema, ...options.environment },
    });
}

function data<T = Record<string, unknown>>({ stdout, stderr, exitCode }: Ran): T {
  expect(exitCode, stderr).toBe(0);
  return JSON.parse(stdout) as T;
}

test("a queue is created, shown, changed, paused, resumed and dropped", async () => {
  const world = await setup();
  const run = cli(world);
  expect((await run("queues")).stdout).toBe(
    "No queues yet. Create one: leasehold queues create inbox --order key\n",
  );
  expect((await run("status")).stdout).toContain("No queues yet.");
  expect((await run("queues create inbox --order key --max-attempts 3")).stdout).toContain(
    "Created the queue inbox, order key.",
  );
  expect((await run("queues create inbox --max-attempts 3")).stdout).toContain("exists already");
  const clash = await run("queues create inbox --order none");
  expect(clash).toMatchObject({ exitCode: 4, stdout: "" });
  expect(clash.stderr).toMatch(/^error LH_QUEUE_MISMATCH: .*\nadvice: See the stored settings/);
  const changed = data(await run("queues change inbox --retention 2d --json"));
  expect(changed).toMatchObject({ name: "inbox", maxAttempts: 3, retentionMs: 172_800_000, pausedAt: null });
  expect((await run("queues change inbox --max-attempts 0")).exitCode).toBe(2);
  await run("queues pause inbox");
  expect((await run("queues", { columns: 80 })).stdout).toContain("PAUSED");
  expect((await run("queues show inbox")).stdout).toMatch(/^paused +since 20/m);
  await run("queues resume inbox");
  expect(data<object[]>(await run("queues --json"))).toMatchObject([
    { name: "inbox", order: "key", pausedAt: null },
  ]);
  expect(await run("queues show other")).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining("There are inbox."),
  });
});

test("a queue is dropped only when a person or --yes says so, and with --force when there are jobs", async () => {
  const world = await setup();
  const run = cli(world);
  await run("queues create inbox");
  await run("enqueue inbox hello");
  const refused = await run("queues drop inbox");
  expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
  expect(refused.stderr).toBe(
    "error CLI_NOT_CONFIRMED: This drops the queue inbox with 1 job and its archive. Nothing was done: nobody can be asked here.\nadvice: Add --yes.\n",
  );
  const declined = await run("queues drop inbox", { answers: ["n"] });
  expect(declined).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("Nothing was done.") });
  expect(declined.questions).toEqual([
    "This drops the queue inbox with 1 job and its archive. Go on? [y/N] ",
  ]);
  expect(await run("queues drop inbox --yes")).toMatchObject({
    exitCode: 4,
    stderr: expect.stringContaining("LH_QUEUE_IN_USE"),
  });
  const dropped = await run("queues drop inbox --force", { answers: ["yes"] });
  expect(dropped).toMatchObject({ exitCode: 0, stdout: "Dropped inbox with 1 job.\n" });
  expect(await world.lh.queues()).toEqual([]);
});

test("jobs are enqueued from an argument, a file and stdin, and found again", async () => {
  const world = await setup();
  const run = cli(world);
  await run("queues create inbox");
  const folder = await mkdtemp(join(tmpdir(), "leasehold-cli-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "payload.json"), '{"order": 2}');
  const one = data(await run(`enqueue inbox mail '{"order": 1}' --key order:1 --idempotency-key m1 --json`));
  expect(one).toEqual({ queue: "inbox", kind: "mail", id: expect.any(String), duplicate: false });
  expect(data(await run("enqueue inbox mail --idempotency-key m1 --json"))).toEqual({
    ...one,
    duplicate: true,
  });
  const two =
    (await run(`enqueue inbox mail --file ${folder}/payload.json --delay 1h`)).stdout.split("\n")[0] ?? "";
  await run("enqueue inbox report - --key order:1", { stdin: '{"order": 3}' });
  expect(await run("enqueue inbox mail --file /nowhere")).toMatchObject({ exitCode: 2 });
  expect(await run("enqueue inbox mail '{}' --priority 1")).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("LH_INVALID_OPTION"),
  });
  expect(await run("enqueue none mail")).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining("error LH_UNKNOWN_QUEUE: "),
  });

  const page = data<{ jobs: { id: string; payload: object }[] }>(await run("jobs list inbox --json"));
  expect(Object.keys(page)).toEqual(["jobs", "looked", "cursor"]);
  expect(page.jobs.map(({ payload }) => payload)).toEqual([{ order: 3 }, { order: 2 }, { order: 1 }]);
  const found = async (filter: string): Promise<number> =>
    data<{ jobs: object[] }>(await run(`jobs list inbox ${filter} --json`)).jobs.length;
  expect(await found("--status scheduled")).toBe(1);
  expect(await found("--kind mail --key order:1")).toBe(1);
  expect(await found(`--payload '{"order": 3}'`)).toBe(1);
  expect(await found("--older 1h")).toBe(0);
  expect(await found("--newer 1h --limit 2")).toBe(2);
  const text = await run("jobs inbox", { columns: 80 });
  expect(text.stdout).toContain("3 jobs, looked at 3 rows.");
  for (const line of text.stdout.split("\n"))
    expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(80);

  expect(data(await run(`jobs get inbox ${two} --json`))).toMatchObject({ id: two, status: "scheduled" });
  expect((await run(`jobs get inbox ${two}`)).stdout).toMatch(/^due +\S+ \(in \d+ min\)$/m);
  expect((await run(`jobs why inbox ${two}`)).stdout).toMatch(/^scheduled\nIt is scheduled for /);
  const nobody = "01890a5d-ac96-774b-bcce-b302099a8057";
  expect(await run(`jobs get inbox ${nobody}`)).toMatchObject({ exitCode: 3, stdout: "" });
  expect(await run(`jobs why inbox ${nobody}`)).toMatchObject({ exitCode: 3 });
  expect(await run("jobs why inbox 17")).toMatchObject({ exitCode: 2 });
});

test("dead letters are grouped, redriven and discarded, with their count first", async () => {
  const world = await setup();
  const queue = await world.queue();
  const run = cli(world);
  for (const order of [1, 2, 3])
    await queue.enqueue("mail", { order }, { partitionKey: `order:${order}`, maxAttempts: 1 });
  await queue.enqueue("report", {}, { maxAttempts: 1 });
  for (const job of await queue.claim({ workerId: "w" }))
    await queue.fail(job, new Error(job.kind === "mail" ? `no such order ${job.seq}` : "disk full"));
  const { groups } = data<{ groups: { fingerprint: string; kind: string; count: number }[] }>(
    await run("dead --json"),
  );
  expect(groups.map(({ kind, count }) => [kind, count])).toEqual([
    ["mail", 3],
    ["report", 1],
  ]);
  const text = await run("dead inbox", { columns: 80 });
  expect(text.stdout).toContain("2 groups, looked at 4 dead letters.");
  const [mail, report] = groups;
  expect(await run(`dead redrive inbox ${mail?.fingerprint}`)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("This redrives 3 dead letters of inbox."),
  });
  expect(data(await run(`dead redrive inbox ${mail?.fingerprint} --yes --json`))).toEqual({
    queue: "inbox",
    fingerprint: mail?.fingerprint,
    redriven: 3,
  });
  expect(await run("dead redrive inbox ffffffffffffffff --yes")).toMatchObject({ exitCode: 3 });
  expect((await run(`dead discard inbox ${report?.fingerprint} --yes`)).stdout).toBe("Discarded: 1.\n");
  expect((await run("dead inbox")).stdout).toBe("No dead letters in inbox.\n");

  expect(await run("jobs discard inbox --kind mail --status pending")).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("This discards 3 pending jobs of inbox."),
  });
  const asked = await run("jobs discard inbox --kind mail --status pending --limit 2", { answers: ["y"] });
  expect(asked).toMatchObject({ exitCode: 0, stdout: "Discarded: 2.\n" });
  expect(await queue.stats()).toMatchObject({ pending: 1, deadLetter: 0 });
  expect((await run("jobs redrive inbox")).stdout).toBe("Redriven: 0.\n");
});

test("a discard without a status takes dead letters only, and the count that it asks about is a least one", async () => {
  const world = await setup();
  const queue = await world.queue();
  const run = cli(world);
  await queue.enqueueMany(
    Array.from({ length: 3 }, (_, n) => ({ kind: "mail", payload: n, partitionKey: "k" })),
  );
  for (const filter of ["--kind mail", "--key k"])
    expect(await run(`jobs discard inbox ${filter}`)).toMatchObject({
      exitCode: 0,
      stdout: "Discarded: 0.\n",
    });
  expect(await queue.stats()).toMatchObject({ pending: 3 });

  await world.sql(
    `insert into leasehold.inbox (kind, status, finished_at) select 'old', 'dead_letter', now() from generate_series(1, 1200)`,
  );
  for (const verb of ["discard", "redrive"])
    expect((await run(`jobs ${verb} inbox --kind old`)).stderr).toContain(
      "1,000 or more dead letters of inbox.",
    );
  expect((await run("jobs discard inbox --kind old --limit 1000")).stderr).toContain(
    "This discards 1,000 dead letters of inbox.",
  );
});

test("status puts problems first, in text and in data, and watches", async () => {
  const world = await setup();
  const run = cli(world);
  await run("queues create calm");
  await run("queues create inbox");
  await run("queues create later");
  await run("queues pause later");
  await run("enqueue inbox mail");
  const { problems, queues } = data<{ problems: object[]; queues: { name: string }[] }>(
    await run("status --json"),
  );
  expect(problems).toEqual([
    {
      queue: "inbox",
      code: "no_workers",
      severity: "bad",
      message: "1 due, and no worker is alive",
      advice: "leasehold worker worker.mjs",
    },
    {
      queue: "later",
      code: "paused",
      severity: "warn",
      message: expect.stringContaining("paused for"),
      advice: "leasehold queues resume later",
    },
  ]);
  expect(queues.map(({ name }) => name)).toEqual(["inbox", "later", "calm"]);
  expect(Object.keys(queues[0] ?? {})).toEqual(
    expect.arrayContaining([
      "name",
      "depth",
      "due",
      "oldestDueAt",
      "processing",
      "retrying",
      "deadLetter",
      "workers",
      "pausedAt",
      "share",
    ]),
  );
  const watched = await run("status --watch --json", { isEnough: (output) => output.split("\n").length > 2 });
  expect(watched.exitCode).toBe(130);
  const lines = watched.stdout.trim().split("\n");
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(JSON.parse(line)).toHaveProperty("queues");
  const coloured = await run("status", { columns: 80 });
  expect(coloured.stdout).toContain("\u001b[31m");
  for (const off of [
    run("status --no-color", { columns: 80 }),
    run("status", { columns: 80, environment: { NO_COLOR: "1" } }),
    run("status"),
  ])
    expect((await off).stdout).not.toContain("\u001b[");
});

test("workers and rings are shown, keys found, moves previewed, workers evicted", async () => {
  const world = await setup();
  const run = cli(world);
  await run("queues create inbox");
  expect((await run("ring inbox")).stdout).toContain("Nobody owns them.");
  expect((await run("workers")).stdout).toBe(
    "No workers are registered. Start one: leasehold worker worker.mjs\n",
  );
  for (const workerId of ["web-1", "web-2"]) {
    const lh = await world.connect({ workerId });
    await lh.worker("inbox", { mail: () => {} }, { handlesSignals: false }).start();
  }
  expect(data<object[]>(await run("workers --json"))).toMatchObject([
    { id: "web-1", state: "alive", queues: ["inbox"] },
    { id: "web-2", state: "alive", queues: ["inbox"] },
  ]);
  const ring = data<{ members: { worker: string; buckets: number }[]; owners: string[] }>(
    await run("ring inbox --json"),
  );
  expect(ring.owners).toHaveLength(360);
  expect(ring.members.map(({ worker }) => worker)).toEqual(["web-1", "web-2"]);
  const drawn = (await run("ring inbox", { columns: 80, environment: { NO_COLOR: "1" } })).stdout;
  expect(drawn.match(/[ab]{10}/g)).toHaveLength(36);
  const { owner } = data<{ owner: string }>(await run("ring inbox --key order:9182 --json"));
  expect(["web-1", "web-2"]).toContain(owner);
  const preview = data<{ moved: { from: string; to: string }[] }>(await run("ring inbox --add web-3 --json"));
  expect(preview.moved.length).toBeGreaterThan(0);
  for (const { to } of preview.moved.filter(({ from }) => from === "web-3")) expect(to).toBeNull();
  expect(await run("ring inbox --remove web-9")).toMatchObject({ exitCode: 3 });
  expect(await run("ring other")).toMatchObject({ exitCode: 3 });
  expect(await run("workers drain web-9 --yes")).toMatchObject({ exitCode: 3 });
  expect(await run("workers drain web-2 --yes")).toMatchObject({ exitCode: 0 });
  const { stdout: past } = await run("history --kind worker:drain_asked", { columns: 80 });
  expect(past).toContain("web-2");
  expect(await run("workers evict web-1")).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/This declares web-1 dead: \d+ buckets move/),
  });
  expect(await run("workers evict web-1 --yes")).toMatchObject({ exitCode: 0 });
  expect(await run("workers evict web-9 --yes")).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining("LH_UNKNOWN_WORKER"),
  });
});

test("support queries are listed, shown as SQL and run", async () => {
  const world = await setup();
  const run = cli(world);
  await run("queues create inbox");
  await run("enqueue inbox mail --key order:9182");
  const listed = await run("runbook", { environment: { COLUMNS: "80" } });
  expect(listed.stdout).toMatch(/^oldest-due {2}/m);
  for (const line of listed.stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  expect(data(await run("runbook oldest-due --json"))).toMatchObject({
    name: "oldest-due",
    rows: [{ partition_key: "order:9182", kind: "mail" }],
  });
  expect((await run("runbook oldest-due")).stdout).toMatch(/^Oldest due work\n[\s\S]*\n1 row\n\nread\n/);
  const sql = await run("runbook line-of-key --set key=order:9182 --sql");
  expect(sql.stdout).toContain("\\set key 'order:9182'");
  expect(sql.stdout).toContain(`${world.schema}.inbox`);
  expect(await run("runbook oldest")).toMatchObject({ exitCode: 3 });
  expect(await run("runbook line-of-key")).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("Add --set key="),
  });
  expect(await run("runbook oldest-due --set key=1")).toMatchObject({ exitCode: 2 });
  expect(await run("runbook oldest-due --queue other")).toMatchObject({ exitCode: 3 });
});

test("what concerns the whole schema: migrate, plan, audit, tenants, an unreachable server", async () => {
  const world = await setup();
  const run = cli(world);
  expect((await run("migrate")).stdout).toBe(`The schema ${world.schema} is up to date.\n`);
  const plan = data<{ pending: object[] }>(await run(`migrate --plan --schema ${world.schema}_new --json`));
  expect(plan.pending[0]).toEqual({ file: "0001_schema", queue: null, isRepeated: false });
  expect(await run(`queues --schema ${world.schema}_new`)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("advice: Create or update it: leasehold migrate"),
  });
  expect((await run("tenants")).stdout).toContain("No tenants are hot.");
  const queue = await world.queue();
  await queue.enqueue("mail", {});
  const sick = await run("doctor", { columns: 80 });
  const told = stripVTControlCharacters(sick.stdout);
  expect(sick.exitCode).toBe(1);
  expect(told).toContain("critical no_workers\n  1 job(s) of inbox are due");
  expect(told).toContain("docs/doctor.md#no_workers");
  expect(Math.max(...told.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(JSON.parse((await run("doctor --json")).stdout)).toMatchObject({
    queues: ["inbox"],
    findings: expect.arrayContaining([expect.objectContaining({ code: "no_workers", queue: "inbox" })]),
  });
  expect((await run("audit")).stdout).toContain("Every promise holds. Looked at 1 queue");
  await world.sql("update leasehold.inbox set attempts = 99");
  const broken = await run("audit --json");
  expect(broken.exitCode).toBe(1);
  expect(JSON.parse(broken.stdout)).toMatchObject({
    queues: ["inbox"],
    breaches: [{ rule: "attempts", count: 1 }],
  });
  expect((await run("audit", { columns: 80 })).stdout).toContain("1 promise is broken");
  const lost = await run("status --url postgres://127.0.0.1:1/none --json", {
    connectOptions: { connectLimitMs: 200 },
  });
  expect(lost).toMatchObject({ exitCode: 5, stdout: "" });
  expect(JSON.parse(lost.stderr)).toMatchObject({
    error: { code: "LH_DATABASE_UNAVAILABLE", exitCode: 5, advice: expect.any(String) },
  });
});
