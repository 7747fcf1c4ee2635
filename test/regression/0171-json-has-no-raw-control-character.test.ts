import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadWorkers } from "../../cli/worker-file.js";
import { leasehold } from "../cli/in-process.js";
import { setup } from "../support/world.js";

/** JSON escapes C0 alone. These begin sequences of a terminal too (C1), delete, or turn the direction of what follows. */
const evil = "\u007f\u009b2J\u0085\u061c\u200e\u2028\u202e\u2066end\n";
const raw = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

test("no command prints a control character with --json, and the data stay equal", async () => {
  const world = await setup();
  const queue = await world.queue();
  const { id } = await queue.enqueue(`mail${evil}`, { evil, [evil]: 1 });
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const job = await leasehold(["jobs", "get", "inbox", id, "--json"], { environment });
  expect(job.stdout).not.toMatch(raw);
  expect(job.stdout).toContain("\n  ");
  expect(JSON.parse(job.stdout)).toMatchObject({ kind: `mail${evil}`, payload: { evil, [evil]: 1 } });
  const isEnough = (): boolean => true;
  const list = ["jobs", "list", "inbox", "--json"];
  const watched = await leasehold([...list, "--watch"], { environment, isEnough });
  expect(watched.stdout).not.toMatch(raw);
  expect(JSON.parse(watched.stdout)).toMatchObject({ jobs: [{ kind: `mail${evil}` }] });
  const failed = await leasehold(["queues", "show", `x${evil}`, "--json"], { environment });
  expect(failed.stderr).not.toMatch(raw);
  expect(JSON.parse(failed.stderr)).toMatchObject({ error: { exitCode: 3 } });
});

test("no line of worker --json has one", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-cli-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "worker.mjs");
  await writeFile(file, "export default () => ({ state: 'new', start() {}, stop() {} });");
  const lines: string[] = [];
  const context = {
    isJson: true,
    say: (line: string) => lines.push(line),
    connect: ({ logger }: { logger: { error(fields: object, message: string): void } }) => {
      logger.error({}, `failed: ${evil}`);
      return Promise.resolve({});
    },
  };
  await loadWorkers(context as never, file, {});
  expect(lines.join("\n")).not.toMatch(raw);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ message: `failed: ${evil}` });
});
