import {
  DeadLetterPage,
  DeadLetterPath,
  DeadLettersQuery,
  RedrivenDeadLetter,
  MAX_SHOWN_CONTENT_BYTES,
  type DeadLetter,
} from '@runledger/contracts/http/dead-letters';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import {
  listDeadLetters,
  readDeadLetter,
  removeDeadLetter,
  type DeadLetterRange,
  type ListedDeadLetter,
} from '@runledger/event-log/streams/dead-letters';
import { redriving } from '@runledger/request-reply/redrive';
import { redriverOf } from '@runledger/contracts/requests/operator-requests';
import { runOfSubject } from '@runledger/contracts/events/subjects';
import { operation, route, type Route } from '../../door/operation.ts';
import { cursorAt, checkCursor, decodeCursor, DEFAULT_LIMIT } from '../../door/pagination.ts';
import { found } from '../../door/refusal.ts';

const shared = { tag: 'System', scope: 'operator' } as const;

const listOperation = operation({
  ...shared,
  id: 'listDeadLetters',
  method: 'GET',
  path: '/dead-letters',
  summary: 'List dead letters',
  description:
    'Messages of all organisations that no consumer could handle, oldest first, with the reason and their content. They stay for 30 days, unless the installation says otherwise.',
  request: { query: DeadLettersQuery },
  response: { status: 200, description: 'A page of them.', body: DeadLetterPage },
});

const redriveOperation = operation({
  ...shared,
  id: 'redriveDeadLetter',
  method: 'POST',
  path: '/dead-letters/{id}/redrive',
  summary: 'Have a dead letter handled again',
  description:
    'The service whose consumer could not handle the message takes it again, with its present release, and the dead letter is removed if that succeeds. Repeating the request is safe: nothing is handled twice.',
  audit: { action: 'dead_letter.redriven', target: 'id', installation: true, keeps: ['outcome'] },
  request: { path: DeadLetterPath },
  response: { status: 200, description: 'What came of it.', body: RedrivenDeadLetter },
  refusals: [404],
});

const removeOperation = operation({
  ...shared,
  id: 'removeDeadLetter',
  method: 'DELETE',
  path: '/dead-letters/{id}',
  summary: 'Remove a dead letter',
  description: 'The message itself stays in its stream until it expires there.',
  audit: { action: 'dead_letter.removed', target: 'id', installation: true },
  request: { path: DeadLetterPath },
  response: { status: 204, description: 'It is removed.' },
  refusals: [404],
});

const REDRIVE_WITHIN_MS = 10_000;
/** Each may have the largest size that the broker accepts, and only its beginning is shown. */
const READ_AT_ONCE = 10;

/** What operators do about messages that no consumer could handle. */
export const deadLetterRoutes = (log: EventLog): Route[] => {
  const present = async (id: string): Promise<ListedDeadLetter> =>
    found(await readDeadLetter(log, Number(id)), 'Dead letter');
  return [
    route(
      listOperation,
      async ({ query: { limit = DEFAULT_LIMIT, cursor, ...filter } }) => {
        const after = cursor === undefined ? 0 : Number(decodeCursor(cursor));
        const read = await shownRange(log, { ...filter, after, limit: limit + 1 });
        const dead_letters = read.slice(0, limit);
        const last = read.length > limit ? dead_letters.at(-1) : undefined;
        return { dead_letters, next_cursor: cursorAt(last?.id) };
      },
      checkCursor(isPosition),
    ),
    route(redriveOperation, async ({ path: { id } }) => {
      const { outcome, why } = await redriving(log, REDRIVE_WITHIN_MS)(await present(id));
      return { id, outcome, why };
    }),
    route(removeOperation, async ({ path: { id } }) => {
      const { position } = await present(id);
      await removeDeadLetter(log, position);
    }),
  ];
};

const isPosition = (text: string): boolean => /^[1-9]\d{0,14}$/.test(text);

const shownRange = async (
  log: EventLog,
  { after, limit, ...filter }: DeadLetterRange & { readonly after: number; readonly limit: number },
): Promise<DeadLetter[]> => {
  const shown: DeadLetter[] = [];
  let behind = after;
  while (shown.length < limit) {
    const most = Math.min(limit - shown.length, READ_AT_ONCE);
    const read = await listDeadLetters(log, { ...filter, after: behind, limit: most });
    const last = read.at(-1);
    if (last === undefined) break;
    shown.push(...read.map(shownDeadLetter));
    behind = last.position;
  }
  return shown;
};

/** A dead letter as operators see it. Its message may hold anything. */
const shownDeadLetter = (letter: ListedDeadLetter): DeadLetter => {
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
