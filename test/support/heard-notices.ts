import { inject } from "vitest";
import { nodePostgresSessions } from "../../src/adapters/node-postgres-session.js";
import type { Sessions } from "../../src/seams/session.js";
import { defaults } from "../../src/settings.js";

/** For connect(): real sessions, and the notifications that came over them so far, in order. The worker has each before the test sees it. */
export function hearingSessions(): { readonly sessions: Sessions; readonly notices: readonly string[] } {
  const notices: string[] = [];
  const real = nodePostgresSessions({
    ...defaults,
    connectTimeoutMs: defaults.sessionTimeoutMs,
    config: { connectionString: inject("databaseUrl") },
  });
  const sessions: Sessions = {
    open: (listener) =>
      real.open({
        onLost: (reason) => listener.onLost(reason),
        onNotice: (channel, payload) => {
          listener.onNotice(channel, payload);
          notices.push(payload);
        },
      }),
  };
  return { sessions, notices };
}
