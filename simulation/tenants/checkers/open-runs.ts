import type { EntryOf } from "../../entries.js";
import type { TenantNote } from "../entries.js";

/** The runs that are going on, as the notes are read one after another: from start() until it came back, or until its process was gone. */
export class OpenRuns {
  readonly #runs = new Map<string, Map<string, TenantNote>>();

  of(tenant: string): readonly TenantNote[] {
    return [...(this.#runs.get(tenant)?.values() ?? [])];
  }

  begin(note: TenantNote): void {
    const runs = this.#runs.get(note.tenant) ?? new Map<string, TenantNote>();
    this.#runs.set(note.tenant, runs.set(nameOf(note), note));
  }

  end(note: TenantNote): void {
    this.#runs.get(note.tenant)?.delete(nameOf(note));
  }

  endAllOf({ process }: EntryOf<"fault">): void {
    for (const runs of this.#runs.values())
      for (const [name, note] of runs) if (note.process === process) runs.delete(name);
  }
}

function nameOf({ process, token }: TenantNote): string {
  return `${process} ${token}`;
}
