import { anyCharacter } from '@runledger/contracts/test/fixtures/any-character';
import { aRun, assigned, failed, queued, started } from '@runledger/testing/run-events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  foldedText,
  soughtIn,
  idsBeginningWith,
  isFound,
  searchWord,
  searchTextOf,
} from '../../src/views/run-search.decide.ts';
import { folded } from '../fixtures/runs/folded-runs.ts';

const MOST = 1_000;

describe('a folded text', () => {
  it.each([
    ['  A\tRed\n\nFOX ', 'a red fox'],
    ['Straße', 'strasse'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['ﬁn', 'fin'],
    ['A\u0000B\u007fC', 'a b c'],
    ['ÄÖ', 'äö'],
    ['A\u0308', 'ä'],
    ['\ud800x', '\ufffdx'],
    ['', ''],
  ])('of %j is %j', (text, expected) => expect(foldedText(text, MOST)).toBe(expected));

  it('has no more than was asked for, whatever the text', () => {
    expect(foldedText('x'.repeat(5_000), 10)).toBe('x'.repeat(10));
    expect(foldedText('\ufdfa'.repeat(10), 10)).toHaveLength(10);
  });

  it('is folded already, is well-formed, and has one line', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const once = foldedText(text, MOST);
        expect(once.isWellFormed()).toBe(true);
        expect(once).not.toMatch(/[\r\n\0]/);
      }),
    );
  });

  it('of ASCII is the same whether another character follows or not', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
        expect(`${foldedText(`${text}e`, MOST)}é`).toBe(foldedText(`${text}eé`, MOST));
      }),
    );
  });

  it('has every part of a text of letters, in whichever case', () => {
    fc.assert(
      fc.property(fc.lorem({ mode: 'sentences' }), fc.nat(50), fc.nat(50), (text, from, length) => {
        const part = text.slice(from, from + length).toUpperCase();
        expect(foldedText(text, MOST)).toContain(foldedText(part, MOST));
      }),
    );
  });
});

describe('what a search looks at', () => {
  const textOf = (request: Parameters<typeof queued>[1]) => searchTextOf(folded(queued(aRun(), request)));

  it('is tags, names and values, each in its line, without the values of secret inputs', () => {
    const inputs = { Prompt: 'A\nfox', n: 7, on: true, list: ['x', { Deep: 'y' }], key: 'sealed' };
    expect(textOf({ tags: ['a:1'], inputs, secret_inputs: ['key'] }).split('\n')).toEqual([
      'a:1',
      'prompt',
      'a fox',
      'n',
      '7',
      'on',
      'list',
      'x',
      'deep',
      'y',
      'key',
    ]);
  });

  it('has the first 1,000 characters of a value and 2,000 of all inputs', () => {
    const text = textOf({ inputs: { a: 'x'.repeat(1_500), b: 'y'.repeat(900), c: 'z'.repeat(900) } });
    expect([text.match(/x/g)?.length, text.match(/y/g)?.length]).toEqual([1_000, 900]);
    expect(text.length).toBeLessThanOrEqual(2_000);
  });

  it('has nothing of inputs in a blob', () => {
    const inputs_blob = { sha256: 'a'.repeat(64), bytes: 9_000 };
    expect(textOf({ inputs: null, inputs_blob })).toBe('');
  });

  it('has the message of the error, and loses nothing by it', () => {
    const key = aRun();
    const [event, given, begun, end] = [
      queued(key, { inputs: { a: 'x'.repeat(900), b: 'y'.repeat(1_500) } }),
      assigned(key),
      started(key),
      failed(key),
    ];
    const before = searchTextOf(folded(event, given, begun)).split('\n');
    const after = searchTextOf(folded(event, given, begun, end)).split('\n');
    expect(after).toEqual(expect.arrayContaining(before));
    expect(after).toContain(searchWord(end.data.error.message));
  });
});

describe('a search', () => {
  const key = aRun();
  const search = (text: string, deploymentIds: string[] = []) => ({ text: searchWord(text), deploymentIds });

  it.each(['01920000', '01920000-', '01920000-0000-7000-8000-000000000001'])(
    'for %s can be for an id',
    (text) => {
      const { from = '', before = '' } = idsBeginningWith(text) ?? {};
      expect(from).toBe(text);
      expect(text.padEnd(36, 'f') < before).toBe(true);
    },
  );

  it.each(['0192000', '019200000', '0192000g', '01920000-0000-7000-8000-0000000000012', 'red fox!'])(
    'for %s is for no id',
    (text) => expect(idsBeginningWith(text)).toBeUndefined(),
  );

  it('is for ids when a run has such an id, and otherwise for a text', async () => {
    const query = { org_id: key.org_id, search: search('01920000') };
    expect(await soughtIn(query, async () => 2)).toEqual({
      kind: 'ids',
      from: '01920000',
      before: '01920000g',
    });
    expect(await soughtIn(query, async () => 0)).toEqual({ kind: 'text', ...search('01920000') });
    expect(await soughtIn(query, async (_org, _ids, atMost) => atMost)).toMatchObject({ kind: 'many_ids' });
    const none = await soughtIn({ org_id: key.org_id }, () => Promise.reject(new Error('asked')));
    expect(none).toBeUndefined();
  });

  it('finds a run by its id, its text, and its deployment', () => {
    const run = folded(queued(key, { inputs: { prompt: 'A red fox' } }));
    expect(isFound(run, search(key.run_id.slice(0, 8).toUpperCase()))).toBe(true);
    expect(isFound(run, search(key.run_id.slice(1)))).toBe(false);
    expect(isFound(run, search('RED'))).toBe(true);
    expect(isFound(run, search('blue'))).toBe(false);
    expect(isFound(run, search('blue', [run.request.deployment_id]))).toBe(true);
  });
});
