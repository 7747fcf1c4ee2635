import { shortHash } from "./bind.js";
import type { Library, Migration } from "./migration.js";

/** Rights are recorded like a file that comes after all others of its scope. */
export const grantsId = 0;

export function grantsOf(library: Library, scope: Migration["scope"]): Migration {
  return { id: grantsId, name: "grants", scope, order: null, sql: library.grants[scope] };
}

export function filesOf(library: Library, scope: Migration["scope"]): readonly Migration[] {
  return [...library.migrations.filter((file) => file.scope === scope), grantsOf(library, scope)];
}

/** Rights are given again by every revision, whatever else it brings. */
export function checksumOf(library: Library, { id, sql }: Migration): string {
  return shortHash(id === grantsId ? `${library.revision} ${sql}` : sql);
}

export function fileName({ id, name }: Migration): string {
  return id === grantsId ? name : `${String(id).padStart(4, "0")}_${name}`;
}
