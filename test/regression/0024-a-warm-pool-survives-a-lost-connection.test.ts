import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { type CuttingProxy, cuttingProxy } from "../support/cutting-proxy.js";
import type { WarmPoolReport } from "../support/warm-pool-process.js";
import { setup, type World } from "../support/world.js";

const program = join(process.cwd(), "build/test/support/warm-pool-process.js");

/** Runs the program, takes its connections away while it holds them, and returns its exit code and what it told last. */
async function runAndCut(world: World, proxy: CuttingProxy, cut: () => Promise<void>) {
  const settings = JSON.stringify({ url: proxy.url, schema: world.schema });
  const child: ChildProcess = fork(program, [settings], { stdio: ["ignore", "inherit", "pipe", "ipc"] });
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  const exited = new Promise<number | null>((resolve) => child.once("close", resolve));
  onTestFinished(() => void child.kill("SIGKILL"));
  let last: WarmPoolReport | undefined;
  child.on("message", (report: WarmPoolReport) => {
    last = report;
    if (report.is === "holding") void cut().then(() => child.connected && child.send("lost"));
  });
  return { code: await exited, said, last };
}

/** A connection through the proxy, with its server process. */
async function scene() {
  const world = await setup();
  const proxy = await cuttingProxy(world.url);
  onTestFinished(() => proxy.close());
  return { world, proxy };
}

test("a pool that was used before connect() survives the end of every server process", async () => {
  const { world, proxy } = await scene();
  const name = `warm_${world.schema}`;
  const url = new URL(proxy.url);
  url.searchParams.set("application_name", name);
  const cut = async (): Promise<void> => {
    await world.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1", [
      name,
    ]);
    const left = "select count(*)::int as n from pg_stat_activity where application_name = $1";
    while ((await world.sql<{ n: number }>(left, [name]))[0]?.n !== 0);
  };
  const end = await runAndCut(world, { ...proxy, url: url.href }, cut);
  expect(end).toMatchObject({ code: 0, said: "", last: { outcome: "LH_DATABASE_UNAVAILABLE", works: true } });
});

test("and a reset of every connection", async () => {
  const { world, proxy } = await scene();
  const end = await runAndCut(world, proxy, async () => proxy.reset());
  expect(end).toMatchObject({ code: 0, said: "", last: { outcome: "LH_DATABASE_UNAVAILABLE", works: true } });
});

test("close() leaves no listener on a user's pool and its clients", async () => {
  const world = await setup();
  const pool = new pg.Pool({ connectionString: world.url, max: 2 });
  onTestFinished(() => pool.end());
  const client = await pool.connect();
  client.release();
  const listeners = (): number[] =>
    [pool, client].flatMap((one) => one.eventNames().map((name) => one.listenerCount(name as string)));
  const before = listeners();
  const lh = await world.connect({ pool });
  await lh.workers();
  expect(listeners()).not.toEqual(before);
  await lh.close();
  expect(listeners()).toEqual(before);
});

test("a connection that is in use at close() keeps its listener until it goes back", async () => {
  const world = await setup();
  const pool = new pg.Pool({ connectionString: world.url, max: 3 });
  onTestFinished(() => pool.end());
  const client = await pool.connect();
  client.release();
  const lh = await world.connect({ pool });
  let goOn: () => void = () => {};
  const underWay = await new Promise<{ readonly end: Promise<void> }>((resolve) => {
    const end = lh.transaction(async (tx) => {
      await tx.query("select 1");
      const isTold = new Promise<void>((told) => {
        goOn = told;
      });
      resolve({ end });
      await isTold;
    });
  });
  await lh.close();
  expect(client.listenerCount("error")).toBe(1);
  goOn();
  await underWay.end;
  expect(client.listeners("error").map((listener) => listener.name)).toEqual(["idleListener"]);
});
