import { createServer } from 'node:net';
import { once } from 'node:events';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { spawnStandalone } from '../fixtures/start-standalone.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

describe('a refused start', () => {
  it('explains that the port is in use, and how to choose another', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
    const folder = temporaryFolder();
    const stale = join(folder, 'connection.json');
    writeFileSync(stale, '{}');
    const refused = spawnStandalone(folder, { RUNLEDGER_PORT: String(address.port) });
    expect(await refused.ended).toBe(1);
    server.close();
    // A killed standalone left it. Nothing listens at its address.
    expect(existsSync(stale)).toBe(false);
    expect(refused.output()).toBe(
      `Port ${address.port} of 127.0.0.1 is taken by another program. ` +
        'Choose another one with RUNLEDGER_PORT, such as RUNLEDGER_PORT=8081 npm start (0 takes any free one).\n',
    );
  });

  it('gives several executors no GPUs that each of them would use', async () => {
    const tools = temporaryFolder();
    const script = '#!/bin/sh\necho "0, GPU-1, NVIDIA A10G, 23028 MiB"\n';
    writeFileSync(join(tools, 'nvidia-smi'), script);
    chmodSync(join(tools, 'nvidia-smi'), 0o700);
    const refused = spawnStandalone(temporaryFolder(), {
      RUNLEDGER_EXECUTORS: '2',
      PATH: `${tools}:${process.env['PATH']}`,
    });
    expect(await refused.ended).toBe(1);
    expect(refused.output()).toContain('Set EXECUTOR_GPUS to the slots that each shall have');
  });

  it('names all invalid settings at once, without secrets', async () => {
    const refused = spawnStandalone(temporaryFolder(), {
      RUNLEDGER_PORT: 'many',
      RUNLEDGER_API_KEY: 'has a space in it',
    });
    expect(await refused.ended).toBe(1);
    expect(refused.output()).toContain('RUNLEDGER_PORT');
    expect(refused.output()).toContain('RUNLEDGER_API_KEY');
    expect(refused.output()).not.toContain('has a space');
  });
});
