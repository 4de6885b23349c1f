import { runOfSubject } from '@runledger/contracts/events/subjects';
import { sleep } from '@runledger/resilience/abort';
import type { Organisation } from '../cluster/organisation.ts';
import type { RecordedLog } from '../evidence/read-log.ts';
import { ANSWER_WITHIN_MS, contextOf, type ClientContext, type LoadOptions } from './client-context.ts';

const NEXT_AFTER_MS = 500;
/** So many messages of the beginning are of runs that the log forgets first. */
const OLDEST_PART = 0.5;

/** Reads the histories of runs of all organisations, older ones for the most part: what the log has forgotten comes from the archive. */
export const readHistories = async (
  options: LoadOptions,
  organisations: readonly Organisation[],
  { messages }: RecordedLog,
): Promise<void> => {
  const { random, signal } = options;
  const contexts = new Map<string, ClientContext>(
    organisations.map((organisation) => [organisation.org_id, contextOf({ ...options, organisation })]),
  );
  while (!signal.aborted) {
    const last = Math.floor(messages.length * (random.chance(75) ? OLDEST_PART : 1));
    const key = runOfSubject(messages[random.integer(0, Math.max(0, last - 1))]?.subject ?? '');
    const context = key && contexts.get(key.org_id);
    if (context)
      await context.send({
        kind: 'history',
        request: 0,
        run: key.run_id,
        method: 'GET',
        path: `/run/${key.run_id}/history?log_lines=0`,
        gateway: context.gateway(),
        withinMs: ANSWER_WITHIN_MS * 2,
      });
    await sleep(NEXT_AFTER_MS, signal);
  }
};
