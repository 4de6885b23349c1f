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
 * The keys that encrypt the signing secrets in the log: the given ones, else a key that the first start makes. That key
 * is kept, and still decrypts old secrets if other keys are given later.
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
        `${file.path} cannot be used: ${file.why}. Restore it from a copy. Without it, the signing secrets of webhooks cannot be decrypted.`,
      );
    case 'missing': {
      if (given.length > 0) return given;
      const keys = [randomBytes(32).toString('base64')];
      await writePrivateFile(folder.at(FILE), `${JSON.stringify({ keys })}\n`);
      return keys;
    }
  }
};
