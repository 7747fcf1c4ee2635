import type { Acts } from "./acts/act.js";
import type { Variant } from "./systems/system.js";

/** What goes between the parent and a child process. */
export type FromParent =
  | {
      readonly is: "open";
      readonly id: number;
      readonly system: string;
      readonly url: string;
      readonly variant: Variant;
    }
  | { readonly is: "do"; readonly id: number; readonly act: keyof Acts; readonly input: unknown }
  | { readonly is: "heard"; readonly handled: number };

export type FromChild =
  | { readonly is: "done"; readonly id: number; readonly output: unknown }
  | { readonly is: "failed"; readonly id: number; readonly error: string }
  | { readonly is: "progress"; readonly handled: number };
