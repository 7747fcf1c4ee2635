import type { Member } from "../actors/member.js";
import type { Dice } from "../dice.js";
import type { World } from "../world/world.js";
import type { TenantFleet, TenantMember } from "./fleet.js";

/** A person who evicts: by the library, or by a statement typed in. */
export class TenantOperator {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #member: Member;

  constructor(world: World, parts: { readonly fleet: TenantFleet; readonly dice: Dice }) {
    this.#world = world;
    this.#dice = parts.dice;
    this.#member = parts.fleet.join("operator");
  }

  evict({ workerId, process }: TenantMember): void {
    void this.#evict(workerId, process.name);
  }

  /** Not a fault of whoever is evicted: nothing is wrong with it. */
  async #evict(workerId: string, process: string): Promise<void> {
    const { lh } = this.#member;
    this.#world.hit(process, "evicted");
    try {
      if (this.#dice.chance(0.5)) await lh.evict(workerId);
      else {
        const text = `delete from ${lh.schema}.worker_lease where worker_id = $1`;
        await lh.transaction((tx) => tx.query(text, [workerId]));
      }
    } catch (error) {
      const what = error instanceof Error ? error.name : String(error);
      this.#world.trace.say(this.#member.process.name, `   failed to evict ${workerId}: ${what}`);
    } finally {
      this.#world.healed(process, "evicted");
    }
  }
}
