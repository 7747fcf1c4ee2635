import type { Finding, FindingCode } from "../../src/index.js";
import type { Stage } from "./stage.js";

/** A real incident that a person practices on. */
export interface Drill {
  readonly name: string;
  /** One line for the list. */
  readonly summary: string;
  /** What goes wrong, as its cause. */
  readonly incident: string;
  /** The finding that doctor has to name first. */
  readonly expected: FindingCode;
  /** Set when the evidence stays listed after the incident is over: for how long, in words. */
  readonly staysListed?: string;
  readonly learned: readonly string[];
  readonly links: readonly string[];
  /** Makes the incident, and resolves when its symptom is there. */
  begin(stage: Stage): Promise<Incident>;
}

/** An incident that is under way. */
export interface Incident {
  /** What a user of the system would notice. */
  readonly symptom: string;
  readonly steps: readonly Step[];
  /** Fixes it by the advice of the finding, and says what was done. */
  fix(finding: Finding): Promise<string>;
  /** Waits for the real effect, and says what it saw. */
  verify(): Promise<string>;
}

export interface Step {
  /** What a person would ask. */
  readonly asks: string;
  /** A command line without `leasehold`. */
  readonly command: readonly string[];
  /** How to read the answer. */
  readonly read: string;
}
