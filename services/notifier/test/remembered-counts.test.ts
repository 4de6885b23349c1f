import { describe, expect, it } from 'vitest';
import { rememberMany } from '../src/respond-about-receivers.ts';

const A = { org_id: 'one', origin: 'https://a.example' };

describe('what waits for a receiver', () => {
  it('is counted each time while it is little, and remembered when it is much', async () => {
    let waiting = 999;
    const count = rememberMany(async () => (waiting += 1) - 1);
    expect([await count(A), await count(A), await count(A)]).toEqual([999, 1_000, 1_000]);
    expect(await count({ ...A, org_id: 'other' })).toBe(1_001);
  });
});
