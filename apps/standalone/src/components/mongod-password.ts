import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeUser } from '@runledger/gateway/views/mongo/reach-server';
import { startMongod } from '@runledger/local-servers/mongodb/mongodb';
import { writePrivateFile } from '../data-folder/write-file.ts';
import { readSecretFile } from '../keys/secret-file.ts';

/** The only user of the mongod of a standalone. */
export const MONGOD_USER = 'runledger';
/** Beside the data that it opens: who removes those makes both anew. */
const FILE = 'password';

/**
 * The password of the user. Before the first start with these data, mongod makes the user, and asks for no password meanwhile: nothing is
 * stored, and no program runs yet.
 */
export const openMongodPassword = async (binary: string, dataDir: string): Promise<string> => {
  const file = join(dataDir, FILE);
  const kept = await readSecretFile(file);
  if (kept !== undefined) return kept;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const password = randomBytes(32).toString('base64url');
  const open = await startMongod({ binary, dataDir });
  try {
    await makeUser(open.url, MONGOD_USER, password);
  } finally {
    await open.stop();
  }
  await writePrivateFile(file, `${password}\n`);
  return password;
};
