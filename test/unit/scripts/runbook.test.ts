import { describe, expect, it, test } from "vitest";
import { parseRunbook } from "../../../scripts/generate/parse-runbook.js";
import { renderRunbookPage } from "../../../scripts/generate/render-runbook.js";

const header = `-- title: The line
-- when: A key stands still.
-- read: From the head
--   on.
-- parameter key: the partition key
-- column id: the job
-- next: Retry it.
-- index: inbox_line.
`;
const body = `\\set key 'order:1'
select j.id -- a comment with :'key'
from leasehold.inbox j where j.partition_key = :'key' and j.kind <> 'a:''key''' and now() > j.available_at::timestamptz;
`;

const parse = (text: string, path = "sql/runbook/07_line_of_key.sql") => parseRunbook([{ path, text }])[0]!;

describe("a query of the runbook", () => {
  it("has its name from its file, its words from its header, and its text for psql", () => {
    expect(parse(header + body)).toMatchObject({
      name: "line-of-key",
      title: "The line",
      read: "From the head on.",
      columns: [{ name: "id", meaning: "the job" }],
      parameters: [{ name: "key", meaning: "the partition key", example: "order:1" }],
      sql: body.trim(),
    });
  });

  it("becomes one statement with numbered parameters and qualified calls", () => {
    expect(parse(header + body).text).toBe(
      `select j.id\nfrom leasehold.inbox j where j.partition_key = $1::text and j.kind <> 'a:''key''' and pg_catalog.now() > j.available_at::timestamptz`,
    );
  });

  it.each([
    ["without a title", header.replace(/-- title.*\n/, "") + body, "says no title"],
    ["without columns", header.replace(/-- column.*\n/, "") + body, "names no columns"],
    ["with an unknown header", `-- author: me\n${header}${body}`, ':1: "-- author: me" is not a header'],
    ["with a header twice", `-- title: a\n${header}${body}`, "title is given twice"],
    [
      "whose parameter has no example",
      header + body.replace(/\\set.*\n/, ""),
      "parameter key has no example",
    ],
    ["whose parameter is not named", header.replace(/-- parameter.*\n/, "") + body, "is not named by"],
    ["of two statements", `${header}${body}select 1;\n`, "a query is one statement"],
    ["without a semicolon", header + body.replace(";", ""), "a query is one statement"],
  ])("is refused %s", (_case, text, message) => {
    expect(() => parse(text)).toThrow(message);
  });

  it("is refused under a file name without a number", () => {
    expect(() => parse(header + body, "sql/runbook/line.sql")).toThrow("write it as 01_slug.sql");
  });
});

test("the page keeps what a person wrote above the mark, and has every query below it", () => {
  const mark = "<!-- From here on generated from sql/runbook: run npm run generate. -->";
  const page = renderRunbookPage(`# Runbook\n\n${mark}\nstale words\n`, [parse(header + body)]);
  expect(page.startsWith(`# Runbook\n\n${mark}\n\n### line-of-key\n`)).toBe(true);
  expect(page).not.toContain("stale words");
  expect(page).toContain(`\`\`\`sql\n${body.trim()}\n\`\`\``);
  expect(() => renderRunbookPage("# Runbook\n", [])).toThrow("is missing");
});
