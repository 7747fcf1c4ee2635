import { connect as connectTo, createServer, type Socket } from "node:net";
import { expect, inject, onTestFinished, test } from "vitest";
import type { Logger } from "../../src/index.js";
import { listenInFrontOf } from "../support/in-front.js";
import { setup } from "../support/world.js";
import { heard, startWorker, until } from "../worker/worker-world.js";

interface Line {
  readonly event: string;
  readonly message: string;
}

/** What a log of warnings has. */
function warnings(): { readonly lines: Line[]; readonly logger: Logger } {
  const lines: Line[] = [];
  const note = (fields: object, message: string): void => {
    lines.push({ event: (fields as { event: string }).event, message });
  };
  return { lines, logger: { debug: () => {}, info: () => {}, warn: note, error: note } };
}

/** A way to the server that can be shut: then every connection breaks, and none can be made. */
async function gatedServer(): Promise<{ readonly url: string; shut(isShut: boolean): void }> {
  const target = new URL(inject("databaseUrl"));
  const sockets = new Set<Socket>();
  let isShut = false;
  const server = createServer((client) => {
    if (isShut) return void client.destroy();
    const upstream = connectTo(Number(target.port || 5432), target.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  const url = await listenInFrontOf(inject("databaseUrl"), server);
  onTestFinished(() => void server.close());
  const shut = (next: boolean): void => {
    isShut = next;
    if (next) for (const socket of sockets) socket.destroy();
  };
  return { url, shut };
}

test("an outage is a line when it begins and one when it ends, however often it is tried", async () => {
  const server = await gatedServer();
  const { lines, logger } = warnings();
  const world = await setup({ url: server.url, workerId: "a", logger, heartbeatMs: 200 });
  const inbox = await world.queue();
  const done: unknown[] = [];
  await startWorker(world.lh, { k: (job) => done.push(job.payload) });
  await inbox.enqueue("k", 1);
  await until("it works", () => done.length === 1);
  const retried = heard(world.lh, "database:retried");
  const opened = heard(world.lh, "session:opened");
  lines.length = 0;

  server.shut(true);
  await until("many tries have failed", () => retried.length >= 40, 60_000);
  server.shut(false);
  await until("the session is back", () => opened.length > 0, 60_000);
  await inbox.enqueue("k", 2);
  await until("it works again", () => done.length === 2, 60_000);

  const count = (event: string): number => lines.filter((line) => line.event === event).length;
  expect(lines.map((line) => line.event)).not.toContain("database:retried");
  expect(lines.map((line) => line.event)).not.toContain("activity:failed");
  expect(count("database:lost")).toBe(1);
  expect(count("database:regained")).toBe(1);
  expect(lines.find((line) => line.event === "database:regained")?.message).toMatch(
    /after \d.* s.*\d+ retries/,
  );
  for (const event of new Set(lines.map((line) => line.event)))
    expect(count(event), event).toBeLessThanOrEqual(2);
}, 200_000);
