/** When virtual time begins; after any real date, so that a statement which asks the server's own clock is far off and shows. */
export const baseMs: number = Date.UTC(2041, 4, 6, 9);

/** Stands for the server's time in a statement that has not run yet; what it is, is known when it runs. */
export const serverTime: Date = new Date(Date.UTC(2999, 0, 1));

const marker = serverTime.toISOString();

/** The server's time of day, which somebody may set. */
export class ServerClock {
  /** How far it is off. */
  offsetMs = 0;

  /** The values of a statement as it runs at a time of the simulation. */
  valuesAt(values: readonly unknown[], nowMs: number): unknown[] {
    const now = new Date(baseMs + nowMs + this.offsetMs).toISOString();
    return values.map((value) => (typeof value === "string" ? value.replaceAll(marker, now) : value));
  }
}
