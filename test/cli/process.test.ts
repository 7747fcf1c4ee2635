import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, type TestContext, test } from "vitest";
import { setup } from "../support/world.js";

const main = "build/cli/main.js";

/** The compiled program as a process, with what it has printed so far. */
interface Program {
  readonly child: ChildProcess;
  output(): string;
  /** Resolves when the output matches; the test's own limit ends a wait that never does. */
  printed(pattern: RegExp): Promise<void>;
  readonly ended: Promise<number | string>;
}

function start(
  { onTestFinished }: TestContext,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Program {
  const env = { ...process.env, DATABASE_URL: "", LEASEHOLD_SCHEMA: "", ...environment };
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part: string) => {
      output += part;
    });
  const ended = once(child, "close").then(
    ([status, signal]: (number | string | null)[]) => status ?? signal ?? "",
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  return {
    child,
    output: () => output,
    ended,
    printed: async (pattern) => {
      while (!pattern.test(output)) {
        const more = Promise.race([once(child.stdout, "data"), once(child.stderr, "data")]);
        const isOver = await Promise.race([more.then(() => false), ended.then(() => true)]);
        if (isOver && !pattern.test(output)) throw new Error(`${pattern} was not printed:\n${output}`);
      }
    },
  };
}

test("Ctrl-C ends a watch with 130, and a closed pipe is no failure", async (context) => {
  const world = await setup();
  await world.queue();
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const watched = start(context, [main, "status", "--watch", "0.1", "--json"], environment);
  await watched.printed(/\n.*\n/);
  watched.child.kill("SIGINT");
  expect(await watched.ended).toBe(130);
  const piped = start(context, [main, "completion", "bash"], {});
  piped.child.stdout?.destroy();
  expect(await piped.ended).toBe(0);
});

test("a worker goes on with its job when nobody reads its output any more", async (context) => {
  const world = await setup();
  const queue = await world.queue();
  const folder = await workerFolder(context);
  const gate = join(folder, "gate");
  const text = `import { existsSync } from "node:fs";
    import { setTimeout } from "node:timers/promises";
    export default (lh) => lh.worker("inbox", { hello: async () => {
      process.stdout.write("started\\n");
      while (!existsSync(${JSON.stringify(gate)})) {
        process.stdout.write("more\\n");
        process.stderr.write("more\\n");
        await setTimeout(10);
      }
      process.stdout.write("ends\\n");
    } });`;
  await writeFile(join(folder, "slow.mjs"), text);
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const worker = start(context, [main, "worker", join(folder, "slow.mjs"), "--verbose"], environment);
  const { id } = await queue.enqueue("hello", {});
  await worker.printed(/started/);
  worker.child.stdout?.destroy();
  worker.child.stderr?.destroy();
  worker.child.kill("SIGTERM");
  await writeFile(gate, "");
  expect(await worker.ended).toBe(0);
  expect(await queue.get(id)).toMatchObject({ status: "completed", attempts: 1 });
});

test("an output that can't be written is a failure without a stack, and a closed stderr is none", async (context) => {
  context.skip(!existsSync("/dev/full"), "needs /dev/full");
  const shell = async (line: string): Promise<[number | string, string]> => {
    const program = start(
      context,
      [
        "-e",
        `process.exitCode = require("child_process").spawnSync("bash", ["-c", ${JSON.stringify(line)}], { stdio: "inherit" }).status`,
      ],
      { NODE: process.execPath },
    );
    return [await program.ended, program.output()];
  };
  const [full, noWords] = await Promise.all([
    shell(`"$NODE" ${main} completion bash > /dev/full`),
    shell(`"$NODE" ${main} nosuch 2> /dev/full`),
  ]);
  expect(full).toEqual([1, expect.stringMatching(/^error CLI_OUTPUT: .*ENOSPC.*\n$/)]);
  expect(noWords).toEqual([2, ""]);
  const unread = start(context, [main, "nosuch"], {});
  unread.child.stderr?.destroy();
  expect(await unread.ended).toBe(2);
});

test("a worker file is run, and drains on SIGTERM", async (context) => {
  const world = await setup();
  const queue = await world.queue();
  const folder = await workerFolder(context);
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const byExports = start(
    context,
    [main, "worker", join(folder, "worker.mjs"), "--id", "web-1"],
    environment,
  );
  await queue.enqueue("hello", { name: "world" });
  await byExports.printed(/hello world/);
  byExports.child.kill("SIGTERM");
  expect(await byExports.ended, byExports.output()).toBe(0);
  expect(await queue.stats()).toMatchObject({ pending: 0, processing: 0 });
  const byFunction = start(context, [main, "worker", join(folder, "function.mjs"), "--json"], environment);
  await byFunction.printed(/"event":"worker:started"/);
  for (const line of byFunction.output().trim().split("\n"))
    expect(JSON.parse(line)).toHaveProperty("message");
  byFunction.child.kill("SIGINT");
  expect(await byFunction.ended, byFunction.output()).toBe(0);
});

