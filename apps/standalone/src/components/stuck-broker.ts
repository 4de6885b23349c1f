import { statfs } from 'node:fs/promises';
import { brokerFailure } from '@runledger/event-log/provision/brokers';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { sleep } from '@runledger/resilience/abort';

const POLL_EVERY_MS = 2_000;
const MIB = 1024 ** 2;
/** With less free space, the disk would be full again at once. */
const MIN_FREE_BYTES = 16 * MIB;

interface WatchedBroker {
  readonly url: string;
  /** Of the user who may ask it for its health. */
  readonly systemSeed: string;
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
export const stopWhenStuck = async (broker: WatchedBroker, over: AbortSignal): Promise<void> => {
  try {
    await watch(broker, over);
  } catch (error) {
    if (!over.aborted) broker.print(`Nobody looks whether nats-server can write any more: ${String(error)}`);
  }
};

const watch = async (broker: WatchedBroker, over: AbortSignal): Promise<void> => {
  const { url, systemSeed: seed, storeDir, print } = broker;
  await using log = await openEventLog({ url, seed, name: 'standalone-health' }, silentLogger, over);
  let reported = false;
  while (!over.aborted) {
    await sleep(POLL_EVERY_MS, over);
    const failure = await failedWrite(log);
    if (failure === undefined || over.aborted) continue;
    const freeBytes = await freeBytesIn(storeDir);
    if (freeBytes >= MIN_FREE_BYTES) {
      print(`nats-server has stored nothing since a write failed (${failure}). Restarting it.`);
      return broker.stop();
    }
    if (!reported) print(fullDisk(storeDir, freeBytes));
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
const failedWrite = async (log: EventLog): Promise<string | undefined> => {
  try {
    const failure = await brokerFailure(log);
    return failure?.includes('write error') ? failure : undefined;
  } catch {
    return undefined;
  }
};
