/**
 * Some tests throw dice for as long as they are given. They run for a tenth or so of their length, which is enough to notice that something broke. With LEASEHOLD_TEST_LENGTH=long
 * they run for all of it, as CI does with `npm run test:long`.
 */
const length = process.env.LEASEHOLD_TEST_LENGTH ?? "short";
if (!["short", "long", "full"].includes(length))
  throw new Error(`LEASEHOLD_TEST_LENGTH is ${length}; it can be short, long or full.`);

export const isLong: boolean = length !== "short";

/** As many kills, freezes and restarts, and as large a backlog, as the figures in the docs come from; figures of time are held against their limits. */
export const isFull: boolean = length === "full";
