import { statfs } from 'node:fs/promises';
import { sleep } from '@runledger/resilience/abort';

const LOOK_EVERY_MS = 2_000;
const ANSWER_WITHIN_MS = 5_000;
const MiB = 1024 ** 2;
/** With less it would be full again at once. */
const ROOM_BYTES = 16 * MiB;

interface WatchedBroker {
  /** Where nats-server tells how it is. */
  readonly monitorPort: number;
  readonly storeDir: string;
  /** Ends it; whoever keeps it running starts it again. */
  readonly stop: () => Promise<void>;
  readonly say: (line: string) => void;
}

/**
 * Stops nats-server when it cannot write any more although there is room. A stream of which one write failed, mostly
 * because the disk was full, takes nothing until nats-server is started again: publishers get no answer, for ever
 * (measured with 2.15.1). What it has acknowledged outlasts that, and every start, on a full disk too.
 */
export const stopWhenStuck = async (broker: WatchedBroker, over: AbortSignal): Promise<void> => {
  let told = false;
  while (!over.aborted) {
    await sleep(LOOK_EVERY_MS, over);
    const failure = await failedWrite(broker.monitorPort);
    if (failure === undefined || over.aborted) continue;
    const room = await roomIn(broker.storeDir);
    if (room >= ROOM_BYTES) {
      broker.say(`nats-server stores nothing since a write failed (${failure}). It is started anew.`);
      return broker.stop();
    }
    if (!told) broker.say(fullDisk(broker.storeDir, room));
    told = true;
  }
};

/** In bytes. */
const roomIn = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

const fullDisk = (folder: string, room: number): string =>
  `The disk of ${folder} is full: ${Math.floor(room / MiB)} MiB are left. No run is taken, and those that were go on ` +
  `later: free ${ROOM_BYTES / MiB} MiB or more, and nats-server is started anew by itself.`;

/** What nats-server says of a stream that it can write no more; undefined while it is well, starts or does not answer. */
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
