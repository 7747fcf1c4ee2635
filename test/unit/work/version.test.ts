import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { version } from "../../../src/settings.js";

test("the version told to the registry is the one of the package", () => {
  const { version: packaged } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  expect(version).toBe(packaged);
});
