import type pg from "pg";

/** Ends the connection without a goodbye, which a socket into the void would never see answered. */
export function dropConnection(client: pg.ClientBase): void {
  const { stream } =
    (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection ?? {};
  stream?.destroy();
}
