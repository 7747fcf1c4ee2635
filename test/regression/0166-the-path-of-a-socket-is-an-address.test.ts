import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { leasehold } from "../cli/in-process.js";

test("the CLI asks for the database that stands behind the path of a socket", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-socket-"));
  const asked: string[] = [];
  // Takes the first message of the driver, which names the database, and hangs up.
  const server = createServer((connection) => {
    connection.on("error", () => {});
    connection.once("data", (startup) => {
      asked.push(/database\0([^\0]*)/.exec(startup.toString())?.[1] ?? "");
      connection.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(join(folder, ".s.PGSQL.5432"), resolve));
  onTestFinished(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });
  const environment = { DATABASE_URL: `${folder} shop` };
  const connectOptions = { connectLimitMs: 200 };
  expect((await leasehold(["queues"], { environment, connectOptions })).exitCode).toBe(5);
  expect(new Set(asked)).toEqual(new Set(["shop"]));
});
