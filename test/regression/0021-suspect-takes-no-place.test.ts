import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/**
 * Rows that crashed their worker twice come one at a time. While one ran, the next of them used up the place of a retry behind it without being claimed: retries waited
 * for as long as the first one ran, and their worker asked for them without a pause.
 */
test.each(["key", "none"] as const)(
  "a row that may not be claimed takes no place from the retries behind it, with order %s",
  async (order) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order, buckets: 1 });
    for (const key of ["a", "b", "c", "d"]) await inbox.enqueue("k", key, { partitionKey: key });
    await world.sql("update leasehold.inbox set attempts = 2, crashes = 2 where partition_key in ('a', 'b')");
    await world.sql("update leasehold.inbox set attempts = 1, crashes = 1 where partition_key in ('c', 'd')");
    const claimed = await world.sql(
      "select partition_key as key, attempts from leasehold.inbox_claim('w1', array[0], null, 10, 10, 1, 0, 60000, '{}', null) where id is not null",
    );
    expect(claimed).toEqual([{ key: "c", attempts: 2 }]);
    const [suspect] = await world.sql(
      "select partition_key as key, attempts from leasehold.inbox_claim('w1', array[0], null, 10, 10, 1, 1, 60000, '{}', null) where id is not null",
    );
    expect(suspect).toEqual({ key: "a", attempts: 3 });
  },
);
