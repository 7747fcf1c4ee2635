import pg from "pg";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startPostgres } from "../../src/embedded.js";
import {
  type ConnectOptions,
  connect,
  type DatabaseUnavailableError,
  defaults,
  type Logger,
} from "../../src/index.js";
import { blackHoleProxy } from "../support/black-hole-proxy.js";
import { setup } from "../support/world.js";
import { until } from "../worker/worker-world.js";

/** What connect() throws, and the lines about tries that it repeated. */
async function refusal(
  options: ConnectOptions,
): Promise<{ error: Error & { code?: string }; retried: string[] }> {
  const retried: string[] = [];
  const line = (fields: object): void => {
    if ("event" in fields && fields.event === "database:retried") retried.push(JSON.stringify(fields));
  };
  const logger = { debug: line, info: line, warn: line, error: line } as Logger;
  const error = await connect({ logger, ...options }).then(
    (lh) => lh.close().then(() => new Error("it connected")),
    (thrown: Error) => thrown,
  );
  return { error, retried };
}

describe("an address that can't be one", () => {
  test.each([
    "localhost:5432/shop",
    "postgres//user:secret@localhost/shop",
    "http://user:secret@localhost/shop",
    "user:secret@localhost/shop",
    "postgres://user:sec#ret@localhost/shop",
    "postgres://user:secret@localhost:54x32/shop",
    "postgres://user:secret@localhost/shop?sslcert=/nowhere/client.crt",
    "  ",
  ])("%s is refused before anything is sent, without its password", async (url) => {
    for (const options of [{ url }, { url: "postgres://localhost/shop", directUrl: url }]) {
      const { error, retried } = await refusal(options);
      const option = "directUrl" in options ? "directUrl" : "url";
      expect({ code: error.code, option: (error as { option?: string }).option, retried }).toEqual({
        code: "LH_INVALID_OPTION",
        option,
        retried: [],
      });
      expect(error.message).toMatch(/postgres:\/\//);
      expect(error.message + String((error.cause as Error | undefined)?.stack)).not.toMatch(
        /secret|sec#|ret@/,
      );
    }
  });

  test.each([
    "postgres://user:secret@db-1,db-2/shop",
    "postgres://user:secret@db-1:5432,db-2:5432/shop",
    "postgres://user:secret@/shop?host=db-1,db-2",
  ])("several hosts, as in %s, are refused: the driver would look them up as one name", async (url) => {
    const { error } = await refusal({ url });
    expect(error).toMatchObject({ code: "LH_INVALID_OPTION", option: "url" });
    expect(error.message).toContain("one host");
    expect(error.message).not.toContain("secret");
  });

  test("in DATABASE_URL it is called by that name", async () => {
    const before = process.env.DATABASE_URL;
    process.env.DATABASE_URL = "mysql://localhost/shop";
    onTestFinished(() => {
      if (before === undefined) delete process.env.DATABASE_URL;
      else process.env.DATABASE_URL = before;
    });
    expect((await refusal({})).error).toMatchObject({ code: "LH_INVALID_OPTION", option: "DATABASE_URL" });
  });
});

describe("a login that waiting does not cure", () => {
  let right: string;
  beforeAll(async () => {
    const server = await startPostgres();
    right = server.url;
    return () => server.stop();
  });
  const changed = (change: (url: URL) => void): string => {
    const url = new URL(right);
    change(url);
    return url.href;
  };

  test.each<{ what: string; change: (url: URL) => void; says: RegExp }>([
    {
      what: "no password",
      change: (url) => {
        url.password = "";
      },
      says: /no password was given/,
    },
    {
      what: "a wrong password",
      change: (url) => {
        url.password = "wrong";
      },
      says: /28P01/,
    },
    {
      what: "an unknown role",
      change: (url) => {
        url.username = "nobody_here";
      },
      says: /nobody_here/,
    },
    {
      what: "an unknown database",
      change: (url) => {
        url.pathname = "/nothing_here";
      },
      says: /3D000.*nothing_here/,
    },
    {
      what: "an unknown setting",
      change: (url) => {
        url.searchParams.set("options", "-c no_such=1");
      },
      says: /no_such/,
    },
    {
      what: "TLS where there is none",
      change: (url) => {
        url.searchParams.set("ssl", "true");
      },
      says: /SSL/,
    },
  ])("$what is said at once", async ({ change, says }) => {
    const url = changed(change);
    const { error, retried } = await refusal({ url });
    expect({ code: error.code, retried }).toEqual({ code: "LH_CONNECT_REFUSED", retried: [] });
    expect(error.message).toMatch(says);
    expect(error.message).toContain(new URL(url).host);
    expect(error.message).not.toMatch(/was lost|wrong/);
  });

  test("of a user's pool too", async () => {
    const pool = new pg.Pool({
      connectionString: changed((url) => {
        url.password = "";
      }),
    });
    onTestFinished(() => pool.end());
    const { error, retried } = await refusal({ pool });
    expect({ code: error.code, retried }).toEqual({ code: "LH_CONNECT_REFUSED", retried: [] });
  });
});

describe("a server that accepts and never answers", () => {
  test("is given up after connectLimitMs, and nothing stays open", async () => {
    const world = await setup();
    const proxy = await blackHoleProxy(world.url);
    onTestFinished(() => proxy.close());
    proxy.swallow();
    const { error } = await refusal({ url: proxy.url, connectLimitMs: 300 });
    expect(error).toMatchObject({ code: "LH_DATABASE_UNAVAILABLE", isAmbiguous: false });
    expect(error.message).toMatch(/300 ms/);
    expect((error as DatabaseUnavailableError).message).not.toMatch(/was lost/);
    await until("its connections are closed", () => proxy.held() === 0);
  });

  test("also behind a user's pool without limits", async () => {
    const world = await setup();
    const proxy = await blackHoleProxy(world.url);
    onTestFinished(() => proxy.close());
    proxy.swallow();
    const pool = new pg.Pool({ connectionString: proxy.url });
    expect((await refusal({ pool, connectLimitMs: 300 })).error.message).toMatch(/300 ms/);
  });

  test("also when it falls silent after the login", async () => {
    const world = await setup();
    const proxy = await blackHoleProxy(world.url);
    onTestFinished(() => proxy.close());
    const pool = new pg.Pool({ connectionString: proxy.url });
    const client = await pool.connect();
    client.release();
    proxy.swallow();
    expect((await refusal({ pool, connectLimitMs: 300 })).error.message).toMatch(/300 ms/);
  });

  test("by default after 15 s", () => {
    expect(defaults.connectLimitMs).toBe(15_000);
  });
});
