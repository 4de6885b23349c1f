// Makes a folder in the work folder of its argument, and says when it is half made. It is killed then.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { openPreparedFolders } from '../../src/code/prepared-folders.ts';
const ORG_ID = 'organisation';

const [workFolder = ''] = process.argv.slice(2);
const folders = openPreparedFolders({ workFolder, maxBytes: 1024 ** 3, log: silentLogger });
const key = { org_id: ORG_ID, of: 'environments', key: 'half' } as const;
await folders.use(
  key,
  async (folder) => {
    await writeFile(join(folder, 'file'), 'x');
    process.stdout.write('half made\n');
    const { promise } = Promise.withResolvers<null>();
    setInterval(() => undefined, 1_000);
    return promise;
  },
  new AbortController().signal,
);
