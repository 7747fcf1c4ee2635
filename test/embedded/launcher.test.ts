import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startPostgres } from "../../src/embedded.js";
import { ask, binariesWithoutLinks, folderForTest, startForTest } from "./server-world.js";

describe("a throw-away server", () => {
  it("starts and answers", async () => {
    const server = await startForTest();
    expect(await ask(server.url, "show server_version")).toContain(server.version);
    expect(await ask(server.url, "show server_encoding")).toBe("UTF8");
    expect(await ask(server.url, "show listen_addresses")).toBe("127.0.0.1");
    expect(await ask(server.url, "show max_connections")).toBe("200");
    expect(await ask(server.url, "show fsync")).toBe("off");
    expect(await ask(server.url, "show data_directory")).toBe(join(server.dataDirectory, "data"));
    expect(server.dataDirectory.startsWith(tmpdir())).toBe(true);
    expect(server.port).toBe(Number(new URL(server.url).port));
  });

  it("lets in nobody without its password, which only its account can read", async () => {
    const server = await startForTest();
    const stranger = new URL(server.url);
    for (const password of ["", "postgres", "0".repeat(stranger.password.length)]) {
      stranger.password = password;
      await expect(ask(stranger.href, "select 1")).rejects.toThrow(/password/);
    }
    const another = await startForTest();
    expect(new URL(another.url).password).not.toBe(new URL(server.url).password);
    const openTo = (name: string): number => statSync(join(server.dataDirectory, name)).mode & 0o077;
    expect([openTo("data"), openTo("data/leasehold-password")]).toEqual([0, 0]);
    expect(await ask(server.url, "select string_agg(distinct auth_method, ',') from pg_hba_file_rules")).toBe(
      "scram-sha-256",
    );
  });

  it("leaves room for another one at the same time", async () => {
    const [first, second] = await Promise.all([startForTest(), startForTest()]);
    expect(first.port).not.toBe(second.port);
    await ask(first.url, "create table only_here ()");
    expect(await ask(second.url, "select to_regclass('only_here') is null")).toBe("true");
  });

  it("takes its folder along when it is stopped, also when it is stopped twice", async () => {
    const server = await startForTest();
    expect(existsSync(server.dataDirectory)).toBe(true);
    await Promise.all([server.stop(), server.stop()]);
    expect(existsSync(server.dataDirectory)).toBe(false);
    await expect(ask(server.url, "select 1")).rejects.toThrow("ECONNREFUSED");
    await expect(server.restart()).rejects.toMatchObject({ code: "LH_EMBEDDED_POSTGRES" });
  });

  it("takes its folder along after it was killed", async () => {
    const server = await startForTest();
    await server.kill();
    await server.stop();
    expect(existsSync(server.dataDirectory)).toBe(false);
  });

  it("is durable and has other settings on demand", async () => {
    const server = await startForTest({
      durable: true,
      settings: { max_connections: "33", work_mem: "7MB" },
    });
    expect(await ask(server.url, "show fsync")).toBe("on");
    expect(await ask(server.url, "show max_connections")).toBe("33");
    expect(await ask(server.url, "show work_mem")).toBe("7MB");
  });

  it("ignores the variables that are meant for another server", async () => {
    process.env.PGDATA = "/nowhere";
    process.env.PGPORT = "1";
    onTestFinished(() => {
      delete process.env.PGDATA;
      delete process.env.PGPORT;
    });
    const server = await startForTest();
    expect(await ask(server.url, "select 1")).toBe("1");
  });
});

