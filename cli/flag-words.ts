import type { Failure } from "./failure.js";
import { optionKey } from "./option-key.js";
import { globalOptionsOf, optionsOf, type Parsed } from "./program.js";

/** Which flags stand for an option of the library; of several, the one that the command has. */
const flagsOf: Readonly<Record<string, readonly string[]>> = Object.freeze({
  partitionKey: ["--key"],
  idempotencyKey: ["--idempotency-key"],
  delayMs: ["--delay"],
  availableAt: ["--at"],
  olderThanMs: ["--older"],
  newerThanMs: ["--newer"],
  workerId: ["--worker", "--id"],
  retentionMs: ["--retention"],
  deadLetterRetentionMs: ["--dead-letter-retention"],
  dedupeWindowMs: ["--dedupe-window"],
  preferRegions: ["--prefer-region"],
  excludeRegions: ["--exclude-region"],
  maxAttempts: ["--max-attempts"],
  maxCrashes: ["--max-crashes"],
  onDeadLetter: ["--on-dead-letter"],
  DATABASE_URL: ["--url"],
  replicaUrl: ["--replica-url"],
});
const of = "The option ";
const must = "; it must be ";

/** A refusal that names an option of the library names the flag instead, if the user gave that flag: a worker file has options of its own. */
export function inFlags(failure: Failure, error: unknown, parsed: Parsed): Failure {
  const { code, message } = failure;
  const at = message.lastIndexOf(must);
  if (code !== "LH_INVALID_OPTION" || at < 0 || !message.startsWith(of)) return failure;
  const option = error instanceof Error && "option" in error ? String(error.option) : "";
  if (!message.startsWith(`${of}${option} is `)) return failure;
  // The name of the person is added to the URL by the context.
  const value = message
    .slice(of.length + option.length, at)
    .replace(/[?&]application_name=leasehold%20cli[^"&]*/, "");
  const rest = message
    .slice(at + must.length)
    .replaceAll(/\b[a-z]+[A-Z]\w*/g, (word) => flagFor(word, parsed) ?? word);
  if (option === "id" || option === "ids") return { ...failure, message: `The id${value}${must}${rest}` };
  // The context takes the URL from there when the flag is not given.
  const flag = flagFor(option, parsed) ?? (option === "url" ? "DATABASE_URL" : null);
  if (flag === null) return failure;
  const unit = option.endsWith("Ms") ? " in ms" : "";
  return { ...failure, message: `${flag}${unit}${value}${must}${rest}` };
}

/** `kinds.mail.maxAttempts` is `--kinds`, at `mail.maxAttempts`. Null where there is no such flag, or it was not given. */
function flagFor(option: string, { spec, options }: Parsed): string | null {
  const [head = "", ...path] = option.split(".");
  const names = flagsOf[head] ?? [`--${head}`];
  const known = [...optionsOf(spec), ...globalOptionsOf()].map(({ flags }) => flags.replace(/[ [].*/, ""));
  const flag = names.find((name) => known.includes(name) && options[optionKey(name)] !== undefined);
  if (flag === undefined) return null;
  return path.length === 0 ? flag : `${flag}, at ${path.join(".")},`;
}

const schemaPattern = /^[a-z_][a-z0-9_]*$/;

/** Advice to migrate repeats the flags that say where. The URL itself may have a password in it. */
export function withConnection(failure: Failure, { options: { url, schema } }: Parsed): Failure {
  const { advice, code } = failure;
  if (advice === null || !["LH_NOT_MIGRATED", "LH_DATABASE_REFUSED"].includes(code)) return failure;
  const flags = [
    ...(typeof url === "string" ? [" --url <the same URL>"] : []),
    ...(typeof schema === "string" && schemaPattern.test(schema) ? [` --schema ${schema}`] : []),
  ];
  return { ...failure, advice: advice.replaceAll("leasehold migrate", `leasehold migrate${flags.join("")}`) };
}

const call = / (?:Create it with|Call) lh\..*$/s;

/** What the library says to call, the command line says in its advice. */
export function withoutCalls(failure: Failure): Failure {
  const { code, message } = failure;
  if (code === "LH_QUEUE_IN_USE")
    return { ...failure, message: message.replace("pass { force: true }", "add --force") };
  if (code !== "LH_UNKNOWN_QUEUE" && code !== "LH_NOT_MIGRATED") return failure;
  return { ...failure, message: message.replace(call, "") };
}
