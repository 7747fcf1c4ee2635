import { InvalidOptionError } from "../errors.js";
import { type Logger, type LogLevel, logLevels } from "../log-events.js";
import { jsonText, plainText } from "../plain-text.js";
import { LineLimit } from "../runtime/line-limit.js";
import { defaults } from "../settings.js";

/** How lines on stderr look: an object of JSON each, or text for people. */
export type LogFormat = "json" | "pretty";

/** The logger that was given; lines on stderr when a format or nothing was; null for `logger: false`. */
export function chosenLogger(given: Logger | LogFormat | false | undefined): Logger | null {
  if (given === false) return null;
  if (given === undefined || given === "pretty" || given === "json") {
    const format = given ?? "pretty";
    const logger = ofProcess.get(format) ?? stderrLogger(format);
    ofProcess.set(format, logger);
    return logger;
  }
  if (
    typeof given !== "object" ||
    given === null ||
    logLevels.some((level) => typeof given[level] !== "function")
  )
    throw new InvalidOptionError(
      "logger",
      given,
      'false, "json", "pretty", or an object with debug, info, warn and error',
    );
  return given;
}

/** One of each format for the process, whatever the number of its connections: they have one stderr, and one limit. */
const ofProcess = new Map<LogFormat, Logger>();

function stderrLogger(format: LogFormat): Logger {
  const limit = new LineLimit();
  let timer: NodeJS.Timeout | null = null;
  const print = (level: LogLevel, fields: object, message: string): void => {
    const time = new Date().toISOString();
    // biome-ignore lint/suspicious/noConsole: this is the log of a process that has no other. The console swallows a stderr that is closed.
    console.error(
      format === "json" ? jsonLine(time, level, { fields, message }) : prettyLine(time, level, message),
    );
  };
  const tell = (untilMs: number): void => {
    for (const { name, count } of limit.ended(untilMs)) {
      const message = `${count} more ${name} within ${defaults.logWindowMs / 1_000} s were not printed`;
      print("warn", { event: name, leftOut: count }, message);
    }
  };
  const tellLater = (): void => {
    timer ??= setTimeout(() => {
      timer = null;
      tell(performance.now());
    }, defaults.logWindowMs);
    // A count to be told is no reason for a process to stay.
    timer.unref();
  };
  process.once("exit", () => tell(Number.POSITIVE_INFINITY));
  const limited = (level: LogLevel) => (fields: object, message: string) => {
    const nowMs = performance.now();
    tell(nowMs);
    const name = "event" in fields ? String(fields.event) : level;
    if (limit.admits(name, nowMs)) print(level, fields, message);
    else tellLater();
  };
  /** Who asks for these levels wants every line. */
  const every = (level: LogLevel) => (fields: object, message: string) => print(level, fields, message);
  return { debug: every("debug"), info: every("info"), warn: limited("warn"), error: limited("error") };
}

/** One line for each message, whatever is in it. */
function prettyLine(time: string, level: LogLevel, message: string): string {
  return `${time} leasehold ${level}: ${oneLine(message)}`;
}

function jsonLine(
  time: string,
  level: LogLevel,
  { fields, message }: { readonly fields: object; readonly message: string },
): string {
  const whole = jsonText({ time, level, message: oneLine(message), ...fields });
  // A line that is cut is no JSON; the message has what counts.
  if (whole.length <= defaults.logLineMax * 4) return whole;
  const event = "event" in fields ? { event: fields.event } : {};
  return jsonText({ time, level, message: oneLine(message), ...event });
}

function oneLine(message: string): string {
  return plainText(message).slice(0, defaults.logLineMax);
}
