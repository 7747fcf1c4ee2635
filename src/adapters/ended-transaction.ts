/** A ROLLBACK that goes back to a savepoint; its answer looks like that of one that ends the transaction. */
const toSavepoint = /\brollback(?:\s+(?:work|transaction))?\s+to\b/gi;

/**
 * The command by which a user's statement has ended the transaction, or null. `answers` are the driver's: one for each statement of the text. A PREPARE may be of a statement or of the transaction; after the latter
 * the connection is in none (`isIdle`).
 */
export function endingCommand(answers: unknown, text: unknown, isIdle: boolean): string | null {
  const list: readonly unknown[] = Array.isArray(answers) ? answers : [answers];
  const commands = list.map(commandOf);
  if (commands.includes("COMMIT")) return "COMMIT";
  if (commands.includes("PREPARE") && isIdle) return "PREPARE TRANSACTION";
  const rollbacks = commands.filter((command) => command === "ROLLBACK").length;
  if (rollbacks === 0) return null;
  const harmless = typeof text === "string" ? [...text.matchAll(toSavepoint)].length : 0;
  return isIdle || rollbacks > harmless ? "ROLLBACK" : null;
}

function commandOf(answer: unknown): unknown {
  return typeof answer === "object" && answer !== null && "command" in answer ? answer.command : null;
}
