import { newUuid } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { readWhatIf } from '../../src/what-if/what-if.ts';

const ORG = newUuid();

describe('the options of what-if', () => {
  it('are weights, limits and slots', () => {
    const args = [
      '--day',
      'd.zst',
      '--weight',
      `${ORG}:2.5`,
      '--limit',
      `${ORG}:20`,
      '--gpus',
      'l4=40,A10G=0',
    ];
    expect(readWhatIf([...args, '--day-weight', `${ORG}:2`, '--charts', 'out'])).toEqual({
      day: 'd.zst',
      before: { weights: new Map([[ORG, 2]]), limits: new Map() },
      changes: {
        weights: new Map([[ORG, 2.5]]),
        limits: new Map([[ORG, 20]]),
        gpus: new Map([
          ['L4', 40],
          ['A10G', 0],
        ]),
      },
      charts: 'out',
    });
    expect(readWhatIf(['--day', 'd.zst']).changes).toBeUndefined();
  });

  it.each([
    [['--weight', 'acme:2'], '--weight acme:2 does not begin with the id of an organisation and a colon.'],
    [['--weight', `${ORG}:0`], '--weight has the weight 0. It must be from 0.001 to 1000.'],
    [['--limit', `${ORG}:x`], '--limit has the limit x. It must be a whole number from 1 to 100000.'],
    [['--gpus', '=4'], '--gpus =4 names no GPU model. Write it as L4=40.'],
    [['--gpus', 'L4=many'], '--gpus L4 has many. It must be a whole number from 0 to 100000.'],
    [['--day', ''], '--day needs the file of a captured day.'],
  ])('are refused with a sentence: %j', (args, sentence) => {
    expect(() => readWhatIf(['--day', 'd.zst', ...args])).toThrow(sentence);
  });
});
