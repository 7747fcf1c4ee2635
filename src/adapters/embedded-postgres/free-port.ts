import { once } from "node:events";
import { createServer } from "node:net";
import { EmbeddedPostgresError } from "../../errors.js";

/** A port that nobody listens on at this moment. Another process may take it before the server does. */
export async function pickFreePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") {
    throw new EmbeddedPostgresError("The system gave out no free port on 127.0.0.1.");
  }
  return address.port;
}
