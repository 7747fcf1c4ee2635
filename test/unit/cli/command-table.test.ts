import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { CommandSpec } from "../../../cli/command.js";
import { commands } from "../../../cli/commands.js";
import { completionScript } from "../../../cli/completion-script.js";
import { endingOf } from "../../../cli/exit-codes.js";
import { importsOf } from "../../../scripts/tidy/imports.js";
import { parseFile } from "../../../scripts/tidy/parse.js";
import { errorTable } from "../../../src/index.js";
import { leasehold } from "../../cli/in-process.js";

const specs = (await Promise.all(commands.map((entry) => entry.load()))).map(({ command }) => command);

interface Named {
  readonly path: readonly string[];
  readonly spec: CommandSpec;
}

function all(spec: CommandSpec, before: readonly string[] = []): readonly Named[] {
  const path = [...before, spec.name];
  return [{ path, spec }, ...(spec.subcommands ?? []).flatMap((sub) => all(sub, path))];
}

const every = specs.flatMap((spec) => all(spec));

describe("every command", () => {
  it.each(every.map(({ path }) => path.join(" ")))(
    "%s has help with an example, within 80 columns",
    async (path) => {
      const { exitCode, stdout } = await leasehold([...path.split(" "), "--help"], { columns: 80 });
      expect(exitCode).toBe(0);
      expect(stdout).toMatch(new RegExp(`Examples:\\n(.*\\n)*.*leasehold ${path}`));
      expect(stdout).toContain("--json");
      for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
    },
  );

  it("has the name and summary of its entry", () => {
    const named = commands.map(({ name, summary }) => [name, summary]);
    expect(specs.map(({ name, summary }) => [name, summary])).toEqual(named);
  });

  it("that asks has --yes, and that is called by `help` prints its help", async () => {
    expect((await leasehold(["queues", "drop", "--help"])).stdout).toContain("--yes");
    expect((await leasehold(["help", "queues", "drop"])).stdout).toContain("leasehold queues drop");
    expect((await leasehold([])).stdout).toContain("Exit codes: 0 ok");
    expect((await leasehold(["--version"])).stdout).toBe("0.0.0\n");
  });
});

describe("what is misused ends with 2 and says what was meant", () => {
  it.each([
    [["statsu"], "unknown command 'statsu'", "Did you mean status?"],
    [["status", "--jsno"], "unknown option '--jsno'", "Did you mean --json?"],
    [["queues", "lsit"], "has no subcommand lsit", "Did you mean list?"],
    [["queues", "frobnicate"], "has no subcommand frobnicate", "There are list, show, create"],
    [["jobs"], "missing required argument 'queue'", "leasehold jobs --help"],
    [["jobs", "gett", "inbox", "x"], "has no subcommand gett", "Did you mean get?"],
    [["enqueue", "inbox"], "missing required argument 'kind'", "leasehold enqueue --help"],
    [
      ["queues", "create", "x", "--order", "kye"],
      "Allowed choices are key, none",
      "leasehold queues create --help",
    ],
    [["jobs", "list", "inbox", "--older", "10"], '"10" is no length of time', "500ms, 30s, 10m"],
    [["status", "--watch", "0"], "--watch 0", null],
    [["completion", "tcsh"], "Allowed choices are bash, zsh, fish", "leasehold completion --help"],
    [["ring", "inbox", "--key", "k", "--add", "w"], "--key answers", "Leave out --add"],
    [["enqueue", "q", "k", "{a"], "is no JSON", "single quotes"],
    [["enqueue", "q", "k", "{}", "--file", "x"], "two payloads", "Give one of them."],
    [["simulate", "--count", "0"], "--count is 0; it must be a whole number from 1", null],
    [["simulate", "--seed", "1", "--from", "2"], "a single seed", "Leave out --from"],
    [["simulate", "--tenants", "--grey", "--edges"], "no queues", "Leave out --grey and --edges"],
    [["simulate", "--minutes", "5"], "length of a run with --tenants", "Add --tenants"],
    [["help", "satus"], "unknown command 'satus'", "Did you mean status?"],
    [["satus", "--help"], "unknown command 'satus'", "Did you mean status?"],
    [["help", "jobs", "gett"], "leasehold jobs has no subcommand gett", "Did you mean get?"],
    [["status"], "not known where the database is", "Set DATABASE_URL"],
  ])("%j", async (argv, message, advice) => {
    const ran = await leasehold(argv);
    expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ran.stderr.split("\n")[0]).toMatch(/^error CLI_USAGE: /);
    expect(ran.stderr).toContain(message);
    if (advice !== null) expect(ran.stderr.split("\n")[1]).toContain(advice);
    const data = JSON.parse((await leasehold([...argv, "--json"])).stderr) as { error: object };
    expect(data).toEqual({
      error: {
        code: "CLI_USAGE",
        message: expect.any(String),
        advice: advice === null ? null : expect.stringContaining(advice),
        exitCode: 2,
      },
    });
  });
});

