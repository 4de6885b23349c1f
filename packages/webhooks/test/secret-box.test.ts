import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { anyCharacter } from '@runledger/contracts/test/fixtures/any-character';
import { ConfigError, describeConfig, readConfig } from '@runledger/service-kit/config';
import fc from 'fast-check';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { secretBox, secretKeysConfig, UnreadableSecret } from '../src/secret-box.ts';

const aKey = (): string => randomBytes(32).toString('base64');

describe('a secret box', () => {
  const key = aKey();
  const box = secretBox([key]);

  it('opens what it sealed, for every text and context', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.string(), (text, context) => {
        expect(box.open(box.seal(text, context), context)).toBe(text);
      }),
    );
  });

  it('seals the same text differently each time, with its version in front', () => {
    const sealed = Array.from({ length: 100 }, () => box.seal('text', 'org'));
    expect(new Set(sealed).size).toBe(100);
    expect(sealed.every((one) => /^v1\.[0-9a-f]{8}\.[\w-]+$/.test(one))).toBe(true);
  });

  it('refuses to open a text for another context', () => {
    const sealed = box.seal('text', 'org one');
    expect(() => box.open(sealed, 'org two')).toThrow(UnreadableSecret);
    expect(() => box.open(sealed, 'org two')).toThrow(
      /org two was changed, or belongs to another organisation/,
    );
  });

  it('refuses to open a text with a changed bit', () => {
    const sealed = box.seal('a text', 'org');
    const [version, id, data = ''] = sealed.split('.');
    const bytes = Buffer.from(data, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const forged = `${version}.${id}.${changed.toString('base64url')}`;
      expect(() => box.open(forged, 'org')).toThrow(UnreadableSecret);
    }
  });

  it.each(['', 'v1', 'v1..', 'v1.00000000.', 'v1.00000000.AAAA', 'v2.00000000.AAAA', 'plain'])(
    'rejects %j as a sealed text',
    (text) => expect(() => box.open(text, 'org')).toThrow('has an unknown format'),
  );

  it('does not show its keys when it is printed', () => {
    const printed = inspect(box, { depth: 9, showHidden: true }) + JSON.stringify(box);
    expect(printed).not.toContain(key);
  });
});

describe('the keys of a box', () => {
  it('can be replaced step by step, while every text stays readable', () => {
    const [old, next] = [aKey(), aKey()];
    const [before, added] = [secretBox([old]), secretBox([old, next])];
    const [swapped, after] = [secretBox([next, old]), secretBox([next])];
    const sealedBefore = before.seal('text', 'org');
    expect(added.open(sealedBefore, 'org')).toBe('text');
    expect(added.isFresh(sealedBefore)).toBe(true);
    expect(swapped.open(sealedBefore, 'org')).toBe('text');
    expect(swapped.isFresh(sealedBefore)).toBe(false);
    const sealedAnew = swapped.seal('text', 'org');
    expect(swapped.isFresh(sealedAnew)).toBe(true);
    expect(added.open(sealedAnew, 'org')).toBe('text');
    expect(after.open(sealedAnew, 'org')).toBe('text');
  });

  it('are named by their setting if no key decrypts the text', () => {
    const sealed = secretBox([aKey()]).seal('text', 'org');
    const box = secretBox([aKey()]);
    expect(() => box.open(sealed, 'org')).toThrow(UnreadableSecret);
    expect(() => box.open(sealed, 'org')).toThrow(
      /RUNLEDGER_SECRET_KEYS .* Add the old key behind the current one/,
    );
  });

  it.each([
    ['short', randomBytes(16).toString('base64')],
    ['long', randomBytes(33).toString('base64')],
    ['hexadecimal', randomBytes(32).toString('hex')],
    ['empty', ''],
  ])('are not %s', (_, bad) => {
    expect(() => secretBox([aKey(), bad])).toThrow(
      /Key number 2 of RUNLEDGER_SECRET_KEYS .* openssl rand -base64 32/,
    );
  });

  it('include at least one', () => expect(() => secretBox([])).toThrow('openssl rand -base64 32'));
});

describe('the setting', () => {
  const schema = Type.Object(secretKeysConfig);
  const read = (value?: string): readonly string[] =>
    readConfig(schema, { RUNLEDGER_SECRET_KEYS: value }).RUNLEDGER_SECRET_KEYS;

  it('is one key, or several separated by commas', () => {
    const [one, two] = [aKey(), aKey()];
    expect(read(one)).toEqual([one]);
    expect(read(` ${one}, ${two},`)).toEqual([one, two]);
  });

  it.each([undefined, '', ',', 'c2hvcnQ=', `${aKey()},c2hvcnQ=`])(
    'explains how to make a key if it is %j, and never shows the given text',
    (wrong) => {
      expect(() => read(wrong)).toThrow(ConfigError);
      expect(() => read(wrong)).toThrow(/RUNLEDGER_SECRET_KEYS .* openssl rand -base64 32/);
      expect(() => read(wrong)).not.toThrow(/c2hvcnQ/);
    },
  );

  it('is secret and required', () =>
    expect(describeConfig(schema)).toMatchObject([{ secret: true, required: true, default: undefined }]));
});
