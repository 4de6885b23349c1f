/**
 * What is kept of each key, made at its first use. Beyond `most` what was used the longest time ago is forgotten, so
 * that no number of keys fills the memory.
 */
export const recentlyUsed = <Key, Value>(most: number, make: (key: Key) => Value): ((key: Key) => Value) => {
  /** In the order of their last use. */
  const kept = new Map<Key, Value>();
  return (key) => {
    const value = kept.get(key) ?? make(key);
    kept.delete(key);
    if (kept.size >= most) {
      const [oldest] = kept.keys();
      if (oldest !== undefined) kept.delete(oldest);
    }
    kept.set(key, value);
    return value;
  };
};
