import { type Leasehold, surroundingsOf } from "../leasehold.js";
import { checkLiveness } from "../operate/health.js";

/**
 * Answers the probes of an orchestrator, in any server that speaks fetch: a path that ends in /readyz with 200 while the process can do its work, one that ends in /healthz with 200 while
 * its loops turn, which needs no database; else 503. The body says why, as JSON. Every other path is 404: a probe with a mistyped path must not pass for ever.
 */
export function healthHandler(lh: Leasehold): (request: Request) => Promise<Response> {
  const around = surroundingsOf(lh);
  return async (request) => {
    const [probe] = /\/(?:readyz|healthz)$/.exec(new URL(request.url).pathname) ?? [];
    if (probe === undefined) return new Response("Ask for /healthz or /readyz.\n", { status: 404 });
    if (probe === "/healthz") {
      const liveness = checkLiveness(around);
      return answer(liveness.isLive, liveness);
    }
    const health = await lh.health();
    return answer(health.isReady, health);
  };
}

function answer(isOk: boolean, report: object): Response {
  return new Response(`${JSON.stringify(report)}\n`, {
    status: isOk ? 200 : 503,
    headers: { "content-type": "application/json", "cache-control": "no-store" },
  });
}
