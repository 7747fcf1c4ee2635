const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/**
 * FNV-1a over the UTF-8 bytes of a text, then the finaliser. FNV-1a alone leaves texts that differ in their last bytes, as worker
 * ids do, in a pattern, and a ring made of it gives some workers several times the share of others. The owners of buckets and
 * the shards of keys follow from these numbers in every process of a fleet, so they may never change.
 */
export function hash32(text: string, seed: number): number {
  let hash = offsetBasis ^ mix32(seed);
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, prime);
  return mix32(hash);
}

/**
 * The last step of murmur3 with 32 bits: every bit of the input turns about half of the bits of the result, and no two inputs
 * meet. Seeds go through it too, since texts that collide under one seed collide under each that differs in the upper bits only.
 * Zero stays zero, so under seed 0 a text goes through FNV-1a as it was published.
 */
export function mix32(bits: number): number {
  let mixed = bits ^ (bits >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
