import type { ProcessSignals } from "../seams/process-signals.js";

const stopSignals = ["SIGTERM", "SIGINT"] as const;

export const systemSignals: ProcessSignals = Object.freeze({
  onStop(listener: (signal: string) => void) {
    for (const signal of stopSignals) process.on(signal, listener);
    return () => {
      for (const signal of stopSignals) process.off(signal, listener);
    };
  },
  exit: (code: number) => process.exit(code),
});
