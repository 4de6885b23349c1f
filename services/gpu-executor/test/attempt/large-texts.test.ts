import type { StoredFile } from '@runledger/contracts/events/run-event-data';
import { describe, expect, it } from 'vitest';
import { largeTexts, withStoredTexts } from '../../src/attempt/run-outputs.decide.ts';

const long = 'x'.repeat(5_000);
const file = (filename: string, subfolder = '') => ({
  path: '/',
  filename,
  subfolder,
  bytes: 1,
  identity: '1:1',
});
const stored = (filename: string) => ({ filename }) as StoredFile;
const names = (...args: Parameters<typeof largeTexts>): string[] =>
  largeTexts(...args).map(({ filename }) => filename);

describe('large texts', () => {
  it('are texts of more than 4 KiB as JSON', () => {
    const [least, most] = ['x'.repeat(4_095), 'x'.repeat(4_094)];
    expect(names({ text: ['short', least, most, '"'.repeat(2_100)] }, [])).toEqual([
      'text-2.txt',
      'text-4.txt',
    ]);
  });

  it('get unique file names', () => {
    const files = [file('text-1.txt'), file('text-1-2.txt'), file('text-2.txt', 'below')];
    expect(names({ text: [long, long] }, files)).toEqual(['text-1-3.txt', 'text-2.txt']);
    expect(names({ 'a/b': [long], 'a b': [long], ünï: [long] }, [])).toEqual([
      'a-b-1.txt',
      'a-b-1-2.txt',
      'ünï-1.txt',
    ]);
  });

  it('are replaced by their files in the outputs; one that was not stored is left out', () => {
    const data = { text: ['short', long, long], urls: ['u'] };
    const large = largeTexts(data, []);
    const both = [stored('text-2.txt'), stored('text-3.txt')];
    expect(withStoredTexts(data, large, both)).toEqual({ text: ['short', ...both], urls: ['u'] });
    expect(withStoredTexts(data, large, both.slice(0, 1))).toEqual({
      text: ['short', both[0]],
      urls: ['u'],
    });
  });
});
