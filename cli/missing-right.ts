import type { Failure } from "./failure.js";
import type { Parsed } from "./program.js";

const owners = ["migrate", "grant", "create", "change", "drop"];
const operators = ["redrive", "discard", "drain", "evict", "pause", "resume"];

/** Which role of `leasehold grant` may do what a command does; null for what only the owner may. */
function roleFor(command: string): string | null {
  if (owners.includes(command)) return null;
  if (operators.includes(command)) return "operator";
  if (command === "enqueue") return "producer";
  return command === "worker" ? "worker" : "viewer";
}

/** The server says which right is missing, and not who has it. */
export function withRole(
  failure: Failure,
  error: unknown,
  { spec, options }: Parsed,
  environment: NodeJS.ProcessEnv,
): Failure {
  if (!(error instanceof Error && "sqlState" in error && error.sqlState === "42501")) return failure;
  const role = roleFor(spec.name);
  const owner = "the owner of the schema";
  if (role === null) return { ...failure, advice: `Connect with --url or DATABASE_URL as ${owner}.` };
  const schema = textOr(options.schema, environment.LEASEHOLD_SCHEMA) ?? "leasehold";
  const name = `${schema}_${role}`;
  const user = userOf(textOr(options.url, environment.DATABASE_URL)) ?? "<role>";
  const advice = `Connect as a member of ${name}, or let ${owner} run: leasehold grant; then in psql: grant ${name} to ${user};`;
  return { ...failure, advice };
}

function textOr(...given: readonly unknown[]): string | undefined {
  return given.find((one): one is string => typeof one === "string" && one !== "");
}

function userOf(url: string | undefined): string | null {
  if (url === undefined || !URL.canParse(url)) return null;
  const user = decoded(new URL(url).username);
  if (user === "") return null;
  return /^[a-z_][a-z0-9_]*$/.test(user) ? user : `"${user.replaceAll('"', '""')}"`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