it("tune recommends settings without a database, in text within 80 columns and as data", async () => {
  const workload = ["tune", "--rate", "200", "--p50", "20ms", "--p99", "200ms"];
  const { exitCode, stdout } = await leasehold([...workload, "--simulate", "5"], {
    environment: { COLUMNS: "80" },
  });
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(
    /^\d+ workers? with \d+ handlers each; [\s\S]*\nheartbeatMs +10 s [\s\S]*lag p99 in ms/,
  );
  expect(stdout).toMatch(/^Predicted: 99 % of the jobs start within \d+ ms\. Target: 1 s, met\.$/m);
  const explained = await leasehold([...workload, "--explain"], { environment: { COLUMNS: "80" } });
  expect(explained.stdout).toContain("heartbeatMs: 10000, heartbeat interval, of connect");
  for (const line of `${stdout}${explained.stdout}`.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  expect(JSON.parse((await leasehold([...workload, "--json"])).stdout)).toMatchObject({
    options: { connect: { heartbeatMs: 10_000 } },
  });
  expect(await leasehold(["tune", "--rate", "200"])).toMatchObject({ exitCode: 2 });
  const wrong = await leasehold(["tune", "--rate", "1", "--p50", "20ms", "--p99", "1ms"]);
  expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("error LH_INVALID_OPTION: ") });
});

it("every error of the library has an exit code", () => {
  expect(errorTable.filter(({ code }) => endingOf(code) === null).map(({ code }) => code)).toEqual([]);
});

it("nothing of the library or the driver is loaded before a command runs", () => {
  const seen = new Set<string>();
  const outside = new Set<string>();
  const follow = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    const text = readFileSync(path, "utf8");
    const file = parseFile({ path, text });
    for (const { specifier, target, isRuntime } of importsOf(file)) {
      const isLazy = !new RegExp(`^(?:import|export) (?!type )[^;]*from "${specifier}"`, "m").test(text);
      if (!isRuntime || isLazy) continue;
      if (target?.startsWith("cli/")) follow(target);
      else outside.add(specifier);
    }
  };
  follow("cli/main.ts");
  expect(seen.size).toBeGreaterThan(5);
  expect([...outside].filter((name) => !name.startsWith("node:"))).toEqual(["commander"]);
});

describe("completion scripts", () => {
  it.each(["bash", "zsh", "fish"] as const)("of %s know every command, subcommand and option", (shell) => {
    const script = completionScript(shell, specs);
    for (const { path, spec } of every) {
      expect(script).toContain(spec.name);
      for (const { flags } of spec.options ?? []) {
        const word = flags.split(" ")[0] ?? "";
        expect(script, path.join(" ")).toContain(shell === "fish" ? `-l ${word.slice(2)}` : word);
      }
    }
  });

  it("of bash complete subcommands and options", () => {
    const script = completionScript("bash", specs);
    const ask = (words: string): readonly string[] => {
      const line = `${script}\nCOMP_WORDS=(${words} ''); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _leasehold; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return execFileSync("bash", ["-c", line], { encoding: "utf8" }).trim().split("\n");
    };
    expect(ask("leasehold")).toEqual(expect.arrayContaining(["status", "queues", "--url"]));
    expect(ask("leasehold queues")).toEqual(expect.arrayContaining(["create", "drop"]));
    expect(ask("leasehold --json queues create inbox")).toEqual(
      expect.arrayContaining(["--order", "--strict"]),
    );
    expect(ask("leasehold completion")).toEqual(expect.arrayContaining(["bash", "zsh", "fish"]));
  });
});
