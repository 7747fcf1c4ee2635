import { created } from "./migrations.generated.js";

/** Made by migrate() itself, before the first file. */
const madeFirst = ["migrations", "schema_version"];
const schemaNames: ReadonlySet<string> = new Set([
  ...madeFirst,
  ...created.schema.relations,
  ...created.schema.functions,
]);
/** Days of the archive, and what PostgreSQL names by itself: primary keys, and indexes of partitions. */
const otherEndings = /_(a\d{8}|pkey|idx\d*)$/;

/** Every name that a queue needs for its parts, except for the days of its archive. */
export function derivedNames(queue: string): { readonly relations: string[]; readonly functions: string[] } {
  const named = (endings: readonly string[]) => endings.map((ending) => queue + ending);
  return {
    relations: [queue, ...named(created.queue.relations), `${queue}_pkey`],
    functions: named(created.queue.functions),
  };
}

/** Names that the schema or a part of another queue has, or whose own parts could be those of another queue or of the schema. */
export function isReserved(name: string): boolean {
  if (schemaNames.has(name) || otherEndings.test(name)) return true;
  if (created.queue.relations.some((ending) => name.endsWith(ending) && name !== ending)) return true;
  return [created.queue.relations, created.queue.functions].some((endings) =>
    endings.some((ending) => schemaNames.has(name + ending) || meetsAnother(name, ending, endings)),
  );
}

/** Whether `x_claim_woken`, say, would be a part of a queue `x` and of this queue, `x_claim`. */
function meetsAnother(name: string, ending: string, endings: readonly string[]): boolean {
  return endings.some(
    (other) => other !== ending && other.endsWith(ending) && name.endsWith(other.slice(0, -ending.length)),
  );
}
