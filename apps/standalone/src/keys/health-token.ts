import { randomBytes } from 'node:crypto';
import { HEALTH_TOKEN_PATTERN } from '@runledger/service-kit/health/health-token';
import type { DataFolder } from '../data-folder/data-folder.ts';
import { writePrivateFile } from '../data-folder/write-file.ts';
import { StartRefused } from '../settings/start-refused.ts';
import { readSecretFile } from './secret-file.ts';

/** The file in the data folder. Only its owner may read it. */
export const HEALTH_TOKEN_FILE = 'health-token';

/**
 * What shows the metrics of the services to whoever names it: the given token, else that of an earlier start, else a new one. It is in its
 * file from then on. @throws StartRefused
 */
export const openHealthToken = async (folder: DataFolder, given?: string): Promise<string> => {
  const file = folder.at(HEALTH_TOKEN_FILE);
  const kept = given === undefined ? await readSecretFile(file) : undefined;
  if (kept !== undefined && !new RegExp(HEALTH_TOKEN_PATTERN).test(kept))
    throw new StartRefused(
      `${file} holds no token. Remove it, and this start makes a new one; then give that to whatever reads the metrics.`,
    );
  if (kept !== undefined) return kept;
  const token = given ?? randomBytes(32).toString('base64url');
  await writePrivateFile(file, `${token}\n`);
  return token;
};
