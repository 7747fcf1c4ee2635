import { run } from "../../cli/run.js";
import type { Surroundings } from "../../cli/surroundings.js";
import type { ConnectOptions } from "../../src/index.js";

/** How a command line is run in this process: as in a pipe, unless a terminal of so many columns is given. */
export interface RunOptions {
  readonly columns?: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Answers to questions, in order; a person is there when it is given. */
  readonly answers?: readonly string[];
  readonly now?: Date;
  readonly connectOptions?: ConnectOptions;
  /** Called before each look after the first with --watch; when it returns true the run is interrupted. */
  readonly isEnough?: (output: string) => boolean;
  /** Called with what was printed on stderr; when it returns true the run is interrupted. */
  readonly isInterrupted?: (errors: string) => boolean;
}

export interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly questions: readonly string[];
}

/** The same code as the program, without the 150 ms that a process costs to start. */
export async function leasehold(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { columns, environment = {}, stdin = "", answers, now, connectOptions, isEnough } = options;
  const { isInterrupted } = options;
  const isTTY = columns !== undefined;
  let stdout = "";
  let stderr = "";
  let interrupt = (): void => {};
  const questions: string[] = [];
  const surroundings: Surroundings = {
    environment,
    version: "0.0.0",
    stdout: {
      isTTY,
      columns,
      write: (text) => {
        stdout += text;
      },
    },
    stderr: {
      isTTY: isTTY || answers !== undefined,
      columns,
      write: (text) => {
        stderr += text;
        if (isInterrupted?.(stderr) === true) interrupt();
      },
    },
    stdin: {
      isTTY: answers !== undefined,
      read: () => Promise.resolve(stdin),
      ask: (question) => {
        questions.push(question);
        return Promise.resolve(answers?.[questions.length - 1] ?? "");
      },
    },
    ...(connectOptions === undefined ? {} : { connectOptions }),
    now: () => now ?? new Date(),
    sleep: async () => {
      if (isEnough === undefined || !isEnough(stdout)) return;
      interrupt();
      await new Promise(() => {});
    },
    onInterrupt: (listener) => {
      interrupt = listener;
      return () => {};
    },
  };
  const exitCode = await run(argv, surroundings);
  return { exitCode, stdout, stderr, questions };
}
