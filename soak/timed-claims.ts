import type pg from "pg";

interface NamedQuery {
  readonly name?: string;
}

/** What the claims of a pool take, from the call to its answer. */
export function timedClaims(pool: pg.Pool): { take(): readonly number[] } {
  let taken: number[] = [];
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const timed = (...args: unknown[]): unknown => {
      const isClaim = (args[0] as NamedQuery | undefined)?.name?.startsWith("lh_claim") === true;
      const answer = query(...args);
      if (!isClaim || !(answer instanceof Promise)) return answer;
      const startedAtMs = performance.now();
      const note = (): void => void taken.push(performance.now() - startedAtMs);
      void answer.then(note, note);
      return answer;
    };
    Object.assign(client, { query: timed });
  });
  return {
    take() {
      const result = taken;
      taken = [];
      return result;
    },
  };
}
