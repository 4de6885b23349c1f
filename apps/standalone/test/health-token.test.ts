import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { HEALTH_TOKEN_PATTERN } from '@runledger/service-kit/health-token';
import { expect, it } from 'vitest';
import { HEALTH_TOKEN_FILE, openHealthToken } from '../src/keys.ts';
import { held } from './fixtures/opened-folder.ts';
import { temporaryFolder } from './fixtures/temporary-folder.ts';

const GIVEN = 'a-token-that-somebody-has-chosen-for-it';

it('is made at the first start, for its owner alone, and kept', async () => {
  const folder = await held(temporaryFolder());
  const first = await openHealthToken(folder);
  expect(first).toMatch(new RegExp(HEALTH_TOKEN_PATTERN));
  const file = folder.at(HEALTH_TOKEN_FILE);
  expect([readFileSync(file, 'utf8').trim(), statSync(file).mode & 0o777]).toEqual([first, 0o600]);
  expect(await openHealthToken(folder)).toBe(first);
  expect(await openHealthToken(await held(temporaryFolder()))).not.toBe(first);
});

it('is the given one if there is one, also instead of that of an earlier start', async () => {
  const folder = await held(temporaryFolder());
  await openHealthToken(folder);
  expect(await openHealthToken(folder, GIVEN)).toBe(GIVEN);
  expect(readFileSync(folder.at(HEALTH_TOKEN_FILE), 'utf8').trim()).toBe(GIVEN);
});

it('refuses a start with a file that holds no token, and does not quote it', async () => {
  const folder = await held(temporaryFolder());
  const file = folder.at(HEALTH_TOKEN_FILE);
  writeFileSync(file, 'too short\n');
  const refused = openHealthToken(folder);
  await expect(refused).rejects.toThrow(`${file} holds no token. Remove it`);
  await expect(refused).rejects.not.toThrow('too short');
});
