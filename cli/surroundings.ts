import type { ConnectOptions } from "../src/index.js";
import { type ExitCode, exitCodes } from "./exit-codes.js";
import { utf8 } from "./utf8.js";

/** What the command line touches of the process; tests bring their own. */
export interface Surroundings {
  readonly environment: NodeJS.ProcessEnv;
  readonly version: string;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: {
    readonly isTTY?: boolean | undefined;
    read(): Promise<string>;
    ask(question: string): Promise<string>;
  };
  /** Other options of connect(), for tests. */
  readonly connectOptions?: ConnectOptions;
  /** Also gets what --json would print; for commands that run other command lines. */
  readonly onData?: (data: unknown) => void;
  /** From now on the command goes on when nobody reads what it prints, or when it can't be written. */
  outliveOutput?(): void;
  now(): Date;
  sleep(ms: number): Promise<void>;
  /** Calls back at SIGINT or SIGTERM; returns what ends that. */
  onInterrupt(listener: () => void): () => void;
  /** Calls back when the process is about to end with 0, for what can be said at once; it ends with the code that comes back. */
  onExit?(listener: () => ExitCode): void;
}

export interface Output {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): void;
}

/** Those of the real process. */
export function processSurroundings(version: string): Surroundings {
  const { stdin, stdout, stderr } = process;
  let isBoundToOutput = true;
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (isBoundToOutput) endWithout(error);
  });
  // What can't be told there can't be told anywhere.
  stderr.on("error", () => {});
  return {
    environment: process.env,
    version,
    stdout: outputOf(stdout),
    stderr: outputOf(stderr),
    stdin: {
      isTTY: stdin.isTTY,
      read: async () => {
        const { buffer } = await import("node:stream/consumers");
        return utf8(await buffer(stdin), "The text on stdin");
      },
      ask: async (question) => {
        const { answerTo } = await import("./answer.js");
        // A terminal in this mode sends no signal for Ctrl-C.
        return await answerTo(question, [stdin, stderr], () => process.kill(process.pid, "SIGINT"));
      },
    },
    outliveOutput: () => {
      isBoundToOutput = false;
    },
    now: () => new Date(),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    onInterrupt: (listener) => {
      const signals = ["SIGINT", "SIGTERM"] as const;
      for (const signal of signals) process.once(signal, listener);
      return () => {
        for (const signal of signals) process.off(signal, listener);
      };
    },
    onExit: (listener) =>
      void process.once("exit", (code) => {
        if (code === exitCodes.ok) process.exitCode = listener();
      }),
  };
}

/** A reader that has seen enough, such as head, closes the pipe; that is no failure. A full disk is one. */
function endWithout(error: NodeJS.ErrnoException): never {
  if (error.code === "EPIPE") process.exit(exitCodes.ok);
  process.stderr.write(`error CLI_OUTPUT: The output could not be written to stdout: ${error.message}\n`);
  process.exit(exitCodes.failed);
}

function outputOf(stream: NodeJS.WriteStream): Output {
  return {
    get isTTY() {
      return stream.isTTY;
    },
    get columns() {
      return stream.columns;
    },
    write: (words) => void stream.write(words),
  };
}
