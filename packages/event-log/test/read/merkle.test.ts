import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leafOf, merklePath, merkleRoot, rootOfPath } from '../../src/read/merkle.ts';

const sha256 = (...parts: readonly (string | Uint8Array)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('base64url');
};

const leaves = fc.array(
  fc.string().map((text) => sha256(text)),
  { minLength: 1, maxLength: 70 },
);

describe('a Merkle tree', () => {
  it('hashes leaves and nodes as RFC 6962 says', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((text) => sha256(Uint8Array.of(0), text)) as [
      string,
      string,
      string,
    ];
    const bytes = (hash: string) => Buffer.from(hash, 'base64url');
    const ab = sha256(Uint8Array.of(1), bytes(a), bytes(b));
    expect(merkleRoot([a])).toBe(a);
    expect(merkleRoot([a, b])).toBe(ab);
    expect(merkleRoot([a, b, c])).toBe(sha256(Uint8Array.of(1), bytes(ab), bytes(c)));
    expect(() => merkleRoot([])).toThrow(RangeError);
  });

  it('proves each of its leaves by a path, and nothing else', () => {
    fc.assert(
      fc.property(leaves, fc.nat(), fc.nat(), (all, chosen, other) => {
        const index = chosen % all.length;
        const path = merklePath(all, index);
        const leaf = all[index] ?? '';
        const root = merkleRoot(all);
        expect(path.length).toBeLessThanOrEqual(Math.ceil(Math.log2(all.length)));
        expect(rootOfPath(leaf, { index, leaves: all.length, path })).toBe(root);
        expect(rootOfPath(sha256('another'), { index, leaves: all.length, path })).not.toBe(root);
        expect(rootOfPath(leaf, { index, leaves: all.length, path: [...path, leaf] })).toBeUndefined();
        const elsewhere = other % all.length;
        const there = rootOfPath(leaf, { index: elsewhere, leaves: all.length, path });
        expect(all[elsewhere] === leaf || there !== root).toBe(true);
      }),
    );
  });

  it('has another root when a leaf is another one, is missing, or is elsewhere', () => {
    fc.assert(
      fc.property(leaves, fc.nat(), (all, chosen) => {
        const index = chosen % all.length;
        const root = merkleRoot(all);
        expect(merkleRoot(all.with(index, sha256('another')))).not.toBe(root);
        const others = [...all.toSpliced(index, 1), sha256('another')];
        expect(merkleRoot(others)).not.toBe(root);
        expect(merkleRoot([...all, sha256('another')])).not.toBe(root);
        const rotated = [...all.slice(1), ...all.slice(0, 1)];
        expect(new Set(all).size === 1 || merkleRoot(rotated) !== root).toBe(true);
      }),
    );
  });

  it('says all of a message that a reader folds', () => {
    const content = {
      sequence: 1,
      time: '2026-01-01T00:00:00.000Z',
      subject: 's',
      fence: 'f',
      expectedSequence: 0,
      sha256: 'h',
    };
    const changed = [
      { sequence: 2 },
      { time: '2026-01-01T00:00:00.001Z' },
      { subject: 't' },
      { fence: null },
      { expectedSequence: null },
      { sha256: 'i' },
    ].map((change) => leafOf({ ...content, ...change }));
    expect(new Set([leafOf(content), ...changed]).size).toBe(7);
  });
});
