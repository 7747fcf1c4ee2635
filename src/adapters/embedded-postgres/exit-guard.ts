import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { isProcessAlive } from "./live-server.js";

/**
 * Sees to it that a server does not outlive this process, however the process ends: by returning, by an uncaught
 * exception, by a signal, by SIGKILL.
 *
 * A small shell waits on a pipe whose other end only we hold. When we end, the system closes it; the shell then stops
 * the server and takes the throw-away folder away. No signal handler is installed, so the application's own signal
 * handling is as it was. Windows has no such shell: there the `exit` event does the same, which a hard kill skips, and
 * the next start tidies up (see abandoned-folders.ts).
 */
export interface ExitGuard {
  /** Names the process to stop when we end; undefined when there is none at the moment. */
  follow(pid: number | undefined): void;
  /** Ends the guarding without touching anything. */
  dismiss(): void;
}

/** Starts guarding. `throwAwayFolder` is removed after the server has ended; a kept folder is left undefined. */
export function guardExit(throwAwayFolder?: string): ExitGuard {
  return process.platform === "win32" ? guardByEvent(throwAwayFolder) : guardByShell(throwAwayFolder);
}

/**
 * Each line read is the process to stop, or empty. At the end of input the last one counts. A throw-away server is
 * stopped at once (QUIT); a kept one in good order (INT), so that its next start needs no recovery. The server's last
 * act is to remove its postmaster.pid; where nobody reaps ended processes, as in many containers, only that tells.
 */
const SHELL_GUARD = `
pid=
while read -r line; do
  if [ "$line" = dismissed ]; then exit 0; fi
  pid=$line
done
if [ -n "$pid" ]; then
  kill -s "$1" "$pid"
fi
if [ -n "$2" ]; then
  tries=0
  while [ -e "$2/data/postmaster.pid" ] && kill -0 "$pid" && [ "$tries" -lt 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  rm -rf -- "$2" || { sleep 1; rm -rf -- "$2"; }
fi
`;

function guardByShell(throwAwayFolder?: string): ExitGuard {
  const signal = throwAwayFolder === undefined ? "INT" : "QUIT";
  const shell = spawn("/bin/sh", ["-c", SHELL_GUARD, "leasehold-exit-guard", signal, throwAwayFolder ?? ""], {
    cwd: "/",
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  // A guard that cannot start or was killed leaves its work to the next start; the server itself is none the worse.
  shell.on("error", () => undefined);
  shell.stdin.on("error", () => undefined);
  // Neither the shell nor the pipe may keep the application from ending.
  shell.unref();
  if ("unref" in shell.stdin && typeof shell.stdin.unref === "function") shell.stdin.unref();
  return {
    follow: (pid) => void shell.stdin.write(`${pid ?? ""}\n`),
    dismiss: () => void shell.stdin.end("dismissed\n"),
  };
}

function guardByEvent(throwAwayFolder?: string): ExitGuard {
  let followed: number | undefined;
  const atExit = (): void => {
    if (followed !== undefined && isProcessAlive(followed)) process.kill(followed);
    if (throwAwayFolder !== undefined) {
      rmSync(throwAwayFolder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    }
  };
  process.on("exit", atExit);
  return {
    follow: (pid) => {
      followed = pid;
    },
    dismiss: () => void process.off("exit", atExit),
  };
}
