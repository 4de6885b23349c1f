import type { SlicedStream } from '@runledger/contracts/slices/slice';
import type { StoredMessage } from '@runledger/contracts/fold/chain';

/** Messages of one stream in their order, some at a time. */
export interface StreamPages {
  readonly stream: SlicedStream;
  readonly pages: AsyncIterable<readonly StoredMessage[]>;
}

export interface Sliced {
  readonly stream: SlicedStream;
  readonly message: StoredMessage;
}

interface Head {
  readonly stream: SlicedStream;
  readonly pages: AsyncIterator<readonly StoredMessage[]>;
  page: readonly StoredMessage[];
  next: number;
}

const BATCH = 512;

/**
 * The messages of several streams by time, each stream in its own order; of the same millisecond, those of the first stream come first. It
 * keeps a page of each.
 */
export async function* mergedByTime(streams: readonly StreamPages[]): AsyncGenerator<readonly Sliced[]> {
  const heads = await Promise.all(streams.map(opened));
  try {
    let batch: Sliced[] = [];
    for (let head = earliest(heads); head; head = earliest(heads)) {
      const message = head.page[head.next];
      if (message) batch.push({ stream: head.stream, message });
      head.next += 1;
      if (head.next >= head.page.length) await turn(head);
      if (batch.length < BATCH) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  } finally {
    await Promise.all(heads.map(async ({ pages }) => pages.return?.()));
  }
}

const opened = async ({ stream, pages }: StreamPages): Promise<Head> => {
  const head: Head = { stream, pages: pages[Symbol.asyncIterator](), page: [], next: 0 };
  await turn(head);
  return head;
};

/** To the next page with messages; to an empty one at the end. */
const turn = async (head: Head): Promise<void> => {
  for (;;) {
    const { value, done } = await head.pages.next();
    Object.assign(head, { page: done ? [] : value, next: 0 });
    if (done || head.page.length > 0) return;
  }
};

const earliest = (heads: readonly Head[]): Head | undefined => {
  let found: { readonly head: Head; readonly time: string } | undefined;
  for (const head of heads) {
    const time = head.page[head.next]?.time;
    if (time !== undefined && (!found || time < found.time)) found = { head, time };
  }
  return found?.head;
};
