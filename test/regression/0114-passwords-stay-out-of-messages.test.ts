import { expect, test } from "vitest";
import { acceptRestore, type ConnectOptions, connect, LeaseholdError } from "../../src/index.js";
import { setup } from "../support/world.js";

/** The commonest mistakes with connect() put the password into the message, and so into logs. */

const url = "postgres://bob:hunter2@db/app";

async function refusal(act: () => unknown): Promise<LeaseholdError> {
  try {
    await act();
  } catch (error) {
    if (error instanceof LeaseholdError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

const given = (options: unknown) => () => connect(options as ConnectOptions);

test.each([
  ["a bare URL", given(url), "connect({ url })"],
  ["a bare URL object", given(new URL(url)), "connect({ url })"],
  ["a bare URL for acceptRestore", () => acceptRestore(url as ConnectOptions), "acceptRestore({ url })"],
  ["connectionString", given({ connectionString: url }), "did you mean url?"],
  ["databaseUrl", given({ databaseUrl: url }), "did you mean url?"],
  ["uri", given({ uri: url }), "did you mean url?"],
  ["the options of a client", given({ password: "hunter2", host: "db" }), "did you mean url?"],
  ["a URL for a schema", given({ url, schema: url }), "schema"],
  ["a URL for a worker id", given({ url, workerId: `${url}\u0000` }), "worker id"],
  ["a connection string of words", given({ url: "host=db user=bob password=hunter2" }), "url"],
  ["quoted words", given({ url: "host=db password='hunter2 x' user=bob" }), "url"],
  ["a password with an @", given({ connectionString: "postgres://bob:hun@ter2@db/app" }), "url"],
] as const)("%s is refused without the password, with what to do", async (_name, act, advice) => {
  const error = await refusal(act);
  expect(error.message).not.toMatch(/hunter2|hun@|ter2/);
  expect(error.message).toContain(advice);
  expect(error.code).toMatch(/^LH_INVALID_/);
});

test("names of queues and workers, and keys, are masked too", async () => {
  const { lh } = await setup();
  const inbox = await lh.queue("inbox", { order: "key" });
  for (const act of [
    () => lh.queue(url),
    () => lh.evict(url),
    () => lh.ring(url),
    () => inbox.enqueue("k", 1, { partitionKey: `${url}\u0000` }),
    () => inbox.enqueue("k", 1, { [url]: 1 } as object),
  ])
    expect((await refusal(act)).message).not.toContain("hunter2");
});