describe("a kept folder", () => {
  it("keeps its data over a restart, a kill and a new start", async () => {
    const dataDirectory = join(folderForTest(), "kept");
    const first = await startForTest({ dataDirectory });
    expect(await ask(first.url, "show fsync")).toBe("on");
    await ask(first.url, "create table kept as select 42 as answer");
    const pids = [first.pid];
    await first.restart();
    pids.push(first.pid);
    expect(await ask(first.url, "select answer from kept")).toBe("42");
    await first.kill();
    await expect(ask(first.url, "select 1")).rejects.toThrow();
    await first.restart();
    pids.push(first.pid);
    expect(await ask(first.url, "select answer from kept")).toBe("42");
    expect(new Set(pids).size).toBe(3);
    await first.stop();

    const second = await startForTest({ dataDirectory });
    expect(await ask(second.url, "select answer from kept")).toBe("42");
    expect(second.dataDirectory).toBe(dataDirectory);
  });

  it("starts on the remains of a server that was killed and never cleared away", async () => {
    const dataDirectory = folderForTest();
    const first = await startForTest({ dataDirectory });
    await ask(first.url, "create table kept as select 42 as answer");
    await first.kill();
    expect(existsSync(join(dataDirectory, "data", "postmaster.pid"))).toBe(true);
    const second = await startForTest({ dataDirectory });
    expect(await ask(second.url, "select answer from kept")).toBe("42");
  });

  it("has one server, which a second start joins and leaves running", async () => {
    const dataDirectory = folderForTest();
    const first = await startForTest({ dataDirectory });
    const second = await startForTest({ dataDirectory });
    expect({ pid: second.pid, url: second.url }).toEqual({ pid: first.pid, url: first.url });
    await expect(second.kill()).rejects.toThrow("was started elsewhere");
    await expect(second.restart()).rejects.toThrow("was started elsewhere");
    await second.stop();
    expect(await ask(first.url, "select 1")).toBe("1");
  });

  it("has one server even when several start at once on a new folder", async () => {
    const dataDirectory = folderForTest();
    const servers = await Promise.all([1, 2, 3].map(() => startForTest({ dataDirectory })));
    expect(new Set(servers.map(({ pid }) => pid)).size).toBe(1);
    expect(readdirSync(dataDirectory).filter((name) => name.includes("draft"))).toEqual([]);
  });
});

describe("binaries", () => {
  it("run without the links that an install script makes, and stay as they are", async () => {
    const binariesPackage = binariesWithoutLinks(folderForTest());
    const before = readdirSync(binariesPackage, { recursive: true }).sort();
    const server = await startForTest({ binariesPackage });
    expect(await ask(server.url, "select 'a' < 'B' collate \"C\"")).toBe("false");
    expect(existsSync(join(server.dataDirectory, "lib"))).toBe(true);
    expect(readdirSync(binariesPackage, { recursive: true }).sort()).toEqual(before);
  });

  it("and data run for root from a folder that is closed to others", async (context) => {
    context.skip(process.geteuid?.() !== 0, "only root can read what is closed to the server's account");
    const closed = folderForTest(0o700);
    const binariesPackage = binariesWithoutLinks(closed);
    const lines: string[] = [];
    const options = {
      binariesPackage,
      dataDirectory: join(closed, "kept"),
      log: (line: string) => lines.push(line),
    };
    const first = await startForTest(options);
    onTestFinished(() => rmSync(first.dataDirectory, { recursive: true, force: true }));
    expect(lines.join("\n")).toContain(`the data is kept in ${first.dataDirectory}`);
    await ask(first.url, "create table kept as select 42 as answer");
    await first.stop();
    const second = await startForTest(options);
    expect(await ask(second.url, "select answer from kept")).toBe("42");
  });
});

describe("a start that fails", () => {
  it("names the one command to run when there are no binaries for the machine", async () => {
    const arch = Object.getOwnPropertyDescriptor(process, "arch")!;
    Object.defineProperty(process, "arch", { ...arch, value: "s390" });
    onTestFinished(() => void Object.defineProperty(process, "arch", arch));
    const message = /npm install --save-dev leasehold-dev/;
    await expect(startPostgres()).rejects.toMatchObject({
      code: "LH_EMBEDDED_POSTGRES",
      message: expect.stringMatching(message),
    });
  });

  it("names the folder that holds no binaries", async () => {
    const start = startPostgres({ binariesPackage: "/nowhere" });
    await expect(start).rejects.toThrow("/nowhere is not an installed package");
  });

  it("tells the last words of the server and leaves no folder behind", async () => {
    const before = throwAwayFolders();
    const start = startPostgres({ settings: { shared_buffers: "plenty" } });
    await expect(start).rejects.toThrow('invalid value for parameter "shared_buffers": "plenty"');
    expect(throwAwayFolders()).toEqual(before);
  });

  it("says that a given port is in use", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void holder.close());
    await expect.poll(() => holder.address()).not.toBeNull();
    const address = holder.address();
    const port = typeof address === "object" ? address!.port : 0;
    await expect(startPostgres({ port })).rejects.toThrow("Address already in use");
  });

  it.each(["port", "listen_addresses", "two words"])("refuses the setting %s", async (name) => {
    await expect(startPostgres({ settings: { [name]: "1" } })).rejects.toMatchObject({
      code: "LH_EMBEDDED_POSTGRES",
    });
  });
});

/** Those of this process only: other tests make theirs at the same time. */
function throwAwayFolders(): string[] {
  return readdirSync(tmpdir()).filter(
    (name) => name.startsWith("leasehold-postgres-") && name.includes(`-${process.pid}-`),
  );
}
