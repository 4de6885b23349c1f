interface Derived {
  readonly id: string;
  readonly parent_key_id: string | null;
}

/** The keys that were made with a key, those that were made with them, and so on. */
export const descendantsOf = <Key extends Derived>(id: string, keys: readonly Key[]): readonly Key[] => {
  const children = keys.filter(({ parent_key_id }) => parent_key_id === id);
  const others = keys.filter((key) => !children.includes(key));
  return children.flatMap((child) => [child, ...descendantsOf(child.id, others)]);
};
