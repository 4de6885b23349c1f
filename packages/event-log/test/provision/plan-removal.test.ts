import { describe, expect, it } from 'vitest';
import {
  incompleteStreams,
  whyNotRemovable,
  type BrokerState,
} from '../../src/provision/plan-removal.decide.ts';

const MEMBERS = ['n1', 'n2', 'n3', 'n4'];
const RUNS = { name: 'RUNS', wanted: 3, holders: ['n1', 'n2', 'n4'], current: ['n1', 'n2'] };

/** The brokers that run. The first one leads the cluster, and RUNS. */
const running = (names: readonly string[], members = MEMBERS, runs = RUNS): BrokerState[] =>
  names.map((name, n) => ({
    name,
    members: n === 0 ? members : undefined,
    led: n === 0 ? [runs] : [],
    streams: runs.holders.includes(name) ? ['RUNS'] : [],
  }));

describe('a broker', () => {
  it('can be removed when it is gone, and the others run and have all its copies', () => {
    expect(whyNotRemovable('n4', running(['n1', 'n2', 'n3']))).toBeUndefined();
  });

  it.each([
    [
      'without a leader of the brokers',
      'n4',
      running(['n1']).map((one) => ({ ...one, members: undefined })),
      'no leader',
    ],
    ['that is none of them', 'n9', running(['n1', 'n2', 'n3']), 'It has n1, n2, n3, n4'],
    ['that runs', 'n3', running(['n1', 'n2', 'n3']), 'n3 runs'],
    ['of three', 'n3', running(['n1', 'n2'], ['n1', 'n2', 'n3']), 'Start a new one under the name n3'],
    ['while another one is away', 'n4', running(['n1', 'n2']), 'n3 is away too'],
    [
      'while another one lacks messages',
      'n4',
      running(['n1', 'n2', 'n3'], MEMBERS, { ...RUNS, current: ['n1'] }),
      'Copies are missing of RUNS',
    ],
    [
      'while a stream has no leader',
      'n4',
      running(['n1', 'n2', 'n3']).map((one) => ({ ...one, led: [] })),
      'Copies are missing of RUNS',
    ],
  ])('is not removed %s', (_when, name, brokers, why) => {
    expect(whyNotRemovable(name, brokers)).toContain(why);
  });
});

describe('a stream', () => {
  it('is complete again when another broker has what the removed one had', () => {
    const before = running(['n1', 'n2', 'n3']);
    expect(incompleteStreams(before)).toEqual(['RUNS']);
    const copied = { ...RUNS, holders: ['n1', 'n2', 'n3'], current: ['n1', 'n2', 'n3'] };
    expect(incompleteStreams(running(['n1', 'n2', 'n3'], ['n1', 'n2', 'n3'], copied))).toEqual([]);
  });
});
