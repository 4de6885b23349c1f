import { isEnded } from '@runledger/contracts/fold/run';
import { isSettled } from '@runledger/contracts/fold/webhook';
import type { Check, Violation } from '../evidence/evidence.ts';
import { lastOf, type LoggedRun } from '../evidence/logged-run.ts';
import type { Received } from '../clients/client-records.ts';

const guarantee =
  'The final notification is delivered at least once, in order, or ends as failed where a person sees it; nothing comes after it.';

export const notifications: Check = ({ runs, records }) => {
  const violations: Violation[] = [];
  const received = Map.groupBy(records.received, ({ payload }) => payload.run_id);
  for (const [run, arrived] of received)
    if (!runs.has(run))
      violations.push({
        guarantee,
        run,
        says: `${arrived.length} notifications came of a run that the log does not have.`,
      });
  for (const [run, logged] of runs) {
    const arrived = received.get(run) ?? [];
    const problems = [unsettled(logged, arrived), ...untrue(logged, arrived), outOfOrder(arrived)];
    for (const says of problems) if (says !== undefined) violations.push({ guarantee, run, says });
  }
  return violations;
};

const unsettled = ({ webhook, ...logged }: LoggedRun, arrived: readonly Received[]): string | undefined => {
  const run = lastOf({ webhook, ...logged });
  if (!run || !isEnded(run)) return undefined;
  if (run.request.webhook === null)
    return arrived.length > 0 ? 'It has no webhook, and was notified of.' : undefined;
  if (!webhook || !isSettled(webhook))
    return `Its delivery is not settled: ${webhook?.status ?? 'nothing was said of it'}.`;
  const finals = arrived.filter(({ payload }) => payload.finished);
  if (webhook.status === 'success' && !finals.some(({ answered }) => answered === 200))
    return 'The log says that the end was delivered, and the receiver accepted no such notification.';
  if (webhook.status === 'failed' && !finals.some(({ answered }) => answered === 410))
    return `The log says that it was given up (${webhook.reason}), and the receiver never said that it is gone.`;
  return undefined;
};

/** Each tells what the run was at its place in the log. */
const untrue = ({ situations }: LoggedRun, arrived: readonly Received[]): string[] =>
  arrived.flatMap(({ payload }) => {
    const then = situations.find(({ sequence }) => sequence === payload.sequence);
    if (then?.run.status === payload.status) return [];
    return [
      `A notification says ${payload.status} at ${payload.sequence}, where the log says ${then?.run.status ?? 'nothing'}.`,
    ];
  });

const outOfOrder = (arrived: readonly Received[]): string | undefined => {
  let last: Received | undefined;
  for (const next of arrived) {
    if (last && next.payload.sequence < last.payload.sequence)
      return `After ${last.payload.status} (${last.payload.sequence}) came ${next.payload.status} (${next.payload.sequence}).`;
    last = next;
  }
  const ids = new Set(arrived.filter(({ payload }) => payload.finished).map(({ webhookId }) => webhookId));
  return ids.size > 1 ? `Its end was told as ${ids.size} messages: ${[...ids].join(', ')}.` : undefined;
};
