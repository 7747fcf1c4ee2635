import { InvalidKeyError, InvalidOptionError } from "../errors.js";
import { defaults } from "../settings.js";
import { isStorableText } from "../work/json.js";

export function checkedTenant(tenant: unknown): string {
  const { keyBytesMax } = defaults;
  if (typeof tenant !== "string" || tenant === "")
    throw new InvalidKeyError("tenant", tenant, "it must be text, and not empty");
  if (!isStorableText(tenant))
    throw new InvalidKeyError("tenant", tenant, "it has a NUL character or a lone surrogate");
  if (Buffer.byteLength(tenant) > keyBytesMax)
    throw new InvalidKeyError("tenant", tenant, `the limit is ${keyBytesMax} bytes`);
  return tenant;
}

export function checkedRegion(region: unknown): string | null {
  if (region === undefined || region === null) return null;
  if (typeof region !== "string" || region === "" || !isStorableText(region))
    throw new InvalidOptionError("preferredRegion", region, "the name of a region");
  return region;
}
