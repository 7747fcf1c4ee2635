import { existsSync, readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { compileLauncher, expectGone, isAlive, startElsewhere } from "./another-process.js";
import { ask, folderForTest, startForTest } from "./server-world.js";

const FOREVER = "setInterval(() => undefined, 1_000);";

beforeAll(compileLauncher);

describe("the server ends with the process that started it", () => {
  it.each([
    {
      how: "an uncaught exception",
      afterwards: "setTimeout(() => { throw new Error('crash'); }, 10);",
      status: 1,
    },
    { how: "having nothing more to do", afterwards: "", status: 0 },
  ])("when it ends by $how", async ({ afterwards, status }) => {
    const { report, end } = await startElsewhere(afterwards);
    expect(await end).toBe(status);
    await expectGone(report);
  });

  it.each(["SIGTERM", "SIGKILL"] as const)("when it is ended by %s", async (signal) => {
    const { child, report, end } = await startElsewhere(FOREVER);
    expect(isAlive(report.pid)).toBe(true);
    child.kill(signal);
    expect(await end).toBe(signal);
    await expectGone(report);
  });

  it("in good order and keeping the data when the folder is a kept one", async () => {
    const dataDirectory = folderForTest();
    const { child, report } = await startElsewhere(FOREVER, { options: JSON.stringify({ dataDirectory }) });
    await ask(report.url, "create table kept as select 42 as answer");
    child.kill("SIGKILL");
    await expect
      .poll(() => existsSync(`${dataDirectory}/data/postmaster.pid`), { timeout: 60_000 })
      .toBe(false);
    const lines: string[] = [];
    const server = await startForTest({ dataDirectory, log: (line) => lines.push(line) });
    expect(await ask(server.url, "select answer from kept")).toBe("42");
    expect(lines.join("\n")).not.toContain("not properly shut down");
  });
});

describe("the application's own signal handling", () => {
  it("stays as it is: Ctrl-C does not reach the server, which serves until the application ends", async () => {
    const afterwards = `
      process.on("SIGINT", async () => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        const { default: pg } = await import("pg");
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        await client.query("select 1");
        await client.end();
        await server.stop();
        process.exit(7);
      });
      ${FOREVER}`;
    const { child, report, end } = await startElsewhere(afterwards);
    // A terminal sends the signal to all processes in the group of the application.
    process.kill(-child.pid!, "SIGINT");
    expect(await end).toBe(7);
    await expectGone(report);
  });
});

describe("what a process left behind", () => {
  it("is cleared away by the next start", async (context) => {
    context.skip(process.platform !== "linux", "the guard is found through /proc");
    const { child, report, end } = await startElsewhere(FOREVER);
    process.kill(guardOf(report.dataDirectory), "SIGKILL");
    child.kill("SIGKILL");
    await end;
    expect(await ask(report.url, "select 1")).toBe("1");
    const lines: string[] = [];
    await startForTest({ log: (line) => lines.push(line) });
    expect(existsSync(report.dataDirectory)).toBe(false);
    await expectGone(report);
    expect(lines.join("\n")).toContain(`removed ${report.dataDirectory}`);
  });

  it("is left alone while the process lives", async () => {
    const { report } = await startElsewhere(FOREVER);
    await startForTest();
    expect(await ask(report.url, "select 1")).toBe("1");
  });
});

describe("without root", () => {
  it("starts, answers and clears away as an ordinary user", async (context) => {
    context.skip(process.geteuid?.() !== 0, "the other tests already run as an ordinary user");
    context.skip(!existsSync("/usr/bin/setpriv"), "setpriv, which changes the user, is not installed");
    const change = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", process.execPath];
    const { child, report, end } = await startElsewhere(FOREVER, { command: change });
    expect(readFileSync(`/proc/${report.pid}/status`, "utf8")).toMatch(/^Uid:\s+65534\s/m);
    expect(await ask(report.url, "select 1")).toBe("1");
    child.kill("SIGTERM");
    await end;
    await expectGone(report);
  });
});

/** The shell that watches over a folder has its path as a parameter. */
function guardOf(folder: string): number {
  const pid = readdirSync("/proc").find((name) => {
    if (!/^\d+$/.test(name) || !existsSync(`/proc/${name}/cmdline`)) return false;
    const parameters = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
    return parameters.includes("leasehold-exit-guard") && parameters.includes(folder);
  });
  return Number(pid);
}
