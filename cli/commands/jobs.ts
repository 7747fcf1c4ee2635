import { type CommandSpec, defineCommand } from "../command.js";
import { discardCommand, redriveCommand } from "./jobs-bulk.js";
import { getCommand, whyCommand } from "./jobs-get.js";
import { listCommand } from "./jobs-list.js";

export const command: CommandSpec = defineCommand({
  name: "jobs",
  summary: "list, get, why, redrive, discard",
  examples: [
    "leasehold jobs list inbox --status dead_letter",
    "leasehold jobs why inbox 01890a5d-ac96-774b-bcce-b302099a8057",
  ],
  subcommands: [listCommand, getCommand, whyCommand, redriveCommand, discardCommand],
});
