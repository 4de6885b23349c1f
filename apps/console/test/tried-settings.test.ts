import { describe, expect, it } from 'vitest';
import { fieldOf, triedIn } from '../src/fleet/tried-settings.ts';

const day = { organisations: [['acme', 7] as const, ['beta', 3] as const], gpus: [['L4', 2] as const] };
const entered =
  (fields: Readonly<Record<string, string>>) =>
  (field: string): string =>
    fields[field] ?? '';

describe('what a person tries', () => {
  it('changes nothing with empty fields', () => {
    const nothing = { weights: new Map(), limits: new Map() };
    expect(triedIn(day, entered({}))).toEqual({ before: nothing, changes: undefined });
  });

  it('is what differs from that day, beside what is said of it', () => {
    const fields = {
      [fieldOf.weightBefore('acme')]: '2',
      [fieldOf.weight('beta')]: ' 0.5 ',
      [fieldOf.limit('acme')]: '4',
      [fieldOf.slots('L4')]: '0',
    };
    expect(triedIn(day, entered(fields))).toEqual({
      before: { weights: new Map([['acme', 2]]), limits: new Map() },
      changes: {
        weights: new Map([['beta', 0.5]]),
        limits: new Map([['acme', 4]]),
        gpus: new Map([['L4', 0]]),
      },
    });
  });
});
