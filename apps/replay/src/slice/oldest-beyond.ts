/** The key that was added first, when there are more than `most`; undefined otherwise. */
export const oldestBeyond = <Key>(
  kept: ReadonlySet<Key> | ReadonlyMap<Key, unknown>,
  most: number,
): Key | undefined => {
  const [oldest] = kept.keys();
  return kept.size > most ? oldest : undefined;
};
