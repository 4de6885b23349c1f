import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDataFolder, type DataFolder } from '../src/data-folder/data-folder.ts';
import { openSecretKeys } from '../src/keys.ts';
import { temporaryFolder } from './fixtures/temporary-folder.ts';

const dataFolder = async (): Promise<DataFolder> => {
  const result = await openDataFolder(temporaryFolder(), () => new Date());
  if (!result.ok) throw new Error(result.why);
  onTestFinished(() => result.folder[Symbol.asyncDispose]());
  return result.folder;
};
const aKey = (): string => randomBytes(32).toString('base64');

describe('the secret keys of a standalone', () => {
  it('are made at the first start, for this user alone, and are the same at the next', async () => {
    const folder = await dataFolder();
    const keys = await openSecretKeys(folder);
    expect(keys).toEqual([expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/)]);
    expect(await openSecretKeys(folder)).toEqual(keys);
    expect(statSync(folder.at('secret-keys.json')).mode & 0o777).toBe(0o600);
    expect(await openSecretKeys(await dataFolder())).not.toEqual(keys);
  });

  it('are those that are given, before the one that is kept', async () => {
    const folder = await dataFolder();
    const given = [aKey(), aKey()];
    expect(await openSecretKeys(folder, given)).toEqual(given);
    const [kept] = await openSecretKeys(folder);
    expect(await openSecretKeys(folder, given)).toEqual([...given, kept]);
  });

  it.each(['{}', '{"keys": []}', '{"keys": ["c2hvcnQ="]}', 'half'])(
    'are not replaced when their file holds %s',
    async (text) => {
      const folder = await dataFolder();
      writeFileSync(folder.at('secret-keys.json'), text);
      await expect(openSecretKeys(folder)).rejects.toThrow(/secret-keys\.json cannot be used: .* Restore it/);
      expect(readFileSync(folder.at('secret-keys.json'), 'utf8')).toBe(text);
    },
  );
});
