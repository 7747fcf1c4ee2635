import { expect, test } from "vitest";
import { nextRevision, parseRevision, renderRevision } from "../../../scripts/generate/revision.js";

test("the revision rises when the SQL has changed, and only then", () => {
  const first = nextRevision(parseRevision(""), ["a", "b"]);
  expect(first).toMatchObject({ revision: 1, oldest: 1 });
  const read = parseRevision(renderRevision(first));
  expect(read).toEqual(first);
  expect(nextRevision(read, ["a", "b"])).toEqual(first);
  expect(nextRevision(read, ["a", "c"])).toMatchObject({ revision: 2, oldest: 1 });
  expect(nextRevision(read, ["ab"])).toMatchObject({ revision: 2 });
});

test("after a merge the higher numbers of both sides count, and the next is higher than both", () => {
  const merged = [
    "<<<<<<< ours",
    "revision: 7\noldest: 5\nchecksum: aa",
    "=======",
    "revision: 9\noldest: 3\nchecksum: bb",
    ">>>>>>> theirs",
  ].join("\n");
  expect(parseRevision(merged)).toEqual({ revision: 9, oldest: 5, checksum: "" });
  expect(nextRevision(parseRevision(merged), ["a"])).toMatchObject({ revision: 10, oldest: 5 });
});
