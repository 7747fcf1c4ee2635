import { InvalidKeyError, InvalidOptionError } from "../errors.js";
import { defaults, wholeNumber } from "../settings.js";
import { isStorableText } from "../work/json.js";
import { hash32 } from "./hash.js";

const shardsMax = 1_024;

/**
 * `shardKey("tenant:123", orderId)`: one of a few partition keys for a stream too busy for one worker, chosen by a second
 * attribute. Order holds among the jobs that share the attribute, so choose what must stay in order. Another number of shards
 * sends attributes elsewhere: change it when the line of the key is empty.
 */
export function shardKey(key: string, by: string, shards = 8): string {
  if (typeof key !== "string") throw new InvalidKeyError("partition key", key, "it is not text");
  if (key === "") throw new InvalidKeyError("partition key", key, "it is empty");
  if (!isStorableText(key))
    throw new InvalidKeyError("partition key", key, "it has a NUL character or a lone surrogate");
  if (typeof by !== "string") throw new InvalidOptionError("by", by, "text");
  const count = wholeNumber("shards", shards, { fallback: 8, min: 1, max: shardsMax });
  const sharded = `${key}#shard-${hash32(by, 0) % count}`;
  const bytes = Buffer.byteLength(sharded);
  if (bytes > defaults.keyBytesMax) {
    const reason = `with its shard it has ${bytes} bytes, the limit is ${defaults.keyBytesMax}`;
    throw new InvalidKeyError("partition key", key, reason);
  }
  return sharded;
}
