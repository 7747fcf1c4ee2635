import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** Asking a revoked proxy for its class throws. */
test("whatever is thrown can be settled: a revoked proxy, a proxy with a hostile prototype", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const hostile = new Proxy(
    {},
    {
      getPrototypeOf: () => {
        throw new Error("x");
      },
    },
  );
  for (const thrown of [proxy, hostile]) {
    await inbox.enqueue("k", 1);
    const [job] = await inbox.claim({ workerId: "w" });
    expect(await inbox.fail(job!, thrown)).toBe(true);
  }
});
