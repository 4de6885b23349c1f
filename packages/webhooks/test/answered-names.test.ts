import { describe, expect, it } from 'vitest';
import { answeredNames, type Resolution } from '../src/name-resolver.ts';

const found: Resolution = { kind: 'addresses', addresses: ['192.0.2.1'] };

describe('the latest answers', () => {
  it('are 10,000 at most, without the least recently used', () => {
    const names = answeredNames(() => 0);
    for (let index = 0; index < 10_000; index += 1) names.keep(`${index}.example`, found);
    expect(names.get('0.example')).toBe(found);
    names.keep('more.example', found);
    expect(names.get('0.example')).toBe(found);
    expect(names.get('1.example')).toBeUndefined();
    expect(names.get('2.example')).toBe(found);
  });

  it('include answers of DNS, but no failure on our side', () => {
    const names = answeredNames(() => 0);
    const kinds = ['not_found', 'unanswered', 'no_server'] as const;
    for (const kind of kinds) names.keep(kind, { kind, why: 'so' });
    expect(kinds.map((kind) => names.get(kind)?.kind)).toEqual(['not_found', 'unanswered', undefined]);
  });
});
