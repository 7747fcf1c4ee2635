import { UnknownQueueError } from "../errors.js";

/** Null when the queue was dropped meanwhile: a look at all queues leaves it out. */
export async function unlessDropped<T>(look: Promise<T>): Promise<T | null> {
  try {
    return await look;
  } catch (error) {
    if (error instanceof UnknownQueueError) return null;
    throw error;
  }
}
