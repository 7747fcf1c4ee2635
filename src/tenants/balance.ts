import { type Halves, itemHalves, pairScore, workerHalves } from "../membership/scores.js";

/** So few items off the level are even enough, if they are no more than a share of it: with a handful for each, a change of the level would push one off almost everybody. */
const slackItems = 1.3;
const slackShare = 0.3;
/** What sums of fractions may be off. */
const hair = 1e-9;

interface Holder {
  readonly id: string;
  readonly halves: Halves;
  /** What it has from elsewhere. */
  readonly base: number;
  items: Set<string>;
  most: number;
  least: number;
}

/** Items among holders that already have most of them: evens out with few moves, by rendezvous scores. Used once. */
export class Balance {
  readonly #holders: readonly Holder[];
  readonly #byId: ReadonlyMap<string, Holder>;
  readonly #free: string[] = [];
  readonly #keepers = new Map<string, { readonly base: number; count: number }>();
  readonly #halves = new Map<string, Halves>();
  #level = 0;

  /** Holders in the order that decides between equal scores. */
  constructor(ids: readonly string[], baseOf: (id: string) => number | undefined = () => 0) {
    this.#holders = ids.map((id) => ({
      id,
      halves: workerHalves(id),
      base: baseOf(id) ?? 0,
      items: new Set<string>(),
      most: Number.POSITIVE_INFINITY,
      least: 0,
    }));
    this.#byId = new Map(this.#holders.map((holder) => [holder.id, holder]));
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  add(item: string, owner: string | null): void {
    const holder = owner === null ? undefined : this.#byId.get(owner);
    if (holder === undefined) this.#free.push(item);
    else holder.items.add(item);
  }

  /** One more item stays with somebody who is no holder: who gets nothing and gives nothing away. */
  keep(id: string, base: number): void {
    const keeper = this.#keepers.get(id) ?? { base, count: 0 };
    this.#keepers.set(id, keeper);
    keeper.count++;
  }

  /** The holder with the highest score for an item. */
  best(item: string): string | null {
    return this.#best(item, () => true)?.id ?? null;
  }

  /** Everything with the holder it should have: everybody within this share of the level, as whole numbers allow. */
  settle(tolerance: number): ReadonlyMap<string, string> {
    if (this.#holders.length === 0) return new Map();
    this.#setBounds(tolerance);
    for (const holder of this.#holders) if (holder.items.size > holder.most) this.#shed(holder);
    this.#placeFree();
    for (const holder of this.#holders) if (holder.items.size < holder.least) this.#fill(holder);
    return new Map(this.#holders.flatMap(({ id, items }) => [...items].map((item) => [item, id] as const)));
  }

  /**
   * The bounds lie around the level. Those who only keep what they have may leave more for the others, or less, than an even share: where the level with them is another, both count, so
   * that nothing moves because somebody is not settled for a while.
   */
  #setBounds(tolerance: number): void {
    const count = this.#free.length + this.#holders.reduce((sum, { items }) => sum + items.size, 0);
    const bases = this.#holders.map(({ base }) => base);
    const keepers = [...this.#keepers.values()];
    const kept = keepers.reduce((sum, keeper) => sum + keeper.count, 0);
    const levelOfAll = levelOf([...bases, ...keepers.map(({ base }) => base)], count + kept);
    this.#level = levelOf(bases, count);
    const most = mostAt(Math.max(this.#level, levelOfAll), tolerance);
    const least = leastAt(Math.min(this.#level, levelOfAll), tolerance);
    for (const holder of this.#holders) {
      holder.most = Math.max(0, most - holder.base);
      holder.least = Math.max(0, least - holder.base);
    }
  }

  /** Gives up what is above the bound: what those below the level score best on. */
  #shed(holder: Holder): void {
    const needy = this.#holders.filter((other) => other.base + other.items.size < this.#level);
    const gain = (item: string): number =>
      needy.reduce((most, other) => Math.max(most, this.#score(item, other)), 0) - this.#score(item, holder);
    for (const item of byGain(holder.items, gain).slice(0, holder.items.size - holder.most)) {
      holder.items.delete(item);
      this.#free.push(item);
    }
  }

  /** To the highest score that has room; those below their bound come first when there is only enough for them. */
  #placeFree(): void {
    let needed = this.#holders.reduce((sum, { items, least }) => sum + Math.max(0, least - items.size), 0);
    for (const [index, item] of [...this.#free].sort().entries()) {
      const isScarce = this.#free.length - index <= needed;
      const holder = this.#best(item, ({ items, least, most }) => items.size < (isScarce ? least : most));
      if (holder === undefined) continue;
      if (holder.items.size < holder.least) needed--;
      holder.items.add(item);
    }
  }

  /** Takes from those above the level what it scores best on. */
  #fill(holder: Holder): void {
    const isAbove = (other: Holder): boolean => other.base + other.items.size > this.#level;
    const ownerOf = new Map<string, Holder>();
    for (const other of this.#holders)
      if (isAbove(other)) for (const item of other.items) ownerOf.set(item, other);
    const gain = (item: string): number => {
      const owner = ownerOf.get(item);
      return this.#score(item, holder) - (owner === undefined ? 0 : this.#score(item, owner));
    };
    for (const item of byGain(ownerOf.keys(), gain)) {
      const owner = ownerOf.get(item);
      if (holder.items.size >= holder.least) return;
      if (owner === undefined || !isAbove(owner)) continue;
      owner.items.delete(item);
      holder.items.add(item);
    }
  }

  #best(item: string, may: (holder: Holder) => boolean): Holder | undefined {
    let best: Holder | undefined;
    let bestScore = -1;
    for (const holder of this.#holders) {
      if (!may(holder)) continue;
      const score = this.#score(item, holder);
      if (score <= bestScore) continue;
      best = holder;
      bestScore = score;
    }
    return best;
  }

  #score(item: string, holder: Holder): number {
    let halves = this.#halves.get(item);
    if (halves === undefined) {
      halves = itemHalves(item);
      this.#halves.set(item, halves);
    }
    return pairScore(halves, holder.halves);
  }
}

/** What everybody would have if so many items could be cut, with what they have from elsewhere in the account. */
function levelOf(bases: readonly number[], count: number): number {
  const sorted = [...bases].sort((one, other) => one - other);
  let left = count;
  let level = sorted[0] ?? 0;
  for (let under = 1; under <= sorted.length; under++) {
    const step = Math.min(left, ((sorted[under] ?? Number.POSITIVE_INFINITY) - level) * under);
    level += step / under;
    left -= step;
  }
  return level;
}

function mostAt(level: number, tolerance: number): number {
  const slack = Math.min(slackItems, slackShare * level);
  return Math.max(Math.ceil(level * (1 + tolerance) - hair), Math.floor(level + slack + hair));
}

function leastAt(level: number, tolerance: number): number {
  const slack = Math.min(slackItems, slackShare * level);
  return Math.min(Math.floor(level * (1 - tolerance) + hair), Math.ceil(level - slack - hair));
}

/** The greatest gain first; equal ones by name. */
function byGain(items: Iterable<string>, gain: (item: string) => number): string[] {
  return [...items]
    .map((item) => ({ item, gain: gain(item) }))
    .sort((one, other) => other.gain - one.gain || (one.item < other.item ? -1 : 1))
    .map(({ item }) => item);
}
