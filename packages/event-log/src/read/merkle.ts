import { createHash } from 'node:crypto';

/** SHA-256 in base64url. */
export type Hash = string;

/** What a leaf says of a stored message: all that a reader folds, with the hash of its bytes in the place of these. */
interface LeafContent {
  readonly sequence: number;
  /** ISO 8601 in UTC with milliseconds. */
  readonly time: string;
  readonly subject: string;
  readonly fence: string | null;
  readonly expectedSequence: number | null;
  /** Of the body as it is stored. */
  readonly sha256: Hash;
}

/** Leaves and nodes begin with another byte, so that nobody can pass a node off as a leaf (RFC 6962, section 2.1). */
const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

export const leafOf = ({ sequence, time, subject, fence, expectedSequence, sha256 }: LeafContent): Hash => {
  const text = JSON.stringify([sequence, time, subject, fence, expectedSequence, sha256]);
  return createHash('sha256').update(LEAF).update(text).digest('base64url');
};

const nodeOf = (left: Hash, right: Hash): Hash =>
  createHash('sha256')
    .update(NODE)
    .update(Buffer.from(left, 'base64url'))
    .update(Buffer.from(right, 'base64url'))
    .digest('base64url');

/**
 * The root of the tree over these leaves. A level pairs its neighbours, and one without a neighbour goes up as it is: the tree of
 * RFC 6962. @throws RangeError without leaves
 */
export const merkleRoot = (leaves: readonly Hash[]): Hash => {
  let level = leaves;
  while (level.length > 1) level = levelAbove(level);
  const [root] = level;
  if (root === undefined) throw new RangeError('A Merkle tree needs a leaf.');
  return root;
};

const levelAbove = (level: readonly Hash[]): Hash[] => {
  const above: Hash[] = [];
  for (let at = 0; at < level.length; at += 2) {
    const [left, right] = [level[at], level[at + 1]];
    if (left !== undefined) above.push(right === undefined ? left : nodeOf(left, right));
  }
  return above;
};

/** The hashes beside the way from a leaf to the root, the lowest first. @throws RangeError for an index that is no leaf's */
export const merklePath = (leaves: readonly Hash[], index: number): Hash[] => {
  if (!Number.isInteger(index) || index < 0 || index >= leaves.length) {
    throw new RangeError(`The tree has ${leaves.length} leaves, and none at ${index}.`);
  }
  const path: Hash[] = [];
  let at = index;
  for (let level = leaves; level.length > 1; level = levelAbove(level)) {
    const beside = level[at % 2 === 0 ? at + 1 : at - 1];
    if (beside !== undefined) path.push(beside);
    at = Math.floor(at / 2);
  }
  return path;
};

/** The root that a path leads to. Undefined for a path that no leaf at this index of so many has. */
export const rootOfPath = (
  leaf: Hash,
  {
    index,
    leaves,
    path,
  }: { readonly index: number; readonly leaves: number; readonly path: readonly Hash[] },
): Hash | undefined => {
  if (index < 0 || index >= leaves) return undefined;
  let [hash, at, width, used] = [leaf, index, leaves, 0];
  while (width > 1) {
    if (at % 2 === 1 || at + 1 < width) {
      const beside = path[used];
      if (beside === undefined) return undefined;
      used += 1;
      hash = at % 2 === 1 ? nodeOf(beside, hash) : nodeOf(hash, beside);
    }
    at = Math.floor(at / 2);
    width = Math.ceil(width / 2);
  }
  return used === path.length ? hash : undefined;
};
