import type { ApiKey } from '@runledger/contracts/catalogue/records';

/** A key, and the keys above it that were there when it was made. */
export interface Descendant {
  readonly record: ApiKey;
  readonly ancestors?: readonly string[] | undefined;
}

/** The ids of the keys whose revocation revokes this one; none for a key that an operator made. */
const ancestorsOf = ({ ancestors = [] }: Descendant): readonly string[] => ancestors;

/** The ancestors of a key that `parent` makes now. Those that were revoked meanwhile, without their descendants, are left out. */
export const ancestorsBelow = (parent: Descendant, present: readonly Descendant[]): string[] => {
  const ids = new Set(present.map(({ record }) => record.id));
  return [...ancestorsOf(parent).filter((id) => ids.has(id)), parent.record.id];
};

/** Those that the key made, those that they made, and so on. */
export const descendantsOf = <Key extends Descendant>(id: string, keys: readonly Key[]): Key[] =>
  keys.filter((key) => ancestorsOf(key).includes(id));
