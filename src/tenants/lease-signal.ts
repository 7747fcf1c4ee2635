const nativeAborted = Object.getOwnPropertyDescriptor(AbortSignal.prototype, "aborted")?.get;

/**
 * The signal of a controller, whose `aborted` asks whether the lease is still sure whenever it is read. A process that was frozen runs whatever was due first, and that may
 * be a tenant's timer before ours: its look at the signal must tell the truth all the same. `onUnsure` aborts the controller.
 */
export function leaseSignal(
  controller: AbortController,
  isSure: () => boolean,
  onUnsure: () => void,
): AbortSignal {
  const { signal } = controller;
  const isAborted = (): boolean => nativeAborted?.call(signal) === true;
  return Object.defineProperties(signal, {
    aborted: {
      get: () => {
        if (!isAborted() && !isSure()) onUnsure();
        return isAborted();
      },
    },
    throwIfAborted: {
      value: () => {
        if (signal.aborted) throw signal.reason;
      },
    },
  });
}
