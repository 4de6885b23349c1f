import { randomBytes } from 'node:crypto';
import { findNatsServer, startNatsServer, type SyncInterval } from '@runledger/local-servers/nats-server';
import { describeExit } from '@runledger/local-servers/server-process';
import { OPERATOR_FILE, readOperatorFile } from '../data-folder/connection-files.ts';
import type { Operator } from '../data-folder/connection-files.ts';
import type { DataFolder } from '../data-folder/data-folder.ts';
import { noteProcess } from '../data-folder/leftovers.ts';
import { writePrivateFile } from '../data-folder/write-file.ts';
import { keepRunning } from '../supervision/keep-running.ts';
import type { RunningPart } from '../supervision/keep-running.ts';

/**
 * More than the limits of all streams together. They are upper bounds; by default nats-server would refuse them on a
 * disk with little room, where a newcomer's few runs have plenty.
 */
const FILE_STORE_BYTES = 32 * 1024 ** 3;

/**
 * Starts nats-server on the data folder, and keeps it running on the same port and store. Its address and credentials are in operator.json from then on.
 */
export const startBroker = async (
  open: AsyncDisposableStack,
  folder: DataFolder,
  env: NodeJS.ProcessEnv,
  syncInterval: SyncInterval,
  say: (line: string) => void,
): Promise<Operator> => {
  const found = await findNatsServer({ env, onProgress: say });
  say(`Starting nats-server ${found.version} (${found.source}).`);
  const { nats_user, nats_password } = await credentials(folder);
  let port = 0;
  const start = async (): Promise<RunningPart> => {
    const server = await startNatsServer({
      binary: found.path,
      storeDir: folder.at('nats'),
      port,
      syncInterval,
      fileStoreLimit: FILE_STORE_BYTES,
      logFile: folder.at('logs/nats-server.log'),
      authorization: `authorization { user: ${JSON.stringify(nats_user)}, password: ${JSON.stringify(nats_password)} }`,
    });
    port = server.port;
    await noteProcess(folder, 'nats-server', server.pid);
    return {
      ended: server.exited.then((exit) => `ended (${describeExit(exit)})`),
      stop: async () => void (await server.stop()),
    };
  };
  open.use(await keepRunning({ name: 'nats-server', start, say }));
  const operator = { nats_url: `nats://127.0.0.1:${port}`, nats_user, nats_password };
  await writePrivateFile(folder.at(OPERATOR_FILE), `${JSON.stringify(operator)}\n`);
  return operator;
};

const credentials = async (folder: DataFolder): Promise<Pick<Operator, 'nats_user' | 'nats_password'>> => {
  const kept = await readOperatorFile(folder.path);
  if (kept.kind === 'found') return kept.content;
  return { nats_user: 'runledger', nats_password: randomBytes(24).toString('base64url') };
};
