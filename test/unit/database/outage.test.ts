import { expect, test } from "vitest";
import { Outage } from "../../../src/database/outage.js";
import { ClosedError, DatabaseRefusedError, DatabaseUnavailableError } from "../../../src/errors.js";
import { createEvents } from "../../../src/events.js";
import type { Clock } from "../../../src/seams/clock.js";
import { defaults } from "../../../src/settings.js";

const away = new DatabaseUnavailableError("claim_jobs", false);
const refused = new DatabaseRefusedError("claim_jobs", "42501", "permission denied");

function make(): { readonly outage: Outage; readonly told: unknown[]; at(ms: number): void } {
  let nowMs = 0;
  const clock = { monotonicMs: () => nowMs } as Clock;
  const events = createEvents();
  const told: unknown[] = [];
  events.on("database:lost", () => told.push("lost"));
  events.on("database:regained", (event) => told.push(event));
  return {
    outage: new Outage({ clock, events }),
    told,
    at: (ms) => {
      nowMs = ms;
    },
  };
}

test("an outage is told once, with its length and its failures when it ends", () => {
  const { outage, told, at } = make();
  at(1_000);
  for (let i = 0; i < 140; i++) outage.note(away);
  expect(told).toEqual(["lost"]);
  at(11_000);
  outage.note(null);
  outage.note(null);
  expect(told).toEqual(["lost", { lostMs: 10_000, retries: 140 }]);
});

test("a broken connection here and there is no outage", () => {
  const { outage, told } = make();
  for (let i = 0; i < 50; i++) {
    for (let j = 1; j < defaults.databaseLostFailures; j++) outage.note(away);
    outage.note(i % 2 === 0 ? null : refused);
  }
  expect(told).toEqual([]);
});

test("an error of our own is no answer of the server", () => {
  const { outage, told } = make();
  for (let i = 0; i < defaults.databaseLostFailures; i++) outage.note(away);
  outage.note(new ClosedError("The connection"));
  expect(told).toEqual(["lost"]);
});
