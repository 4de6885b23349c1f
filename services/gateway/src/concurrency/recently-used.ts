/**
 * What is kept of each key, made at its first use. Beyond `most` what was used the longest time ago is forgotten, so
 * that no number of keys fills the memory.
 */
export const recentlyUsed = <Key, Value>(most: number, make: (key: Key) => Value): ((key: Key) => Value) => {
  /** In the order of their last use. */
  const kept = new Map<Key, Value>();
  return (key) => {
    const value = kept.get(key) ?? make(key);
    keepLatest(kept, most, key, value);
    return value;
  };
};

/** Puts it behind all that is kept; beyond `most` what stands in front, which was put there first, is forgotten. */
export const keepLatest = <Key, Value>(kept: Map<Key, Value>, most: number, key: Key, value: Value): void => {
  kept.delete(key);
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > most && oldest !== undefined) kept.delete(oldest);
};
