import { createInterface } from "node:readline";
import { exitCodes } from "./exit-codes.js";
import { CliError } from "./failure.js";

/** What a person answers. Ctrl-D, or the end of the input, is a no: `CLI_DECLINED`. */
export async function answerTo(
  question: string,
  [input, output]: readonly [NodeJS.ReadableStream, NodeJS.WritableStream],
  onCtrlC: () => void,
): Promise<string> {
  const asked = createInterface({ input, output });
  asked.once("SIGINT", onCtrlC);
  return await new Promise<string>((resolve, reject) => {
    asked.once("close", () => {
      const message = "The question was not answered, so nothing more was done.";
      reject(new CliError("CLI_DECLINED", exitCodes.failed, { message }));
    });
    asked.question(question, (answer) => {
      resolve(answer);
      asked.close();
    });
  });
}
