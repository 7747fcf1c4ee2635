import { camelCase, parameterType } from "./sql-types.js";
import { errorAtLine, errorAtOffset, type StatementBlock } from "./statement-blocks.js";
import { headerItems, type TypedName } from "./statement-header.js";

const PARAMETER =
  /(?<![:\w]):([a-z_][a-z0-9_]*)(?:\s*::\s*(double\s+precision|[a-z_][a-z0-9_]*)((?:\s*\[\s*\])*))?/g;

/** Replaces `:name` by `$n` in order of first appearance, and notes the first cast of each name in `casts`. */
export function numberParameters(
  block: StatementBlock,
  code: { readonly text: string; readonly start: number },
  casts: Map<string, string | null>,
): string {
  const numbered = /(?<!\w)\$\d/.exec(code.text);
  if (numbered !== null) {
    throw errorAtOffset(block, code.start + numbered.index, "numbered parameter, write :name with a cast");
  }
  let output = "";
  let copiedTo = 0;
  for (const match of code.text.matchAll(PARAMETER)) {
    const [, name = "", base, brackets = ""] = match;
    const cast = base === undefined ? null : base.replace(/\s+/g, " ") + brackets.replace(/\s+/g, "");
    if (cast !== null && parameterType(cast) === null) {
      const message = `parameter :${name} is cast to ${cast}, a type without a TypeScript type`;
      throw errorAtOffset(block, code.start + match.index, message);
    }
    casts.set(name, casts.get(name) ?? cast);
    output += `${code.text.slice(copiedTo, match.index)}$${[...casts.keys()].indexOf(name) + 1}`;
    copiedTo = match.index + 1 + name.length;
  }
  return output + code.text.slice(copiedTo);
}

export function typedParameters(
  block: StatementBlock,
  casts: ReadonlyMap<string, string | null>,
): readonly TypedName[] {
  const nullable = headerItems(block, "nullable");
  const stray = nullable.find((item) => !casts.has(item.text));
  if (stray !== undefined) {
    throw errorAtLine(block, stray.line, `nullable names ${stray.text}, which is not a parameter, remove it`);
  }
  return [...casts].map(([name, cast]) => {
    if (cast === null) {
      throw errorAtLine(block, block.line, `uses :${name} without a cast, write :${name}::type once`);
    }
    const type = parameterType(cast) ?? "never";
    const isNullable = nullable.some((item) => item.text === name);
    return { name: camelCase(name), type: isNullable ? `${type} | null` : type };
  });
}
