import { createServer } from 'node:net';
import { once } from 'node:events';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@runledger/testing/wait-for';
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

  it('names all invalid settings at once and each once, without secrets, before anything starts', async () => {
    const refused = spawnStandalone(temporaryFolder(), {
      RUNLEDGER_PORT: 'many',
      RUNLEDGER_API_KEY: 'has a space in it',
      RUNLEDGER_LOG_LEVEL: 'loud',
      EXECUTOR_GPUS: 'RTX 4090',
    });
    expect(await refused.ended).toBe(1);
    const lines = refused.output().trimEnd().split('\n');
    expect(lines[0]).toBe('Runledger cannot start: the configuration has 4 problems:');
    expect(lines.slice(1).map((line) => line.trim().split(' ')[0])).toEqual([
      'RUNLEDGER_PORT',
      'RUNLEDGER_API_KEY',
      'RUNLEDGER_LOG_LEVEL',
      'EXECUTOR_GPUS',
    ]);
    expect(refused.output()).not.toContain('has a space');
  });

  it('is not ready while MongoDB cannot be reached: it says what it waits for, and stops as usual', async () => {
    const waiting = spawnStandalone(temporaryFolder(), {
      MONGODB_URL: 'mongodb://me:secret@127.0.0.1:1/runledger',
    });
    await waitFor('it to say what it waits for', () => waiting.output().includes('Waiting for MongoDB'), {
      withinMs: 60_000,
    });
    expect(waiting.output()).toContain(
      'Waiting for MongoDB at mongodb://127.0.0.1:1/runledger (MONGODB_URL): connect ECONNREFUSED 127.0.0.1:1. Start it, and this start continues.',
    );
    waiting.signal('SIGINT');
    expect(await waiting.ended).toBe(0);
    expect(waiting.output()).not.toContain('is ready');
    expect(waiting.output()).not.toContain('secret');
  });
});
