import { logSlot, type LogChunk, type LoggedAttempt } from '@runledger/contracts/run-logs';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { publishLogChunk, readLog } from '@runledger/event-log/streams/logs';
import { EXECUTOR } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';

const AT = Date.parse('2026-01-01T00:00:00.000Z');

export const attemptOf = (run: RunKey, attempt = 1, executor_id = EXECUTOR): LoggedAttempt => ({
  ...run,
  attempt,
  executor_id,
});

/** Lines `<prefix> <number>`, from this number on. */
export const aChunk = (first: number, count: number, prefix = 'line'): LogChunk => ({
  first,
  before: first * 10,
  bytes: count * 10,
  lines: Array.from({ length: count }, (_, at) => [AT + at, 'stdout', `${prefix} ${first + at}`, false]),
});

/** As the executor of the attempt does. Waits until the broker has them. */
export const store = async (
  log: EventLog,
  of: LoggedAttempt,
  ...chunks: readonly LogChunk[]
): Promise<void> => {
  for (const [slot, chunk] of chunks.entries()) publishLogChunk(log, of, logSlot(slot), chunk);
  await waitFor('the chunks', async () => {
    const stored = await readLog(log, of);
    return chunks.every(({ first }) => stored.chunks.some((chunk) => chunk.first === first));
  });
};

/** The objects of a response. */
export const itemsIn = (body: string): Record<string, unknown>[] =>
  body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

export const linesIn = (body: string): unknown[] => itemsIn(body).map(({ line, cut }) => line ?? cut);
