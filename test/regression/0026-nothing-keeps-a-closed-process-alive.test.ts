import { execFile } from "node:child_process";
import type { Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { NodePostgres } from "../../src/adapters/node-postgres.js";
import { nodePostgresSessions } from "../../src/adapters/node-postgres-session.js";
import { OwnPool } from "../../src/adapters/own-pool.js";
import { createEvents } from "../../src/events.js";
import { defaults } from "../../src/index.js";
import { blackHoleProxy } from "../support/black-hole-proxy.js";
import { setup } from "../support/world.js";
import { until } from "../worker/worker-world.js";

const program = join(process.cwd(), "build/test/support/ending-process.js");

test("after stop() and close() no timer and no connection keeps the process alive", async () => {
  const world = await setup();
  await world.queue();
  const settings = JSON.stringify({ url: world.url, schema: world.schema });
  // Rejects unless the program ends by itself with 0.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, settings], {
    timeout: 50_000,
  });
  expect({ left: JSON.parse(stdout), stderr }).toEqual({ left: [], stderr: "" });
});

test("close() drops a connection that leads nowhere", async () => {
  const world = await setup();
  const proxy = await blackHoleProxy(world.url);
  onTestFinished(() => proxy.close());
  const limits = {
    ...defaults,
    connectTimeoutMs: 60_000,
    statementTimeoutMs: 60_000,
    closeWaitMs: 50,
  };
  const pool = new OwnPool({ url: proxy.url, ...limits, connectionsMax: 2 });
  const streams: Socket[] = [];
  pool.on("connect", (client) => {
    streams.push((client as unknown as { connection: { stream: Socket } }).connection.stream);
  });
  const database = new NodePostgres(
    pool,
    limits,
    createEvents(() => {}),
  );
  await database.run({ name: "one", text: "select 1", values: [] });
  proxy.swallow();
  await database.close();
  expect(streams.map((stream) => stream.destroyed)).toEqual([true]);
});

test("so does the close() of a session", async () => {
  const world = await setup();
  const proxy = await blackHoleProxy(world.url);
  onTestFinished(() => proxy.close());
  const config = { connectionString: proxy.url };
  const sessions = nodePostgresSessions({ ...defaults, closeWaitMs: 50, config });
  const session = await sessions.open({ onNotice: () => {}, onLost: () => {} });
  proxy.swallow();
  // Without a limit this waits for the goodbye of the server, which never comes.
  await session.close();
  await until("the session's connection is closed", () => proxy.held() === 0);
});
