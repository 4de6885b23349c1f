import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../src/free-port.ts';
import { findMongod, startMongod } from '../../src/mongodb.ts';

const mongod = await findMongod({ env: process.env });
const temporaryFolder = () => mkdtempDisposable(join(tmpdir(), 'runledger-mongod-'));

describe('mongod', () => {
  it.skipIf(mongod === undefined)(
    'starts, and starts again on the same folder and port after kill -9',
    async () => {
      await using folder = await temporaryFolder();
      const options = { binary: mongod?.path ?? '', dataDir: join(folder.path, 'data') };
      const first = await startMongod(options);
      first.kill('SIGKILL');
      await first.exited;
      await using second = await startMongod({ ...options, port: first.port });
      expect(second.url).toBe(first.url);
    },
  );

  it('is not found if it is not on PATH, or prints no version', async () => {
    await using folder = await temporaryFolder();
    const env = { PATH: folder.path };
    expect(await findMongod({ env })).toBeUndefined();
    await writeFile(join(folder.path, 'mongod'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    expect(await findMongod({ env })).toBeUndefined();
  });

  it('refuses to start on a port in use', async () => {
    await using folder = await temporaryFolder();
    const port = await freePort();
    const other = createServer().listen(port, '127.0.0.1');
    await once(other, 'listening');
    const start = startMongod({ binary: '/bin/false', dataDir: folder.path, port });
    await expect(start).rejects.toThrow(`127.0.0.1:${port}: the port is in use`);
    other.close();
  });

  it('reports its last lines if it does not start', async () => {
    await using folder = await temporaryFolder();
    const binary = join(folder.path, 'mongod');
    await writeFile(binary, '#!/bin/sh\necho "the data files are of a newer version"\nexit 62\n', {
      mode: 0o755,
    });
    const start = startMongod({ binary, dataDir: join(folder.path, 'data') });
    await expect(start).rejects.toThrow(/exit status 62.*the data files are of a newer version/s);
  });
});
