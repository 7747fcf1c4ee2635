import { InTurn } from "../../src/runtime/in-turn.js";
import type { Query } from "../../src/seams/database.js";
import type { Session, SessionListener, Sessions } from "../../src/seams/session.js";
import { defaults } from "../../src/settings.js";
import type { Notice } from "../engine/engine.js";
import type { ServerSession } from "../engine/server-session.js";
import type { SimProcess } from "./process.js";
import { refused, unavailable } from "./sql-errors.js";

/** The sessions of one simulated process. */
export function simSessions(process: SimProcess): Sessions {
  return {
    async open(listener) {
      const server = await process.call({
        name: "open session",
        timeoutMs: defaults.sessionTimeoutMs,
        execute: () => process.around.engine.openSession(),
        onOrphan: (orphan) => orphan.release(),
        isOther: true,
      });
      const session = new SimSession(process, server, listener);
      process.sessions.add(session);
      return session;
    },
  };
}

/** The server finds out by itself that nobody is there, by the settings of find_channels. */
const keepAliveMs = 25_000;

/** How a session breaks: both sides know, only the client, or only the server. */
export type Break = "both" | "client" | "server";

export class SimSession implements Session {
  readonly announcedPid: number;
  readonly #process: SimProcess;
  readonly #server: ServerSession;
  readonly #listener: SessionListener;
  readonly #channels = new Set<string>();
  readonly #turn = new InTurn();
  #isOver = false;

  constructor(process: SimProcess, server: ServerSession, listener: SessionListener) {
    this.#process = process;
    this.#server = server;
    this.#listener = listener;
    this.announcedPid = server.pid;
  }

  async run<R>(query: Query<R>): Promise<readonly R[]> {
    const { schedule } = this.#process.around;
    const isWatch = query.name.startsWith("lh_watch_workers");
    const isIdle = (rows: readonly R[]): boolean => isWatch && hasMarkedNobody(rows);
    return await this.#send(query.name, () => this.#server.run(query, schedule.nowMs), isIdle);
  }

  async listen(channel: string): Promise<void> {
    await this.#send("listen", async () => {
      this.#channels.add(channel);
      await this.#process.around.engine.listen(channel);
    });
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#process.sessions.delete(this);
    this.#letGo();
  }

  /** A notification for one of its channels is on its way: it may be lost, late or doubled. */
  hear({ channel, payload }: Notice): void {
    const { dice, link, around } = this.#process;
    if (!this.#channels.has(channel) || this.#server.isOver) return;
    const times = link.noticeTimes(dice);
    for (let n = 0; n < times; n++)
      around.schedule.after(link.latencyMs(), () => {
        if (!this.#isOver && !link.isCut)
          this.#process.deliver(() => {
            if (!this.#isOver) this.#listener.onNotice(channel, payload);
          });
      });
  }

  break(how: Break): void {
    if (how !== "client") this.#letGo();
    if (how !== "server") this.#lose("the connection broke", how === "both");
  }

  onServerGone(): void {
    this.break("both");
  }

  onDeath(): void {
    this.#isOver = true;
    this.#letGo();
  }

  async #send<T>(
    name: string,
    ask: () => Promise<T>,
    isIdle: (answer: T) => boolean = () => false,
  ): Promise<T> {
    return await this.#turn.run(async () => {
      try {
        return await this.#process.call({
          name: `session ${name}`,
          timeoutMs: defaults.sessionTimeoutMs,
          isOther: true,
          isIdle,
          execute: async () => {
            if (this.#server.isOver) throw unavailable(name, true);
            return await ask().catch((error) => Promise.reject(refused(error, name)));
          },
        });
      } catch (error) {
        if (error instanceof Error && error.name === "DatabaseUnavailableError") this.#lose(error.message);
        throw error;
      }
    });
  }

  /** The client drops its socket, which the server hears of, unless nothing comes through. */
  #lose(reason: string, isHeard = true): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#process.sessions.delete(this);
    if (isHeard && !this.#process.link.isCut) this.#letGo();
    else this.#process.around.schedule.after(keepAliveMs, () => this.#server.release());
    this.#process.deliver(() => this.#listener.onLost(reason));
  }

  #letGo(): void {
    this.#process.around.schedule.after(this.#process.link.latencyMs(), () => this.#server.release());
  }
}

/** Most looks of a watcher change nothing that others hear of. */
function hasMarkedNobody(rows: readonly unknown[]): boolean {
  return rows.every((row) => (row as { readonly marked: readonly string[] }).marked.length === 0);
}
