import type { Node } from "./parse.js";

/** A node on the way down, with the property of its parent that holds it. */
export interface Visit {
  readonly node: Node;
  readonly parent: Node | null;
  readonly key: string;
}

/** Every node below and including `root`, parents first. */
export function* walk(root: Node): Generator<Visit> {
  const pending: Visit[] = [{ node: root, parent: null, key: "" }];
  for (let visit = pending.pop(); visit !== undefined; visit = pending.pop()) {
    yield visit;
    const children: Visit[] = [];
    for (const [key, value] of Object.entries(visit.node)) {
      for (const child of Array.isArray(value) ? value : [value]) {
        if (isNode(child)) children.push({ node: child, parent: visit.node, key });
      }
    }
    pending.push(...children.reverse());
  }
}

export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

/** The name of an identifier, or null. */
export function identifierName(value: unknown): string | null {
  return isNode(value) && value.type === "Identifier" ? String(value.name) : null;
}

/** `["it", "skipIf"]` for `it.skipIf(x).each`, up to the first part that has no name; calls are looked through. */
export function calleePath(value: unknown): readonly string[] {
  if (!isNode(value)) return [];
  if (value.type === "Identifier") return [String(value.name)];
  if (value.type === "CallExpression") return calleePath(value.callee);
  if (value.type === "TaggedTemplateExpression") return calleePath(value.tag);
  if (value.type !== "MemberExpression") return [];
  const property = identifierName(value.property);
  return property === null ? calleePath(value.object) : [...calleePath(value.object), property];
}
