import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readToEnd } from '@runledger/event-log/follow/read-to-end';
import { ALL_STREAMS } from '@runledger/event-log/provision/provision';

const WITHIN_MS = 5_000;

/** Where one of the words is in a stream, a bucket or an object store: `<stream> <subject>`, in the subject, the headers or the bytes. */
export const tracesOf = async (log: EventLog, words: readonly string[]): Promise<string[]> => {
  const found: string[] = [];
  for (const stream of ALL_STREAMS) {
    for await (const message of readToEnd(log, { stream, subjects: ['>'], withinMs: WITHIN_MS })) {
      const { subject, data } = message;
      const headers = [...(message.headers ?? [])].flat(2).join(' ');
      const text = `${subject} ${headers} ${Buffer.from(data).toString('latin1')}`;
      if (words.some((word) => text.includes(word))) found.push(`${stream} ${subject}`);
    }
  }
  return found;
};
