import { mkdtempDisposable, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const IN_MEMORY = '/dev/shm';
const ROOM_BYTES = 4 * 1024 ** 3;

/**
 * Where the servers of tests store what nobody needs after the test: in memory where there is room, which halves the processor time
 * of a broker that flushes. What a server has stored stays there when it is killed, as on a disk.
 */
export const serversFolder = async (): Promise<string> => {
  const free = await statfs(IN_MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return free >= ROOM_BYTES ? IN_MEMORY : tmpdir();
};

/** An empty folder there. Dispose removes it. */
export const folderInMemory = async (name: string): ReturnType<typeof mkdtempDisposable> =>
  mkdtempDisposable(join(await serversFolder(), `runledger-test-${name}-`));
