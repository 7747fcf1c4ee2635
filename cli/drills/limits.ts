/** How long a drill waits for what has to come, on a machine that may be busy. They are for what hangs: nothing is decided by them but that. */
export const limits = {
  /** Between two looks at a condition. */
  lookMs: 250,
  /** For worker processes to start and enter the registry. */
  workersMs: 120_000,
  /** For the symptom of the incident. */
  symptomMs: 300_000,
  /** For the incident to be over after it was fixed. */
  fixMs: 300_000,
  /** For a session to be gone after it was terminated. */
  sessionMs: 60_000,
  /** For a worker process to drain. */
  drainMs: 60_000,
  /** Before a supervisor starts a process again, and how often it does so. */
  restartPauseMs: 1_000,
  restartsMax: 20,
  /** Between two batches of load. */
  loadTickMs: 500,
  /** Last lines of a worker process that are kept. */
  linesMax: 20,
} as const;
Object.freeze(limits);
