/**
 * Some tests throw dice for as long as they are given. In CI, and with LEASEHOLD_TEST_LENGTH=long, they run for the full length;
 * otherwise for a tenth or so, which is enough to notice that something broke.
 */
export const isLong: boolean =
  process.env.LEASEHOLD_TEST_LENGTH === "long" ||
  (process.env.CI === "true" && process.env.LEASEHOLD_TEST_LENGTH !== "short");

/** Only with LEASEHOLD_TEST_LENGTH=long: as many kills, freezes and restarts, and as large a backlog, as the figures in the docs come from. */
export const isFull: boolean = process.env.LEASEHOLD_TEST_LENGTH === "long";
