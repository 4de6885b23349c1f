import { statfs } from 'node:fs/promises';
import { sleep } from '@runledger/resilience/abort';

const POLL_EVERY_MS = 2_000;
const ANSWER_WITHIN_MS = 5_000;
const MIB = 1024 ** 2;
/** With less free space, the disk would be full again at once. */
const MIN_FREE_BYTES = 16 * MIB;

interface MonitoredBroker {
  /** The port of nats-server's monitoring. */
  readonly monitorPort: number;
  readonly storeDir: string;
  /** Ends the process. Its supervisor starts it again. */
  readonly stop: () => Promise<void>;
  readonly print: (line: string) => void;
}

/**
 * Stops nats-server when it cannot write although the disk has space again. After one failed write, mostly because the
 * disk was full, a stream accepts no message until nats-server restarts: publishers never get an answer (measured with
 * 2.15.1). Acknowledged messages survive that, and every restart, even on a full disk.
 */
export const stopWhenStuck = async (broker: MonitoredBroker, over: AbortSignal): Promise<void> => {
  let reported = false;
  while (!over.aborted) {
    await sleep(POLL_EVERY_MS, over);
    const failure = await failedWrite(broker.monitorPort);
    if (failure === undefined || over.aborted) continue;
    const freeBytes = await freeBytesIn(broker.storeDir);
    if (freeBytes >= MIN_FREE_BYTES) {
      broker.print(`nats-server has stored nothing since a write failed (${failure}). Restarting it.`);
      return broker.stop();
    }
    if (!reported) broker.print(fullDisk(broker.storeDir, freeBytes));
    reported = true;
  }
};

const freeBytesIn = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

const fullDisk = (folder: string, freeBytes: number): string =>
  `The disk of ${folder} is full: ${Math.floor(freeBytes / MIB)} MiB are left. New runs are refused, and accepted runs ` +
  `continue later. Free ${MIN_FREE_BYTES / MIB} MiB or more; nats-server restarts by itself then.`;

/** The write error that nats-server reports; undefined if it is healthy, starting or does not answer. */
const failedWrite = async (port: number): Promise<string | undefined> => {
  try {
    const url = `http://127.0.0.1:${port}/healthz`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const { error } = Object(await answer.json());
    return typeof error === 'string' && error.includes('write error') ? error : undefined;
  } catch {
    return undefined;
  }
};
