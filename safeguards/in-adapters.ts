import type { Safeguard } from "./safeguard.js";

/** Of connections: lost, refused, silent, read-only. */
export const safeguardsInAdapters: readonly Safeguard[] = [
  {
    name: "a lost connection of a pool that was warm does not end the process",
    file: "src/adapters/survive-losses.ts",
    from: '    client.on("error", ignore);',
    to: "",
    caughtBy: { tests: ["test/regression/0024-a-warm-pool-survives-a-lost-connection.test.ts"] },
  },
  {
    name: "a connection in use keeps its listener after close()",
    file: "src/adapters/checkout.ts",
    from: '    client.on("error", ignore);',
    to: "",
    caughtBy: { tests: ["test/regression/0024-a-warm-pool-survives-a-lost-connection.test.ts"] },
  },
  {
    name: "a session has the password that a pool hides",
    file: "src/adapters/pool-options.ts",
    from: "    wayIn.filter((name) => given[name] !== undefined)",
    to: "    wayIn.filter((name) => Object.keys(given).includes(name))",
    caughtBy: { tests: ["test/regression/0025-sessions-and-limits-on-a-users-pool.test.ts"] },
  },
  {
    name: "a connection that leads nowhere is dropped at close()",
    file: "src/adapters/own-pool.ts",
    from: "    this.drop();\n",
    to: "",
    caughtBy: { tests: ["test/regression/0026-nothing-keeps-a-closed-process-alive.test.ts"] },
  },
  {
    name: "connect() ends within its limit",
    file: "src/connect.ts",
    from: "    await Promise.race([work, late]);",
    to: "    await work;",
    caughtBy: { tests: ["test/regression/0027-connect-says-what-is-wrong.test.ts"] },
  },
  {
    name: "a user's statements have no limit of ours",
    file: "src/adapters/node-postgres.ts",
    from: "held.askText(text, values, this.#usersLimitMs);",
    to: "held.askText(text, values, this.#settings.statementTimeoutMs);",
    caughtBy: { tests: ["test/regression/0028-users-statements-have-users-limits.test.ts"] },
  },
  {
    name: "a connection to a read-only server is not kept",
    file: "src/adapters/checkout.ts",
    from: "    this.#client.release(this.#isLost || this.#isUnfit);",
    to: "    this.#client.release(this.#isLost);",
    caughtBy: { tests: ["test/regression/0029-read-only-connections-are-replaced.test.ts"] },
  },
  {
    name: "a connection whose session a user changed is not kept",
    file: "src/adapters/checkout.ts",
    from: "      if (!isOwnKind) this.#isUnfit ||= isLastingChange(sent, answer);",
    to: "      if (!isOwnKind) isLastingChange(sent, answer);",
    caughtBy: { tests: ["test/regression/0132-settings-of-a-transaction-end-with-it.test.ts"] },
  },
  {
    name: "our own rows are read with our own parsers",
    file: "src/adapters/checkout.ts",
    from: "this.#client.query<R>({ ...query, types: rowParsers });",
    to: "this.#client.query<R>({ ...query, ...(rowParsers === null ? { types: rowParsers } : {}) });",
    caughtBy: { tests: ["test/regression/0130-type-parsers-of-the-application.test.ts"] },
  },
];
