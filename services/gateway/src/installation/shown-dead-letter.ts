import {
  MAX_SHOWN_CONTENT_BYTES,
  type DeadLetter,
} from '@runledger/contracts/http/installation/dead-letters';
import { redriverOf } from '@runledger/contracts/requests/redrive';
import { runOfSubject } from '@runledger/contracts/subjects/run-subjects';
import type { ListedDeadLetter } from '@runledger/event-log/streams/dead-letters';

/** A dead letter as operators see it. Its message may hold anything. */
export const shownDeadLetter = (letter: ListedDeadLetter): DeadLetter => {
  const { position, reason, consumer, stream, subject, sequence, time, data } = letter;
  const content = data === null ? undefined : Buffer.from(data, 'base64');
  const run = runOfSubject(subject);
  return {
    id: String(position),
    reason,
    consumer,
    stream,
    subject,
    sequence,
    time,
    org_id: run?.org_id ?? null,
    run_id: run?.run_id ?? null,
    size_bytes: content?.byteLength ?? null,
    content: content?.subarray(0, MAX_SHOWN_CONTENT_BYTES).toString() ?? null,
    content_truncated: content !== undefined && content.byteLength > MAX_SHOWN_CONTENT_BYTES,
    redriver: redriverOf(consumer) ?? null,
  };
};
