import { randomBytes } from 'node:crypto';
import { secretKeysConfig } from '@runledger/webhooks/signing/secret-box';
import { Type } from 'typebox';
import { StartRefused } from '../settings/start-refused.ts';
import { readJsonFile } from '../data-folder/connection-files.ts';
import type { DataFolder } from '../data-folder/data-folder.ts';
import { writePrivateFile } from '../data-folder/write-file.ts';

const FILE = 'secret-keys.json';
const SecretKeys = Type.Object({ keys: secretKeysConfig.RUNLEDGER_SECRET_KEYS });

/**
 * What the signing secrets in the log are encrypted with: the keys that are given, else one that is made at the first
 * start. It is kept, and goes on opening what it sealed when others are given later.
 */
export const openSecretKeys = async (
  folder: DataFolder,
  given: readonly string[] = [],
): Promise<readonly string[]> => {
  const file = await readJsonFile(folder.at(FILE), SecretKeys);
  switch (file.kind) {
    case 'found':
      return [...given, ...file.content.keys];
    case 'unusable':
      throw new StartRefused(
        `${file.path} cannot be used: ${file.why}. Restore it from a copy: without it nobody can read the signing secrets of webhooks.`,
      );
    case 'missing': {
      if (given.length > 0) return given;
      const keys = [randomBytes(32).toString('base64')];
      await writePrivateFile(folder.at(FILE), `${JSON.stringify({ keys })}\n`);
      return keys;
    }
  }
};
