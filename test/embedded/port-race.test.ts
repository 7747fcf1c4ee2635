import { createServer } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { pickFreePort } from "../../src/adapters/embedded-postgres/free-port.js";
import { ask, startForTest } from "./server-world.js";

vi.mock(import("../../src/adapters/embedded-postgres/free-port.js"), { spy: true });

it("a port that is taken between picking and binding is exchanged for another", async () => {
  const port = await pickFreePort();
  const holder = createServer().listen(port, "127.0.0.1");
  onTestFinished(() => void holder.close());
  vi.mocked(pickFreePort).mockResolvedValueOnce(port);
  const server = await startForTest();
  expect(server.port).not.toBe(port);
  expect(await ask(server.url, "select 1")).toBe("1");
});

it("another server on the port is not mistaken for our own", async () => {
  const other = await startForTest();
  vi.mocked(pickFreePort).mockResolvedValueOnce(other.port);
  const server = await startForTest();
  expect(server.port).not.toBe(other.port);
});
