import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/**
 * Found by the simulation (seeds 7, 8, 18, 49 and 51 of its first version): a process that was frozen and replaced by another of its id, and thawed before its TTL was over, claimed until its
 * next heartbeat. Rows that its successor was running carried its own name under a token it did not know, so it took them for its own and gave them back uncounted; the
 * successor did the same to it.
 */
test.each(["key", "none"] as const)(
  "a process that was replaced by another of its id claims nothing (order %s)",
  async (order) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order });
    await inbox.enqueue("work", 1, { partitionKey: "k" });
    await world.sql("insert into leasehold.workers (id, queues, generation) values ('a', '{inbox}', 2)");
    const everywhere = "array(select generate_series(0, 359))";
    const claim = (generation: string, known: string, retries = 5): Promise<{ id: string | null }[]> =>
      world.sql(
        `select id from leasehold.inbox_claim('a', ${everywhere}, null, 5, 5, ${retries}, 1, 60000, ${known}, null, null, null, null, ${generation}) where id is not null`,
      );
    const [held] = await claim("2", "'{}'");
    expect(held?.id).toBeTypeOf("string");
    await expect(claim("1", "'{}'")).rejects.toMatchObject({
      code: "55000",
      message: expect.stringMatching(/replaced by another process/),
    });
    // Also when it could only give back, and take nothing itself.
    // More than once: the server tells of an error before it rolls back, and until then the refused claim's locks are skipped.
    const refusal = (): Promise<unknown> =>
      claim("1", "'{}'", 0).catch(({ code }: { readonly code: string }) => code);
    await expect.poll(refusal, { timeout: 20_000 }).toBe("55000");
    expect(
      await world.sql(
        "select attempts from leasehold.inbox where status = 'processing' and claimed_by = 'a'",
      ),
    ).toEqual([{ attempts: 1 }]);
    const woken = await world.sql<{ kind: string | null }>(
      `select kind from leasehold.inbox_claim_woken('a', array[leasehold.bucket_of('k', 360)], 5, 5, 60000, null, array[0::bigint], 1)`,
    );
    expect(woken).toEqual([{ kind: "look" }]);
    // Who claims by hand has no generation.
    expect(await claim("null", "null")).toEqual([]);
  },
);
