import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { outputUrls, type OutputUrls } from '../src/output-urls.ts';

const newKey = (): string => randomBytes(32).toString('base64');
const keys = [newKey()];
const file = { key: 'k'.repeat(43), filename: 'a picture?.png' };
const ADDRESS = `https://runs.example/outputs/${file.key}/a%20picture%3F.png`;
const T = Date.parse('2026-05-01T12:00:00.000Z');

const at = (seconds: number, changes: { ttlS?: number; keys?: readonly string[] } = {}): OutputUrls =>
  outputUrls({
    publicUrl: () => 'https://runs.example',
    keys,
    ttlS: 1_000,
    now: () => new Date(T + seconds * 1_000),
    ...changes,
  });
const queryOf = (url: string) => Object.fromEntries(new URL(url).searchParams);

describe('the address of an output file', () => {
  it('has nothing but its name, and does not expire, without a lifetime', () => {
    const urls = at(0, { ttlS: 0 });
    expect(urls.of(file)).toBe(ADDRESS);
    expect(urls.check(file, {})).toEqual({ kind: 'valid', forS: Number.POSITIVE_INFINITY });
    // Those from a time with a lifetime stay valid.
    expect(urls.check(file, queryOf(at(-9_999).of(file))).kind).toBe('valid');
  });

  it('is valid for its lifetime at least, and for a quarter more at most', () => {
    for (const second of [0, 1, 100, 249, 250, 251, 999.5]) {
      const url = at(second).of(file);
      expect(url.startsWith(`${ADDRESS}?expires=`)).toBe(true);
      const query = queryOf(url);
      expect(at(second + 999.9).check(file, query).kind).toBe('valid');
      expect(at(second + 1_250).check(file, query)).toEqual({ kind: 'expired' });
      const state = at(second).check(file, query);
      expect(state.kind === 'valid' && state.forS >= 1_000 && state.forS <= 1_250).toBe(true);
    }
  });

  it('is the same for a quarter of its lifetime, so that a run is shown in the same words', () => {
    const urls = new Set(Array.from({ length: 1_000 }, (_, second) => at(second).of(file)));
    expect(urls.size).toBeLessThanOrEqual(5);
  });

  it('is worth nothing for another file or time, without its signature, or with one by an unknown key', () => {
    const query = queryOf(at(0).of(file));
    const { expires = '', signature = '' } = query;
    const unknown = { kind: 'unknown' };
    expect(at(0).check({ ...file, key: 'l'.repeat(43) }, query)).toEqual(unknown);
    expect(at(0).check({ ...file, filename: 'other.png' }, query)).toEqual(unknown);
    for (const wrong of [
      {},
      { expires },
      { signature },
      { expires: String(Number(expires) + 250), signature },
      { expires: `0${expires}`, signature },
      { expires, signature: `${signature}=` },
      { expires, signature: signature.slice(0, -1) },
      { expires: [expires, expires], signature },
      { expires: 'Infinity', signature },
    ])
      expect([wrong, at(0).check(file, wrong)]).toEqual([wrong, unknown]);
    expect(at(0, { keys: [newKey()] }).check(file, query)).toEqual(unknown);
    expect(at(0, { keys: [newKey(), ...keys] }).check(file, query).kind).toBe('valid');
  });
});
