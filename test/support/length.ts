/**
 * Some tests throw dice for as long as they are given. In CI, and with LEASEHOLD_TEST_LENGTH=long, they run for the full length;
 * otherwise for a tenth or so, which is enough to notice that something broke.
 */
export const isLong: boolean =
  process.env.LEASEHOLD_TEST_LENGTH === "long" ||
  (process.env.CI === "true" && process.env.LEASEHOLD_TEST_LENGTH !== "short");
