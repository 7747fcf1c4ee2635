import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { deadLetter } from "../../src/index.js";
import { createMetrics, type Metrics } from "../../src/metrics.js";
import { setup } from "../support/world.js";
import { startWorker, until } from "../worker/worker-world.js";
import { programOr, promtool, startPrometheus } from "./prometheus-process.js";

/** Where the metrics are served. */
async function serve(metrics: Metrics): Promise<string> {
  const server = createServer(async (request, response) => {
    const answer = await metrics.handler(new Request(`http://localhost${request.url}`));
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

test("promtool takes the text of the metrics", async (context) => {
  const program = programOr(context, "promtool");
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await startWorker(world.lh, { k: () => {} });
  await inbox.enqueue("k", 1);
  await until(
    "it is done",
    async () => (await inbox.stats()).pending + (await inbox.stats()).processing === 0,
  );
  const text = await createMetrics(world.lh).text();
  expect(await promtool(program, ["check", "metrics"], text)).toBe("");
});

test("Prometheus scrapes what is in the tables, takes the alert rules, and answers every panel of the dashboard", async (context) => {
  const program = programOr(context, "prometheus");
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await startWorker(world.lh, {
    ok: async () => {},
    dies: () => {
      throw deadLetter("no");
    },
  });
  const metrics = createMetrics(world.lh, { cacheMs: 0 });
  const rules = join(process.cwd(), "docs/alerts.yml");
  const prometheus = await startPrometheus(program, { target: await serve(metrics), rules });
  const valueNow = async (expression: string): Promise<number | undefined> =>
    (await prometheus.query(expression))[0]?.value;
  const archived = async (): Promise<number> =>
    (await world.sql<{ n: number }>("select count(*)::int as n from leasehold.inbox_archive"))[0]?.n ?? 0;

  const completed = async (): Promise<number> =>
    Number(/^leasehold_jobs_completed_total.* (\d+)$/m.exec(await metrics.text())?.[1]);
  let enqueued = 0;
  for (let round = 0; round < 10; round++) {
    const jobs = Array.from({ length: 100 }, (_, n) => ({ kind: n === 0 ? "dies" : "ok", payload: n }));
    enqueued += (await inbox.enqueueMany(jobs)).length;
    const scraped = await completed();
    const inTable = await archived();
    // A worker counts when its settle is answered: never ahead of the table, and soon what was in it.
    expect(scraped).toBeLessThanOrEqual(inTable);
    await until("a scrape has what was in the table", async () => (await completed()) >= inTable);
  }
  await world.lh.housekeep();
  await inbox.enqueue("ok", 1, { delayMs: 600_000 });

  const truth = {
    'leasehold_jobs_completed_total{queue="inbox"}': enqueued - 10,
    'leasehold_jobs_dead_lettered_total{queue="inbox"}': 10,
    'leasehold_jobs{queue="inbox",status="dead_letter"}': 10,
    'leasehold_jobs{queue="inbox",status="scheduled"}': 1,
    'leasehold_jobs{queue="inbox",status="pending"}': 0,
    'leasehold_handler_duration_seconds_count{kind="ok"}': enqueued - 10,
    'leasehold_claim_rows_sum{queue="inbox"}': enqueued,
    'leasehold_workers{state="alive"}': 1,
  };
  for (const [expression, value] of Object.entries(truth))
    await until(`${expression} is ${value}`, async () => (await valueNow(expression)) === value);
  expect(await archived()).toBe(enqueued - 10);

  await until("the rules were evaluated", async () =>
    (await prometheus.rules()).every(({ health }) => health !== "unknown"),
  );
  expect((await prometheus.rules()).filter(({ health }) => health !== "ok")).toEqual([]);

  const dashboard = await readFile(join(process.cwd(), "docs/grafana-dashboard.json"), "utf8");
  const expressions = (JSON.parse(dashboard) as Dashboard).panels.flatMap(({ targets = [] }) =>
    targets.map(({ expr }) => expr),
  );
  for (const expression of expressions) {
    const filled = expression.replaceAll(/\$job|\$queue/g, ".*").replaceAll("$__rate_interval", "1m");
    // No tenant and no replica is here; all else has an answer once it was scraped twice.
    if (/leasehold_(tenants|replica)_/.test(filled)) await prometheus.query(filled);
    else await until(`${filled} has an answer`, async () => (await prometheus.query(filled)).length > 0);
  }
});

interface Dashboard {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
}