test("a worker file that is missing, broken or empty says so", async (context) => {
  const world = await setup();
  const folder = await workerFolder(context);
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const run = async (file: string): Promise<[number | string, string]> => {
    const program = start(context, [main, "worker", join(folder, file)], environment);
    return [await program.ended, program.output()];
  };
  await writeFile(join(folder, "syntax.mjs"), "const a = ;\n");
  const [missing, broken, syntax, empty, unknown] = await Promise.all(
    ["none.mjs", "broken.mjs", "syntax.mjs", "empty.mjs", "worker.mjs"].map(run),
  );
  expect(missing).toEqual([3, expect.stringContaining("error CLI_NOT_FOUND: There is no file")]);
  expect(broken).toEqual([
    1,
    expect.stringMatching(/error CLI_WORKER_FILE: .*no settings today.*broken\.mjs:1/),
  ]);
  expect(syntax).toEqual([
    1,
    expect.stringMatching(
      /can't be loaded: Unexpected token ';'\nadvice: See the line: node --check .*syntax\.mjs/,
    ),
  ]);
  expect(empty).toEqual([
    2,
    expect.stringContaining("exports neither a default function nor queue and handlers"),
  ]);
  expect(unknown).toEqual([3, expect.stringContaining("error LH_UNKNOWN_QUEUE")]);
});

test("an ES module that Node takes for CommonJS is named, with what to do", async (context) => {
  const world = await setup();
  const folder = await workerFolder(context);
  await writeFile(join(folder, "package.json"), '{"type": "commonjs"}');
  await writeFile(join(folder, "greeter.js"), workerText("hello"));
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const program = start(context, [main, "worker", join(folder, "greeter.js")], environment);
  expect(await program.ended).toBe(1);
  expect(program.output()).toMatch(/error CLI_WORKER_FILE: Node loads the file \S*greeter\.js as CommonJS/);
  expect(program.output()).toContain('rename it to greeter.mjs, or set "type": "module"');
});

test("dev says what it waits for when the worker does not start, and starts it after a change", async (context) => {
  const world = await setup();
  await world.queue();
  const folder = await workerFolder(context);
  const file = join(folder, "broken.mjs");
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const dev = start(context, [main, "dev", file, "--queue", "inbox"], environment);
  await dev.printed(
    /enqueue inbox hello[\s\S]*Change the file, and leasehold dev starts it again[\s\S]*no settings/,
  );
  await dev.printed(/Failed running/);
  await writeFile(file, workerText("hello"));
  await dev.printed(/works on inbox/);
  dev.child.kill("SIGINT");
  expect(await dev.ended, dev.output()).toBe(0);
});

test("dev starts a server, runs the worker, starts it again after a change, and stops everything", async (context) => {
  const folder = await workerFolder(context);
  const file = join(folder, "worker.mjs");
  const dev = start(context, [main, "dev", file, "--queue", "inbox", "--data", join(folder, "postgres")], {});
  await dev.printed(/works on inbox/);
  const [, url = ""] = /DATABASE_URL=(\S+)/.exec(dev.output()) ?? [];
  const enqueue = async (): Promise<void> => {
    const program = start(context, [main, "enqueue", "inbox", "hello", '{"name": "world"}'], {
      DATABASE_URL: url,
    });
    expect(await program.ended, program.output()).toBe(0);
  };
  await enqueue();
  await dev.printed(/hello world/);
  await writeFile(file, workerText("bonjour"));
  await dev.printed(/has left inbox[\s\S]*works on inbox/);
  await enqueue();
  await dev.printed(/bonjour world/);
  dev.child.kill("SIGINT");
  expect(await dev.ended, dev.output()).toBe(0);
  expect(dev.output()).toMatch(/has left inbox[\s\S]*has left inbox[\s\S]*Stopped\./);
});

function workerText(greeting: string): string {
  return `export const queue = "inbox";\nexport const handlers = { hello: (job) => console.log("${greeting}", job.payload.name) };\n`;
}

async function workerFolder({ onTestFinished }: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-cli-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  await writeFile(join(folder, "worker.mjs"), workerText("hello"));
  await writeFile(
    join(folder, "function.mjs"),
    `export default (lh) => [lh.worker("inbox", { hello() {} })];\n`,
  );
  await writeFile(join(folder, "broken.mjs"), `throw new Error("no settings today");\n`);
  await writeFile(join(folder, "empty.mjs"), "export {};\n");
  return folder;
}
