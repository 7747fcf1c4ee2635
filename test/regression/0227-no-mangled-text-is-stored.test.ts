import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { leasehold, type Ran } from "../cli/in-process.js";
import { setup } from "../support/world.js";

/** Bytes that are no UTF-8 became U+FFFD on their way into a payload or a key, and were stored so. */

const nowhere = { DATABASE_URL: "postgres://postgres@127.0.0.1:1/none" };
const latin1 = Buffer.from('{"name": "caf\u00e9"}', "latin1");

async function refused(...words: string[]): Promise<Ran> {
  const ran = await leasehold(["enqueue", "inbox", ...words], { environment: nowhere });
  expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
  return ran;
}

test("a payload file that is not UTF-8 is refused before anything is sent", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-cli-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "latin1.json");
  await writeFile(file, latin1);
  const { stderr } = await refused("mail", "--file", file);
  expect(stderr).toBe(
    `error CLI_USAGE: The file ${file} is not UTF-8: The encoded data was not valid for encoding utf-8\nadvice: Convert it: iconv -f latin1 -t utf-8\n`,
  );
});

test("so is one on stdin", () => {
  const { status, stderr } = spawnSync(
    process.execPath,
    ["build/cli/main.js", "enqueue", "inbox", "mail", "-"],
    {
      input: latin1,
      env: { ...process.env, ...nowhere },
      encoding: "utf8",
    },
  );
  expect([status, stderr]).toEqual([2, expect.stringContaining("The text on stdin is not UTF-8: ")]);
});

test("and what an argument has of such bytes", async () => {
  for (const words of [
    ["mail", '{"name": "caf\ufffd"}'],
    ["mail", "--key", "caf\ufffd"],
    ["mail", "--idempotency-key", "caf\ufffd"],
    ["mail", "--headers", '{"name": "caf\ufffd"}'],
    ["caf\ufffd"],
  ])
    expect((await refused(...words)).stderr).toContain("has bytes that are not UTF-8");
  const reason = await leasehold(["jobs", "discard", "inbox", "--reason", "caf\ufffd"], {
    environment: nowhere,
  });
  expect(reason.exitCode).toBe(2);
});

test("half a surrogate pair and NUL end with 2, and U+FFFD can be asked for", async () => {
  const world = await setup();
  const queue = await world.queue();
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  for (const payload of ['"\\ud800"', '"\\u0000"', '{"\\udc00": 1}'])
    expect(await leasehold(["enqueue", "inbox", "mail", payload], { environment })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("error LH_INVALID_PAYLOAD"),
    });
  expect(await queue.stats()).toMatchObject({ pending: 0 });
  const meant = await leasehold(["enqueue", "inbox", "mail", '"\\ufffd"', "--json"], { environment });
  const { id } = JSON.parse(meant.stdout) as { id: string };
  expect(await queue.get(id)).toMatchObject({ payload: "\ufffd" });
});
