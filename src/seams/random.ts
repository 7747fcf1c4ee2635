export interface Random {
  /** In [0, 1). */
  fraction(): number;
  /** So many random bytes. */
  bytes(count: number): Uint8Array;
}
