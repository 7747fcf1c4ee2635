import { connect, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { leasehold, type Ran } from "../cli/in-process.js";
import { listenInFrontOf } from "../support/in-front.js";
import { setup } from "../support/world.js";

/** `status --watch` ended with 5 at the first look that the database did not answer, in the night in which it was watched. */

interface Gate {
  readonly url: string;
  /** Ends every connection, and refuses new ones until it is opened. */
  isOpen: boolean;
}

async function gateBefore(databaseUrl: string): Promise<Gate> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isOpen = true;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket
        .on("error", () => {})
        .on("close", () => {
          client.destroy();
          upstream.destroy();
        });
    }
    if (isOpen) client.pipe(upstream).pipe(client);
    else client.destroy();
  });
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  const url = await listenInFrontOf(databaseUrl, server);
  return {
    url,
    get isOpen() {
      return isOpen;
    },
    set isOpen(open: boolean) {
      isOpen = open;
      if (!open) cut();
    },
  };
}

/** Two looks, two of an outage, and two more. */
async function watched(command: readonly string[]): Promise<Ran> {
  const world = await setup();
  await world.queue();
  const gate = await gateBefore(world.url);
  let looks = 0;
  return await leasehold([...command, "--watch"], {
    environment: { DATABASE_URL: gate.url, LEASEHOLD_SCHEMA: world.schema },
    isEnough: () => {
      looks++;
      gate.isOpen = looks < 2 || looks >= 4;
      return looks >= 6;
    },
  });
}

test.each([["status"], ["jobs list inbox"], ["doctor"]])(
  "%s --watch goes on through an outage, and tells of it once",
  async (line) => {
    const { exitCode, stdout, stderr } = await watched(line.split(" "));
    expect(exitCode).toBe(130);
    expect(stdout.match(/ UTC, every 2 s\n/g)).toHaveLength(4);
    expect(stderr.match(/^error LH_DATABASE_UNAVAILABLE: /gm), stderr).toHaveLength(1);
    expect(stderr).toMatch(/\nTrying again every 2 s\.\nThe database answers again\.\n$/);
  },
);

test("with --json too", async () => {
  const { exitCode, stdout, stderr } = await watched(["status", "--json"]);
  expect(exitCode).toBe(130);
  expect(stdout.trim().split("\n")).toHaveLength(4);
  for (const look of stdout.trim().split("\n")) expect(JSON.parse(look)).toHaveProperty("queues");
  expect(JSON.parse(stderr)).toMatchObject({ error: { code: "LH_DATABASE_UNAVAILABLE", exitCode: 5 } });
});

test("a first look that fails ends with 5, and a job that is gone still ends the watch", async () => {
  const nobody = { DATABASE_URL: "postgres://postgres@127.0.0.1:1/none" };
  const lost = await leasehold(["status", "--watch"], {
    environment: nobody,
    connectOptions: { connectLimitMs: 200 },
  });
  expect(lost).toMatchObject({ exitCode: 5, stdout: "" });
  const world = await setup();
  const { id } = await (await world.queue()).enqueue("mail", {});
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  let looks = 0;
  const ran = leasehold(["jobs", "get", "inbox", id, "--watch"], {
    environment,
    isEnough: () => {
      looks++;
      return looks > 1_000;
    },
  });
  await expect.poll(() => looks).toBeGreaterThan(1);
  await world.sql("delete from leasehold.inbox");
  expect(await ran).toMatchObject({ exitCode: 3 });
});
