import { ReplicaMismatchError } from "../errors.js";

/** Which server a connection has reached. */
export interface ServerIdentity {
  /** The same on a primary and its physical standbys; null where the server does not tell. */
  readonly systemId: string | null;
  readonly databaseId: string;
  /** When the server started: no two servers have it in common. */
  readonly started: string;
  readonly isStandby: boolean;
}

/**
 * Raises an error unless the replica is a standby of the primary's system, or the primary itself, where an address for reads leads when no standby is left, or after a failover. A server that
 * can be written to and is another one is a copy that went its own way, such as a primary from before a failover: its rows are not ours.
 */
export function checkSameSystem(replica: ServerIdentity, primary: ServerIdentity): void {
  const [its, ours] = [replica.systemId, primary.systemId];
  if (its !== null && ours !== null && its !== ours)
    throw new ReplicaMismatchError(`it belongs to the system ${its}, the primary to ${ours}`);
  if (replica.databaseId !== primary.databaseId)
    throw new ReplicaMismatchError("it leads to another database than the primary");
  if (!replica.isStandby && replica.started !== primary.started)
    throw new Error("it is no standby, and it is not the primary");
}
