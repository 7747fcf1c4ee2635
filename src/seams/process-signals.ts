/** What a process is told from outside. */
export interface ProcessSignals {
  /** Calls back at SIGTERM and SIGINT, each time; returns what ends that. */
  onStop(listener: (signal: string) => void): () => void;
  exit(code: number): void;
}
