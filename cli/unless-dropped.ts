/** Null when the queue was dropped meanwhile: a look at all queues leaves it out. */
export async function unlessDropped<T>(look: Promise<T>): Promise<T | null> {
  try {
    return await look;
  } catch (error) {
    if (isUnknownQueue(error)) return null;
    throw error;
  }
}

/** By its code: the class would load the library. */
export function isUnknownQueue(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "LH_UNKNOWN_QUEUE";
}
