import { PassThrough } from "node:stream";
import { expect, it, vi } from "vitest";
import { answerTo } from "../../../cli/answer.js";

function terminal(): PassThrough {
  return Object.assign(new PassThrough().resume(), { isTTY: true });
}

it("an answer is what was typed before Enter", async () => {
  const input = terminal();
  const answer = answerTo("Go on? ", [input, terminal()], () => {});
  input.write("yes\n");
  expect(await answer).toBe("yes");
});

it("Ctrl-D and the end of the input decline, and Ctrl-C interrupts", async () => {
  const declined = { code: "CLI_DECLINED", exitCode: 1 };
  const [typed, ended] = [terminal(), new PassThrough()];
  const answers = [typed, ended].map((from) => answerTo("Go on? ", [from, terminal()], () => {}));
  typed.write("\u0004");
  ended.end();
  await Promise.all(answers.map((answer) => expect(answer).rejects.toMatchObject(declined)));
  const input = terminal();
  const onCtrlC = vi.fn(() => void input.write("\u0004"));
  const interrupted = answerTo("Go on? ", [input, terminal()], onCtrlC);
  input.write("\u0003");
  await expect(interrupted).rejects.toMatchObject(declined);
  expect(onCtrlC).toHaveBeenCalledOnce();
});
