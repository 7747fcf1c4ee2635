import { type CommandSpec, defineCommand } from "../command.js";
import { completionScript } from "../completion-script.js";

export const command: CommandSpec = defineCommand({
  name: "completion",
  summary: "a completion script for your shell",
  arguments: [{ name: "<shell>", about: "which shell", choices: ["bash", "zsh", "fish"] }],
  examples: [
    "leasehold completion bash > /etc/bash_completion.d/leasehold",
    "leasehold completion zsh > ~/.zfunc/_leasehold",
    "leasehold completion fish > ~/.config/fish/completions/leasehold.fish",
  ],
  async run(context, { args: [shell = ""] }) {
    const script = completionScript(shell as "bash" | "zsh" | "fish", await context.allCommands());
    return { data: { shell, script }, lines: () => script.trimEnd().split("\n") };
  },
});
