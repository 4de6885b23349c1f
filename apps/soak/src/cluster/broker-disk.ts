import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openSmallDisk } from '@runledger/testing/servers/small-disk';
import { whyUnhealthy } from './broker-health.ts';
import type { PartDisk } from './part.ts';

export interface BrokerDiskOptions {
  /** Of the server, with its configuration. */
  readonly storeDir: string;
  /** The path of nats-server. */
  readonly binary: string;
  readonly monitorPort: number;
}

/** A disk for what a broker stores. Its configuration stays outside. */
export interface BrokerDisk extends PartDisk, AsyncDisposable {
  /** Runs nats-server with the disk. */
  readonly binary: string;
  readonly empty: () => void;
}

/** In memory. A soak stores less. */
const BYTES = 512 * 1024 ** 2;
const FULL_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 500;

/** @throws Error if this machine has no such disk */
export const openBrokerDisk = async ({
  storeDir,
  binary,
  monitorPort,
}: BrokerDiskOptions): Promise<BrokerDisk> => {
  const disk = await openSmallDisk(join(storeDir, 'jetstream'), BYTES);
  const script = `${storeDir}.sh`;
  const command = [...disk.through, binary].map((word) => `'${word}'`).join(' ');
  await writeFile(script, `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o700 });
  return {
    binary: script,
    empty: disk.empty,
    makeRoom: disk.makeRoom,
    // The broker frees space itself: it compacts what it stores.
    fill: async (ended) => {
      const over = new AbortController();
      void ended.then(() => over.abort());
      for (const deadline = performance.now() + FULL_WITHIN_MS; ; await pause(LOOK_EVERY_MS)) {
        disk.fill();
        if (over.signal.aborted || (await whyUnhealthy(monitorPort)) !== undefined) return true;
        if (performance.now() > deadline) return false;
      }
    },
    [Symbol.asyncDispose]: () => disk[Symbol.asyncDispose](),
  };
};
