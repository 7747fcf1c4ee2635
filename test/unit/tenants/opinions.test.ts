import { expect, test } from "vitest";
import { Opinions } from "../../../src/tenants/opinions.js";

test("an opinion is ripe when it has been held for the time, not at first", () => {
  const opinions = new Opinions(100);
  expect(opinions.isRipe("x", "b", 0)).toBe(false);
  expect(opinions.isRipe("x", "b", 99)).toBe(false);
  expect(opinions.isRipe("x", "b", 100)).toBe(true);
  expect(opinions.isRipe("x", "b", 101)).toBe(true);
});

test("another target begins anew, and so does the first one when it comes back", () => {
  const opinions = new Opinions(100);
  opinions.isRipe("x", "b", 0);
  expect(opinions.isRipe("x", "c", 100)).toBe(false);
  expect(opinions.isRipe("x", "b", 150)).toBe(false);
  expect(opinions.isRipe("x", "b", 249)).toBe(false);
  expect(opinions.isRipe("x", "b", 250)).toBe(true);
});

test("what is forgotten begins anew, and tenants do not concern each other", () => {
  const opinions = new Opinions(100);
  opinions.isRipe("x", "b", 0);
  opinions.isRipe("y", "b", 50);
  opinions.forget("x");
  opinions.forget("never seen");
  expect(opinions.isRipe("x", "b", 200)).toBe(false);
  expect(opinions.isRipe("y", "b", 200)).toBe(true);
});
