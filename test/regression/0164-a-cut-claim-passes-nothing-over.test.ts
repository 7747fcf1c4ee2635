import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** A claim whose limit of bytes left rows told a place behind them as looked through, so the worker took newer rows first. */
test("a claim that was cut by its bytes tells no place behind the rows that it left", async () => {
  const world = await setup();
  await world.queue("inbox", { order: "none", buckets: 1 });
  await world.sql(
    `insert into leasehold.inbox (kind, payload, available_at, created_at)
     select 'own', to_jsonb(repeat('x', 1000)), now() - interval '10 minutes', now() - interval '10 minutes' from generate_series(1, 5)`,
  );
  const claim = async (bytes: number, after: string) => {
    const rows = await world.sql<{ id: string | null; kind: string; partition_key: string }>(
      `select * from leasehold.inbox_claim('w', '{0}', array[$1], 100, 20, 10, 1, 60000, null, null, p_bytes => $2, p_kinds => '{own}')`,
      [after, bytes],
    );
    const ends = rows.filter(({ kind }) => kind === "end").map((row) => row.partition_key);
    return { taken: rows.filter(({ id }) => id !== null).length, end: ends[0] ?? null };
  };
  expect(await claim(2_500, "~")).toEqual({ taken: 2, end: null });
  expect(await claim(1_000_000, "~")).toEqual({ taken: 3, end: expect.any(String) });
  // Without a limit of bytes, as where payloads are read one by one, nothing is cut.
  expect(await claim(0, "~")).toEqual({ taken: 0, end: expect.any(String) });
});
