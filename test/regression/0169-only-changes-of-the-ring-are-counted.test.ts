import { expect, test } from "vitest";
import { createEvents } from "../../src/events.js";
import { OwnedBuckets } from "../../src/membership/owned-buckets.js";
import type { Roster } from "../../src/membership/roster.js";
import type { QueueSettings } from "../../src/work/queue-settings.js";

/** The worker counts a change of the ring when it has another list of buckets; each look at the registry made one. */
test("a ring that is built again without a change keeps its list of buckets", () => {
  const members = [{ id: "a", region: null, kinds: null }];
  const settings = { name: "inbox", buckets: 8, ring: "rendezvous", vnodes: 128 };
  const events = createEvents();
  let changes = 0;
  events.on("ring:changed", () => changes++);
  const seams = { events, settings: { ...settings, preferRegions: [], excludeRegions: [] } };
  const owned = new OwnedBuckets(
    seams as unknown as { events: typeof events; settings: QueueSettings },
    "a",
    {
      skilledOn: () => members,
    } as unknown as Roster,
  );
  const lists = [owned.current];
  for (let look = 0; look < 3; look++) {
    owned.rebuild();
    lists.push(owned.current);
  }
  expect(new Set(lists).size).toBe(2);
  expect(changes).toBe(1);
  members.push({ id: "b", region: null, kinds: null });
  owned.rebuild();
  expect(lists).not.toContain(owned.current);
  expect(changes).toBe(2);
});
