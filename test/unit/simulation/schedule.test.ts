import { expect, test } from "vitest";
import { Dice } from "../../../simulation/dice.js";
import { lasting } from "../../../simulation/engine/recorded.js";
import { Schedule } from "../../../simulation/world/schedule.js";

test("things happen in the order of their times, whatever the order in which they were planned", async () => {
  const schedule = new Schedule(new Dice(1));
  const dice = new Dice(2);
  const happened: number[] = [];
  for (let n = 0; n < 500; n++) {
    const ms = dice.whole(0, 300);
    schedule.after(ms, () => void happened.push(ms));
  }
  const cancelled = schedule.after(5, () => void happened.push(-1));
  cancelled.cancel();
  while (await schedule.step());
  expect(happened).toHaveLength(500);
  expect(happened).toEqual([...happened].sort((a, b) => a - b));
  expect(schedule.nowMs).toBe(happened.at(-1));
});

test("what follows from a thing has followed before the next happens, and time stands still meanwhile", async () => {
  const schedule = new Schedule(new Dice(1));
  const said: string[] = [];
  schedule.after(10, async () => {
    for (let n = 0; n < 20; n++) await Promise.resolve();
    said.push(`first at ${schedule.nowMs}`);
  });
  schedule.after(11, () => void said.push(`second at ${schedule.nowMs}`));
  while (await schedule.step());
  expect(said).toEqual(["first at 10", "second at 11"]);
});

test("dice of a seed repeat, and forks do not touch each other", () => {
  const throwsOf = (dice: Dice): number[] => Array.from({ length: 5 }, () => dice.fraction());
  const [a, b] = [new Dice(7), new Dice(7)];
  throwsOf(a.fork("x"));
  expect(throwsOf(a)).toEqual(throwsOf(b));
  expect(throwsOf(new Dice(7).fork("x"))).toEqual(throwsOf(new Dice(7).fork("x")));
  expect(throwsOf(new Dice(7).fork("x"))).not.toEqual(throwsOf(new Dice(7).fork("y")));
});

test("a row that one transaction inserts and deletes was never there", () => {
  const row = (xact: string, from: object | null, to: object | null) => ({
    xact,
    is: "moved",
    body: { id: "1", from, to },
  });
  const [insert, remove, another] = [row("5", null, {}), row("5", {}, null), row("6", {}, null)];
  expect(lasting([insert, remove])).toEqual([]);
  expect(lasting([insert, another])).toEqual([insert, another]);
  expect(lasting([remove])).toEqual([remove]);
});
