import { access, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { LOG_ACCOUNT } from '@runledger/event-log/connect/api-subjects';

/**
 * Makes what an nats-server without accounts stored the property of the log's account; true when there was something to
 * take over. The server must not run meanwhile.
 */
export const adoptStore = async (storeDir: string): Promise<boolean> => {
  const former = join(storeDir, 'jetstream', '$G');
  const own = join(storeDir, 'jetstream', LOG_ACCOUNT);
  if (!(await isThere(former)) || (await isThere(own))) return false;
  await rename(former, own);
  return true;
};

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
