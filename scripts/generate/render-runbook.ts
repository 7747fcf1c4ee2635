import type { ParsedRunbookQuery } from "./parse-runbook.js";
import { HEADER, templateLiteral } from "./render.js";

export function renderRunbook(queries: readonly ParsedRunbookQuery[]): string {
  return [
    HEADER,
    'import type { RunbookEntry } from "./runbook-entry.js";',
    "",
    "/** The support queries of sql/runbook, in the order in which docs/runbook.md has them. */",
    "export const runbook: readonly RunbookEntry[] = [",
    ...queries.map(renderEntry),
    "];",
    "",
    "/** The same as one statement each, for the driver. */",
    "export const runbookTexts: Readonly<Record<string, string>> = {",
    ...queries.map(({ name, text }) => `  ${JSON.stringify(name)}: ${templateLiteral(text)},`),
    "};",
    "",
  ].join("\n");
}

function renderEntry(query: ParsedRunbookQuery): string {
  const { name, title, when, read, next, index, parameters, columns, sql } = query;
  const plain = { name, title, when, read, next, index, parameters, columns };
  const fields = Object.entries(plain).map(([field, value]) => `    ${field}: ${JSON.stringify(value)},`);
  return ["  {", ...fields, `    sql: ${templateLiteral(sql)},`, "  },"].join("\n");
}

const MARK = "<!-- From here on generated from sql/runbook: run npm run generate. -->";

/** The page with everything below its mark written anew, so that the page and the queries can't differ. */
export function renderRunbookPage(page: string, queries: readonly ParsedRunbookQuery[]): string {
  const end = page.indexOf(MARK);
  if (end === -1)
    throw new Error(`docs/runbook.md: the line "${MARK}" is missing, put it where the queries begin`);
  return `${page.slice(0, end)}${MARK}\n\n${queries.map(renderSection).join("\n")}`;
}

/** How to run it, by name and in psql. A value stands in the text that psql gets, so the command line writes it there. */
function commands({ name, file, parameters, sql }: ParsedRunbookQuery): readonly string[] {
  const queue = /\binbox/.test(sql) ? " --queue inbox" : "";
  const values = parameters.map(({ name: value, example }) => ` --set ${value}=${example}`).join("");
  const run = `leasehold runbook ${name}${queue}${values}`;
  const psql = 'psql "$DATABASE_URL"';
  return parameters.length === 0
    ? [run, `${psql} -f node_modules/leasehold/sql/runbook/${file}`]
    : [run, `${run} --sql | ${psql}`];
}

function renderSection(query: ParsedRunbookQuery): string {
  const parameters = query.parameters.map(({ name, meaning }) => `- \`${name}\` (you give it): ${meaning}`);
  return [
    `### ${query.name}`,
    "",
    `**${query.title}.** ${query.when}`,
    "",
    "```sh",
    ...commands(query),
    "```",
    "",
    "```sql",
    query.sql,
    "```",
    "",
    `**How to read it.** ${query.read}`,
    "",
    ...parameters,
    ...query.columns.map(({ name, meaning }) => `- \`${name}\`: ${meaning}`),
    "",
    `**What next.** ${query.next}`,
    "",
    `Served by: ${query.index}`,
    "",
  ].join("\n");
}
